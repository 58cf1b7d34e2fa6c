"""Boxes of one node that feed each other are computed as one, and cost what they cost together."""

from __future__ import annotations

import pytest

from penstock.errors import SpecificationError
from penstock.nodes import Box, Input, Network, Node, Output, optimal_plan, parse_nodes
from penstock.nodes.inner import is_inner, joined, within


def network(*boxes: Box, rates: tuple[float, ...] = (100.0,)) -> Network:
    inputs = tuple(Input(f"in{n}", rate) for n, rate in enumerate(rates))
    read = {name for box in boxes for name in box.inputs}
    outputs = tuple(Output(f"out {b.name}", b.name) for b in boxes if b.name not in read)
    return Network((Node("A"), Node("B")), inputs, boxes, outputs)


CHAIN = network(
    Box("clean", "A", ("in0",), cost=1e-3, selectivity=0.5),
    Box("web", "A", ("clean",), cost=4e-3, selectivity=0.25),
    Box("count", "B", ("web",), cost=8e-3),
)


def test_a_chain_is_one_box():
    assert within(CHAIN, "web") == ("clean",)
    assert within(CHAIN, "count") == ()
    assert [is_inner(CHAIN, name) for name in ("clean", "web", "count")] == [True, False, False]
    web, count = joined(CHAIN).boxes
    assert (web.name, web.inputs, count.inputs) == ("web", ("in0",), ("web",))
    assert web.cost == pytest.approx(1e-3 + 0.5 * 4e-3)
    assert web.selectivity == pytest.approx(0.5 * 0.25)


def test_what_is_joined_has_the_plan_of_what_was_written():
    for rate in (100.0, 500.0, 5000.0):
        before, after = CHAIN.at({"in0": rate}), joined(CHAIN).at({"in0": rate})
        assert optimal_plan(after).score == pytest.approx(optimal_plan(before).score)


def test_a_box_that_others_need_too_stays_and_is_computed_with_each():
    split = network(
        Box("clean", "A", ("in0",), cost=1e-3, selectivity=0.5),
        Box("web", "A", ("clean",), cost=4e-3),
        Box("far", "B", ("clean",), cost=1e-3),
    )
    clean, web, far = joined(split).boxes
    assert (clean.inputs, web.inputs, far.inputs) == (("in0",), ("in0",), ("clean",))
    assert (clean.cost, web.cost) == pytest.approx((1e-3, 3e-3))


def test_a_union_costs_what_its_rows_cost_in_the_mean():
    both = network(
        Box("clean", "A", ("in0",), cost=1e-3, selectivity=0.5),
        Box("all", "A", ("clean", "in1"), cost=4e-3),
        rates=(300.0, 100.0),
    )
    (one,) = joined(both).boxes
    assert one.inputs == ("in0", "in1")
    assert one.cost == pytest.approx((300 * (1e-3 + 0.5 * 4e-3) + 100 * 4e-3) / 400)
    assert one.selectivity == pytest.approx((300 * 0.5 + 100) / 400)


def test_rows_that_come_in_two_ways_are_refused():
    twice = network(
        Box("tcp", "A", ("in0",), cost=1e-3),
        Box("udp", "A", ("in0",), cost=1e-3),
        Box("all", "A", ("tcp", "udp"), cost=1e-3),
    )
    with pytest.raises(SpecificationError, match="'all' must get the rows of 'in0' in one way"):
        joined(twice)


def test_a_file_that_runs_is_planned_as_it_runs_and_a_model_as_it_is_written():
    text = """
[node.A]
[input.left]
rate = 100
[box.a]
node = "A"
from = "left"
cost = 1e-3
[box.b]
node = "A"
from = "a"
cost = 1e-3
[output.out]
from = "b"
"""
    assert [box.name for box in parse_nodes(text).boxes] == ["a", "b"]
    control = '[control]\nservers = "s"\ntopic = "t"\n'
    (box,) = parse_nodes(text + control).boxes
    assert (box.name, box.inputs) == ("b", ("left",))
    assert box.cost == pytest.approx(2e-3)
