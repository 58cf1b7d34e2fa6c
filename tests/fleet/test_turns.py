"""How much the streams of one node may bring that take turns on its cores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from penstock.control.costs import Costs
from penstock.fleet.pipeline import parse_pipeline
from penstock.fleet.turns import MOST, Turn, Turns
from penstock.nodes.optimum import optimal_plan
from tests.fleet.pipelines import fig1
from tests.fleet.virtual import VirtualNode, run

TARGET = 12.0
PERIOD = TARGET / 1.95
UNIT = 4e-3
A = {"a1": UNIT, "a2": 2 * UNIT}
B = {"b1": 3 * UNIT, "b2": UNIT}
LINKS = {"a1": "b1", "a2": "b2"}
SPAN = 75.0, 300.0


def turn(stream: int, at: float, rows: float, kept: float = 1.0, took: float = PERIOD) -> Turn:
    box = ("b1", "b2")[stream]
    where = stream, at - took, at
    return Turn(*where, {box: rows}, {box: 1.0}, {box: kept}, 0.0, took, 1.95 * took)


def costs(fixed: float = 0.0, of: Mapping[str, float] = B) -> Costs:
    return Costs(fixed, of, 0.0, {}, 0.0, 9)


@pytest.mark.parametrize(("rate", "share"), [(250 / 3, 0.75), (50, 1.0), (0, 1.0)])
def test_all_boxes_keep_the_share_that_their_node_can_bear(rate, share):
    # Table 1, plan 0: A hands on a third of each input, and B can take three quarters of that.
    turns, shares = Turns(2, TARGET), [1.0, 1.0]
    for batch in range(1, 12):
        for stream in (0, 1):
            told = turn(stream, batch * PERIOD, rate * PERIOD, shares[stream])
            shares[stream] = turns.take(told, costs())
    assert shares == pytest.approx([share, share])


def best(fixed: float, capacity: float = 0.95) -> tuple[dict[str, float], float]:
    """The plan for Fig. 1 at its rates, and its score."""
    network = parse_pipeline(fig1(unit=UNIT)).network
    left = {"A": 1 - 1.5 * fixed / PERIOD, "B": 1 - 2 * fixed / PERIOD}
    nodes = [replace(node, capacity=capacity * left[node.name]) for node in network.nodes]
    inputs = [replace(one, rate=1 / UNIT) for one in network.inputs]
    plan = optimal_plan(replace(network, nodes=tuple(nodes), inputs=tuple(inputs)))
    return {place.before[0]: share for place, share in plan.keeps.items()}, plan.score


def fig1_runs(
    fixed: float,
    planned: Mapping[str, float] | None = None,
    starts: float = 0.0,
) -> tuple[VirtualNode, VirtualNode]:
    """Both nodes after five minutes."""
    a = VirtualNode([("a1", "a2")], A, 1.5 * fixed, TARGET, planned=planned)
    b = VirtualNode([("b1",), ("b2",)], B, fixed, TARGET, starts=starts)
    run([a, b], dict.fromkeys(A, 1 / UNIT), LINKS, SPAN[1])
    return a, b


@pytest.mark.parametrize("fixed", [0.6, 1.0, 1.5])
def test_with_a_plan_both_nodes_are_busy_and_in_time(fixed):
    planned, score = best(fixed)
    a, b = fig1_runs(fixed, planned)
    _, alone = fig1_runs(fixed)
    delivered, without = (sum(node.rates(*SPAN).values()) for node in (b, alone))
    assert delivered >= 0.95 * score
    assert delivered >= 1.15 * without
    assert max(a.p95(*SPAN), b.p95(*SPAN)) <= 1.1


@pytest.mark.parametrize("fixed", [0.6, 1.0, 1.5])
def test_a_node_for_itself_drops_alike_and_is_in_time_on_the_whole(fixed):
    _, node = fig1_runs(fixed)
    first, second = node.rates(*SPAN).values()
    assert first == pytest.approx(second, rel=0.05)
    can = 2 * (1 - 2 * fixed / PERIOD) / sum(B.values())
    assert first + second >= 0.9 * can
    took = [one for at, one in node.responses if at >= SPAN[0]]
    assert sum(took) / len(took) <= 1.1 * TARGET
    assert node.p95(*SPAN) <= 1.3


@pytest.mark.parametrize("fixed", [0.6, 1.0, 1.5])
def test_a_node_that_begins_late_is_in_time_again(fixed):
    # Its first batches have waited for half a minute, and so have all that wait for them.
    _, node = fig1_runs(fixed, starts=30.0)
    assert max(took for at, took in node.responses) > 4 * TARGET
    assert node.p95(120.0, 300.0) <= 1.3


def test_a_stream_that_brings_nothing_holds_up_no_decision():
    turns = Turns(2, TARGET)
    for batch in range(1, MOST):
        turns.take(turn(0, batch * PERIOD, 125 * PERIOD), costs())
    assert turns.last is None
    turns.take(turn(0, MOST * PERIOD, 125 * PERIOD), costs())
    assert turns.last is not None
    assert turns.last.demand == pytest.approx(125 * B["b1"] * PERIOD)


def demands(rates: list[float]) -> list[float]:
    """Of each round, what the next is expected to ask for, in seconds of work in a second."""
    turns, found = Turns(1, TARGET), []
    for number, rate in enumerate(rates, 1):
        turns.take(turn(0, number * PERIOD, rate * PERIOD), costs())
        assert turns.last is not None
        found.append(turns.last.demand / PERIOD)
    return found


def test_rows_that_a_node_upstream_hands_on_in_lots_are_counted_over_several_rounds():
    even = 100 * B["b1"]
    assert demands([50.0, 150.0] * 15)[-6:] == pytest.approx([even] * 6, rel=0.15)
    assert demands([10.0, 190.0] * 15)[-6:] == pytest.approx([even] * 6, rel=0.25)


def test_another_rate_is_another_rate_after_two_rounds():
    few, many = 50 * B["b1"], 250 * B["b1"]
    assert demands([50.0] * 20)[-1] == pytest.approx(few)
    assert demands([50.0] * 20 + [250.0] * 2)[-1] == pytest.approx(many)
    assert demands([250.0] * 20 + [50.0] * 2)[-1] == pytest.approx(few)
