"""The program's optimum against every corner of the feasible region, and against a walk."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from penstock.errors import SpecificationError, UsageError
from penstock.nodes import Box, Input, Link, Network, Node, Output, Planner, optimal_plan
from tests.nodes.naive import corner_optimum, walk
from tests.nodes.networks import FIG1, FIG7, chains, random_network

SMALL = 5
"""Variables of a program whose corners can all be tried."""


@pytest.mark.parametrize("block", range(4))
def test_the_optimum_is_that_of_brute_force_on_thousands_of_networks(block):
    tried = shed = 0
    for seed in range(block * 600, block * 600 + 600):
        network = random_network(np.random.default_rng(seed), tree=seed % 2 == 0)
        planner = Planner(network)
        plan = planner.plan()
        walked = walk(network, plan.keeps)
        assert not walked.overloaded(network)
        assert walked.score == pytest.approx(plan.score, rel=1e-6, abs=1e-9)
        if len(planner.program.locations) <= SMALL:
            best = corner_optimum(planner.program, planner.program.rates(network.rates))
            assert plan.score == pytest.approx(best, rel=1e-6, abs=1e-9)
            tried, shed = tried + 1, shed + plan.sheds
    assert tried > 500
    assert shed > 250


def test_the_program_says_what_a_walk_through_the_network_says():
    for seed in range(300):
        rng = np.random.default_rng(seed)
        network = random_network(rng)
        planner = Planner(network)
        program = planner.program
        shares = rng.uniform(0, 1, len(program.locations))
        flows = program.flows(shares, program.rates(network.rates))
        walked = walk(network, dict(zip(program.locations, shares.tolist(), strict=True)))
        assert planner.loads(flows) == pytest.approx(walked.loads)
        targets = {
            name: sum(g * flows[v] for v, g in s.items()) for name, s in program.targets.items()
        }
        score = sum(program.weights[name] * rate for name, rate in targets.items())
        assert score == pytest.approx(walked.score)


def test_no_share_that_a_grid_finds_is_better():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        network = random_network(rng, inputs=2, boxes=4)
        planner = Planner(network)
        best = planner.plan().score
        locations = planner.program.locations
        for _ in range(200):
            shares = rng.choice([0, 0.25, 0.5, 0.75, 1.0], len(locations)).tolist()
            walked = walk(network, dict(zip(locations, shares, strict=True)))
            assert walked.overloaded(network) or walked.score <= best * (1 + 1e-9)


def test_where_nothing_is_overloaded_nothing_is_dropped():
    plan = optimal_plan(FIG1, {"i0": 0.1, "i1": 0.1})
    assert plan.keeps == {}
    assert not plan.sheds
    assert plan.score == pytest.approx(0.2)


def test_a_split_is_shed_where_it_saves_most():
    # Fig. 7: 60 % of the lower branch go, and 0.28 rows per second remain.
    plan = optimal_plan(FIG7)
    assert {str(at): keep for at, keep in plan.keeps.items()} == pytest.approx({"a ─► c": 0.4})
    assert plan.score == pytest.approx(0.28)


def test_a_join_costs_what_its_windows_bring():
    # r1x1(c1 + s1c3 + s1w2s3c4) + r2x2(c2 + s2c3 + s2w1s3c4), all of it kept
    c1, c2, c3, c4, s1, s2, s3, w1, w2 = 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 3.0, 5.0
    network = Network(
        (Node("A", 100.0),),
        (Input("l", 2.0), Input("r", 3.0)),
        (
            Box("one", "A", ("l",), c1, s1),
            Box("two", "A", ("r",), c2, s2),
            Box("join", "A", ("one", "two"), c3, s3, (w1, w2)),
            Box("four", "A", ("join",), c4, 0.9),
        ),
        (Output("o", "four", 2.0),),
    )
    plan = optimal_plan(network)
    load = 2 * (c1 + s1 * c3 + s1 * w2 * s3 * c4) + 3 * (c2 + s2 * c3 + s2 * w1 * s3 * c4)
    assert plan.before["A"] == pytest.approx(load)
    assert plan.score == pytest.approx((2 * s1 * w2 * s3 * 0.9 + 3 * s2 * w1 * s3 * 0.9) * 2)


def test_a_narrow_link_sheds_before_it_even_if_no_node_is_busy():
    wide = chains((0.1, 0.1), (0.1, 0.1), rate=4.0)
    network = Network(wide.nodes, wide.inputs, wide.boxes, wide.outputs, (Link("A", "B", 2.0),))
    assert not optimal_plan(wide).sheds
    plan = optimal_plan(network)
    assert plan.score == pytest.approx(2.0)
    assert plan.after["A ─► B"] == pytest.approx(2.0)
    assert plan.before["A ─► B"] == pytest.approx(8.0)


def test_a_plan_may_be_asked_for_at_other_rates_one_after_the_other():
    planner = Planner(FIG1)
    for rate in (1.0, 3.0, 0.01, 0.5):
        rates = {"i0": rate, "i1": 2 * rate}
        assert planner.plan(rates).score == pytest.approx(optimal_plan(FIG1, rates).score)


def test_what_more_of_an_input_or_a_node_would_add_is_said():
    # Only B is full, and the second query brings three times as much for its work.
    plan = optimal_plan(FIG1, {"i0": 1.0, "i1": 0.1})
    assert plan.worth == pytest.approx({"i0": 0.0, "i1": 1 - 1 / 3})
    assert plan.prices == pytest.approx({"A": 0.0, "B": 1 / 3})


def test_rates_that_cannot_be_are_refused():
    with pytest.raises(UsageError, match="did you mean 'i0'"):
        optimal_plan(FIG1, {"i00": 1.0})
    with pytest.raises(SpecificationError, match="rate of input 'i0'"):
        optimal_plan(FIG1, {"i0": -1.0})


def test_without_highs_one_line_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(UsageError, match=r"pip install penstock\[nodes\]"):
        optimal_plan(FIG1)
