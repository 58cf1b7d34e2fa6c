"""What boxes cost whose streams take turns on one core."""

from __future__ import annotations

import random

import pytest

from penstock.control.costs import Costs
from penstock.control.settings import Warmup
from penstock.control.snapshot import OperatorStatistics, Snapshot, StreamStatistics
from penstock.control.status import QueryStatus, Status
from penstock.engine.fleet.costs import Together, bears
from penstock.fleet.pipeline import parse_pipeline
from tests.fleet.pipelines import fig1

AT_ONCE = Warmup(seconds=0.0, batches=0)


def status(at: float, seconds: float, name: str, rows: int) -> Status:
    query = QueryStatus(name=name, rows_in=rows, taken=rows)
    return Status(at=at, batch=0, seconds=seconds, rows=rows, queries=(query,))


def taking_turns(costs: dict[str, float], batch: float, rounds: int) -> list[list[Status]]:
    """Each batch begins when the last of its stream has ended, and waits for the other one."""
    rng = random.Random(1)
    first: list[Status] = []
    second: list[Status] = []
    now = 1000.0
    for _ in range(rounds):
        few, many = rng.randint(10, 200), rng.randint(10, 400)
        mine, other = batch + costs["b1"] * few, batch + costs["b2"] * many
        began = first[-1].at if first else now
        first.append(status(now + mine, now + mine - began, "b1", few))
        began = second[-1].at if second else now
        second.append(status(now + mine + other, now + mine + other - began, "b2", many))
        now += mine + other
    return [first, second]


@pytest.mark.parametrize(("times", "batch"), [(1.0, 0.8), (2.0, 0.8), (1.0, 2.0)])
def test_what_a_batch_waits_for_others_is_not_what_its_rows_cost(times, batch):
    pipeline = parse_pipeline(fig1(unit=4e-3))
    true = {"b1": 12e-3 * times, "b2": 4e-3 * times}
    together = Together(pipeline, (("b1",), ("b2",)), AT_ONCE)
    streams = taking_turns(true, batch, 60)
    for number in range(1, 61):
        together.take([statuses[:number] for statuses in streams])
    costs = together.costs
    assert dict(costs.per_row) == pytest.approx(true, rel=0.1)
    assert costs.fixed == pytest.approx(2 * batch, rel=0.2)


def test_nothing_is_learnt_before_each_stream_has_told():
    together = Together(parse_pipeline(fig1(unit=4e-3)), (("b1",), ("b2",)), AT_ONCE)
    first, second = taking_turns({"b1": 1.0, "b2": 1.0}, 1.0, 3)
    together.take([first, []])
    assert together.costs.batches == 0
    together.take([first, second[:1]])
    assert together.costs.batches == 1
    together.take([first, second[:1]])
    assert together.costs.batches == 1


@pytest.mark.parametrize(("rate", "share"), [(250 / 3, 0.75), (50, 1.0), (0, 1.0)])
def test_all_boxes_keep_the_share_that_their_node_can_bear(rate, share):
    # Table 1, plan 0: A hands on a third of each input, and B can take three quarters of that.
    pipeline = parse_pipeline(fig1(unit=4e-3))
    costs = {"b1": 12e-3, "b2": 4e-3}
    boxes = {n: OperatorStatistics(n, "box", 0, 0, 1.0, cost, 0, None) for n, cost in costs.items()}
    streams = {n: StreamStatistics(n, 0, rate, None) for n in ("a1", "a2")}
    seen = Snapshot(9, Costs(0.0, costs, 0, {}, 0, 9), boxes, streams, {}, {}, {}, None)
    assert bears(pipeline, "B", seen) == pytest.approx(share)
