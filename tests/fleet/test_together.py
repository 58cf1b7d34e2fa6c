"""What boxes cost whose streams take turns on one core."""

from __future__ import annotations

import random

import pytest

from penstock.control.settings import Warmup
from penstock.control.status import QueryStatus, Status
from penstock.engine.fleet.costs import Together
from penstock.fleet.pipeline import parse_pipeline
from penstock.fleet.turns import MOST
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


def test_a_stream_that_brings_nothing_holds_up_nobody():
    true = {"b1": 24e-3, "b2": 8e-3}
    together = Together(parse_pipeline(fig1(unit=4e-3)), (("b1",), ("b2",)), AT_ONCE)
    rng, now, statuses = random.Random(2), 1000.0, []
    for _ in range(90):
        rows = rng.randint(10, 400)
        took = 0.8 + true["b1"] * rows
        now += took
        statuses.append(status(now, took, "b1", rows))
        together.take([statuses, []])
    assert together.costs.batches == 90 // MOST
    assert dict(together.costs.per_row) == pytest.approx(true, rel=0.1)
    # As if the other stream had batches too: they would cost as much.
    assert together.costs.fixed == pytest.approx(2 * 0.8, rel=0.2)


def test_two_slow_rounds_are_not_another_machine():
    # A sample of rounds in which others had the cores: rows that wait for something cost no more.
    together = Together(parse_pipeline(fig1(unit=4e-3)), (("b1",), ("b2",)), AT_ONCE)
    true = {"b1": 12e-3, "b2": 4e-3}
    first, second = taking_turns(true, 1.2, 30)
    for number in range(1, 31):
        together.take([first[:number], second[:number]])
    now = max(first[-1].at, second[-1].at)
    for _ in range(2):
        now += 6.6  # 2.4 s of batches and 1.4 s of rows, and 2.8 s that nobody knows of
        first.append(status(now, 6.6, "b1", 85))
        second.append(status(now, 6.6, "b2", 92))
        together.take([first, second])
    assert dict(together.costs.per_row) == pytest.approx(true, rel=0.1)
