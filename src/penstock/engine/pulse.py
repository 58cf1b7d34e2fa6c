"""When batches began and ended, and how long their rows had been waiting.

began N-1                  began N          control N    ended N = began N+1
├───────────────────────────┼─────────────────┼──────────┤
│◄── rows of N arrive ─────►│◄── seconds ────►│◄────────►│ overhead
                               response of the 95th percentile: from 5 % of the first span
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

_AT_ONCE = 0.5
"""Seconds after which a batch that has not begun was waiting for rows."""

_LEAD = ("latestOffset", "getBatch", "queryPlanning", "walCommit")
"""What Spark does of a batch before its rows are worked on."""


@dataclass(frozen=True, slots=True)
class Beat:
    """A batch that Spark has told of, in seconds since the epoch."""

    batch: int
    began: float
    ended: float
    lead: float

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> Beat:
        """From Spark's report."""
        began = datetime.fromisoformat(str(report["timestamp"])).timestamp()
        took = report.get("durationMs", {})
        lead = sum(took.get(name, 0) for name in _LEAD) / 1000
        return cls(report["batchId"], began, began + took.get("triggerExecution", 0) / 1000, lead)


@dataclass
class Pulse:
    """The clock of a stream.

    Args:
        interval: of its trigger, in seconds; 0 if batches follow each other at once.
        clock: seconds since the epoch.
    """

    interval: float = 0.0
    clock: Callable[[], float] = time.time
    _entered: tuple[float, ...] = ()
    _control: tuple[int, float] | None = None
    _overhead: float = 0.0

    def enter(self) -> None:
        """The rows of a batch are about to be worked on."""
        self._entered = (*self._entered[-1:], self.clock())

    def began(self, last: Beat | None) -> float:
        """When the running batch began.

        Args:
            last: the batch before it, if Spark has told of it.
        """
        now = self._entered[-1] if self._entered else self.clock()
        if last is None:
            return now
        # Before rows are worked on a batch also reads what it shall drop, which no report tells:
        # as long as for the batch before, of which it is known by now when it began.
        before = self._entered[0] - last.began if len(self._entered) > 1 else 0.0
        lead = before if last.lead <= before <= last.ended - last.began else last.lead
        return max(now - lead, last.ended)

    def overhead(self, last: Beat | None) -> float:
        """Seconds from the control point of a batch to its end, as they were last seen."""
        if last is not None and self._control is not None and self._control[0] == last.batch:
            self._overhead = max(0.0, last.ended - self._control[1])
        return self._overhead

    def note_control(self, batch: int) -> None:
        """A batch is at its control point."""
        self._control = batch, self.clock()

    def collecting(self, began: float, last: Beat | None) -> float | None:
        """Seconds in which the rows of a batch arrived; None for the first.

        Args:
            began: when it did.
            last: the batch before it.
        """
        if last is None:
            return None
        span = began - last.began
        # Spark looks again and again for rows if there are none: then they have just arrived.
        idle = began - last.ended > self.interval + _AT_ONCE
        return min(span, max(self.interval, 0.1)) if idle else span


def response(share: float, began: float, collected: float, ended: float, waited: float) -> float:
    """The response time that a share of the rows of a batch stays below, in seconds.

    Args:
        share: such as 0.95.
        began: when the batch did.
        collected: seconds before that in which its rows arrived.
        ended: when it was delivered.
        waited: seconds that rows had been left for later batches before.
    """
    return ended - began + share * collected + waited


def ran(took: Mapping[str, Any]) -> bool:
    """Whether a report is of a batch that ran.

    A stream that waits for rows says so now and then, in a report of the batch that is next: to
    take it for that batch would be to pass over the batch itself.

    Args:
        took: how long each of its steps took (`durationMs`).
    """
    return "addBatch" in took
