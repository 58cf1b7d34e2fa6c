"""The headroom: how many seconds of work a second of the clock does. It is never set by hand.

Work is counted by the cost model. If that is wrong by half, or another program takes half of the
machine, half as much is done in a second, and that is all that a controller has to know.

`ResponseTimes` is the paper's way: H ← H · D/D', where D' is the mean response time over so many
periods with shedding. It needs nothing but the clock at the output, but waits for rows to come out,
and then for the mean. `WorkDone` counts: what waited, and came in, and does not wait any more has
been done. It knows after one period, and needs no shedding, only that there was always work.
"""

from __future__ import annotations

from collections import deque
from statistics import median
from typing import Protocol

from penstock.control.checks import positive
from penstock.control.period import Period

LEAST, MOST = 0.01, 100.0
_RECENT = 3  # of three periods the median is taken: one slow one is an accident, two are the truth


class Headroom(Protocol):
    """Finds the headroom, period by period.

    `hears` says whether it goes by response times, so that nobody else has to.
    """

    value: float
    hears: bool

    def learn(self, seen: Period, target: float) -> float:
        """The headroom after one more period.

        Args:
            seen: the period.
            target: the delay target, in seconds.
        """


class WorkDone:
    """Work done in a second of the clock, in periods that had work throughout.

    Args:
        initial: what is believed before the first such period.

    >>> headroom = WorkDone(initial=0.8)
    >>> for _ in range(2):
    ...     found = headroom.learn(Period(seconds=1, demand=5, admitted=1, queued=3), target=2)
    >>> found
    1.0
    """

    hears = False

    def __init__(self, initial: float = 0.8) -> None:
        positive("initial", initial)
        self.value = initial
        self._queued: float | None = None
        self._recent: deque[float] = deque(maxlen=_RECENT)

    def learn(self, seen: Period, target: float) -> float:  # noqa: ARG002 - of the protocol
        """The median of the last few periods in which the work did not run out."""
        before, self._queued = self._queued, seen.queued
        busy = before is not None and min(before, seen.queued) > 0
        if before is not None and busy:
            done = (before + seen.admitted - seen.queued) / seen.seconds
            if done > 0:
                self._recent.append(min(max(done, LEAST), MOST))
                self.value = median(self._recent)
        return self.value


class ResponseTimes:
    """The paper's adjustment, from the response times while load is shed.

    Args:
        initial: what is believed at first.
        every: periods with shedding over which the response time is averaged.
    """

    hears = True

    def __init__(self, initial: float = 0.8, every: int = 30) -> None:
        positive("initial", initial)
        positive("every", every)
        self.value = initial
        self.every = every
        self._responses: list[float] = []

    def learn(self, seen: Period, target: float) -> float:
        """H ← H · D/D' after so many periods with shedding."""
        if seen.shed and seen.response is not None:
            self._responses.append(seen.response)
        if len(self._responses) >= self.every:
            mean = sum(self._responses) / len(self._responses)
            if mean > 0:
                self.value = min(max(self.value * target / mean, LEAST), MOST)
            self._responses.clear()
        return self.value
