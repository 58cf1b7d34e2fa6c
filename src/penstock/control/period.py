"""What a control period of an engine that works row by row tells a controller."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

from penstock.control.admitted import Admitted, nonsense

FLOOR = 0.01
"""The share of rows that is kept whatever happens, so that there is something to measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """One control period that has just ended. Not checked: a controller says what makes no sense.

    Args:
        seconds: how long it was.
        demand: seconds of work that arrived, before shedding.
        admitted: seconds of work that was let in.
        queued: seconds of work that waits now, over every queue.
        rows_in: rows that were let in.
        rows_out: rows that were delivered, or discarded in the network.
        response: the mean response time of the rows that were delivered, in seconds; None if none
            was.
        shed: whether some of what arrived was shed.
    """

    seconds: float
    demand: float
    admitted: float
    queued: float
    rows_in: float = 0.0
    rows_out: float = 0.0
    response: float | None = None
    shed: bool = False

    @property
    def nonsense(self) -> str | None:
        """What cannot be, as text."""
        if self.seconds == 0:
            return "seconds = 0"
        return nonsense(
            seconds=self.seconds,
            demand=self.demand,
            admitted=self.admitted,
            queued=self.queued,
            rows_in=self.rows_in,
            rows_out=self.rows_out,
            response=self.response,
        )


class PeriodController(Protocol):
    """How much work may come in during the next period."""

    def step(self, seen: Period) -> Admitted:
        """The answer to the period that has just ended."""


def admit(load: float, seen: Period, headroom: float, reason: str) -> Admitted:
    """A load as an answer: the next period is taken to bring what the last one brought."""
    demand = seen.demand
    keep = 1.0 if demand <= load else max(FLOOR, load / demand)
    return Admitted(
        load=max(load, keep * demand),
        demand=demand,
        keep=keep,
        headroom=headroom,
        overload=demand / (headroom * seen.seconds),
        reason=reason,
    )


def as_before(last: Admitted | None, what: str, headroom: float) -> Admitted:
    """The last answer again, since the observation makes no sense."""
    reason = f"{what} makes no sense: as before"
    if last is None:
        return Admitted(
            load=math.inf, demand=0.0, keep=1.0, headroom=headroom, good=False, reason=reason
        )
    return replace(last, good=False, reason=reason)
