"""What dropped windows leave of the work, as the regulator is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.control.observation import Flow, Observation
from penstock.control.prior import Prior
from penstock.control.statistics import Statistics
from penstock.engine.regulation import Regulation

KINDS = {"packets": "source", "traffic": "aggregate"}
WHOLE = {"packets": 1000.0, "traffic": 1000.0}


def seen(batch: int, left: float | None) -> Observation:
    """A batch of which so much went on to the aggregate; None if that is not told."""
    flows = {"packets": Flow(1000), "traffic": Flow(1000 * left)} if left is not None else {}
    return Observation(batch=batch, seconds=1.0, at=batch, rows={"packets": 1000}, operators=flows)


def left(*observations: Observation, targets: tuple[str, ...] = ("traffic",), mode: str = "on"):
    prior = Prior(fixed=0.5, costs={"packets": 1e-4, "traffic": 9e-4})
    measure = SimpleNamespace(
        observations=list(observations),
        statistics=Statistics(KINDS, ["packets"], ["traffic"], prior=prior),
        whole=lambda _: WHOLE,
    )
    shedder = SimpleNamespace(targets=dict.fromkeys(targets), mode=mode)
    parts = cast("Any", (None, shedder, measure, None))
    return Regulation(*parts)._left()


def test_it_is_the_share_of_the_work_of_the_last_batch_that_is_known():
    assert left(seen(0, 1.0)) == pytest.approx(1.0)
    assert left(seen(0, 1.0), seen(1, 0.0)) == pytest.approx(0.1)  # it was read
    # Of the last one it is not told yet what was dropped: that is not nothing.
    assert left(seen(0, 0.5), seen(1, None)) == pytest.approx(0.55)


def test_where_no_window_can_be_dropped_it_is_as_planned():
    assert left(seen(0, 0.5), targets=()) is None
    assert left(seen(0, 0.5), mode="monitor") is None
    assert left() is None
    assert left(seen(0, None)) is None
