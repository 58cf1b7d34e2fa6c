"""How fast the machine is, where queries come and go, as the regulator is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.control.observation import Flow, Observation
from penstock.control.prior import Prior
from penstock.control.statistics import Statistics
from penstock.engine.regulation import Regulation

KINDS = {"packets": "source", "traffic": "aggregate"}
HEADROOM = 0.8


def seen(batch: int, left: float | None, seconds: float = 1.0) -> Observation:
    """A batch of which so much went on to the aggregate; None if that is not told."""
    flows = {"packets": Flow(1000), "traffic": Flow(1000 * left)} if left is not None else {}
    rows = {"packets": 1000}
    return Observation(batch=batch, seconds=seconds, at=batch, rows=rows, operators=flows)


def regulation(
    *observations: Observation,
    targets: tuple[str, ...] = ("traffic",),
    drops: bool = True,
    mode: str = "on",
) -> Regulation:
    prior = Prior(fixed=0.5, costs={"packets": 1e-4, "traffic": 9e-4})
    measure = SimpleNamespace(
        observations=list(observations),
        statistics=Statistics(KINDS, ["packets"], ["traffic"], prior=prior),
    )
    shedder = SimpleNamespace(
        targets=dict.fromkeys(targets), dropping={7: ()} if drops else {}, mode=mode
    )
    regulator = SimpleNamespace(headroom=HEADROOM)
    return Regulation(*cast("Any", (regulator, shedder, measure, None)))


def pace(*observations: Observation, **more: Any) -> float | None:
    return regulation(*observations, **more)._pace(7, 0.0)


def test_it_is_the_work_of_the_last_batch_that_is_known_over_its_own_seconds():
    assert pace(seen(0, 1.0)) == pytest.approx(1.5)
    assert pace(seen(0, 1.0), seen(1, 0.0, 0.5)) == pytest.approx(0.6 / 0.5)
    # Of the last one it is not told yet what was dropped: that is not nothing.
    assert pace(seen(0, 0.5), seen(1, None)) == pytest.approx(1.05)


def test_what_passes_between_two_batches_is_part_of_neither():
    assert regulation(seen(0, 1.0))._pace(7, 0.25) == pytest.approx(1.5 / 0.75)


def test_a_batch_is_learnt_from_once():
    one = regulation(seen(0, 1.0))
    assert one._pace(7, 0.0) == pytest.approx(1.5)
    assert one._pace(7, 0.0) == HEADROOM  # nothing new
    one.measure.observations.append(seen(1, 0.0))
    assert one._pace(7, 0.0) == pytest.approx(0.6)


def test_where_rows_are_dropped_at_random_too_the_plan_was_made_with_older_costs():
    assert pace(seen(0, 0.5), targets=()) == pytest.approx(1.05)


def test_where_nothing_is_dropped_its_own_seconds_say_all():
    assert pace(seen(0, 0.5), drops=False) is None
    assert pace(seen(0, 0.5), mode="monitor") is None
    assert pace() == HEADROOM
    assert pace(seen(0, None)) == HEADROOM
