"""SEaMLeSS: the work in every queue is added up, its delay held, and the headroom found by itself.

    qL = Σ rows waiting · load coefficient         over every queue of the network
    y  = qL / H                                    how long that takes
    v  = H (u + T)                                 may come in during the next T seconds

with u from the feedback law (see `feedback`). The law is made for a queue near the target. Below
that nothing is shed that would still fit: the queue may fill up to nine tenths of it at once.

The estimate y is right if a row waits for all the work before it and no other. Where a scheduler
prefers some rows, those of a join come later than the estimate says. What remains of the distance
between response time and target while shedding is therefore made good slowly: D ← D · D/D'. Pham,
Chrysanthis and Labrinidis, "Self-managing load shedding for data stream management systems", 2013.
"""

from __future__ import annotations

from penstock.control.admitted import Admitted
from penstock.control.checks import positive
from penstock.control.feedback import Feedback
from penstock.control.headroom import Headroom, WorkDone
from penstock.control.period import Period, admit, as_before

_FILLS = 0.9  # of the target: up to there the queue may fill at once
_TRIM = 0.03  # of the distance to the target that is made good in a period
_TRIMMED = (0.2, 1.0)


class Seamless:
    """The delay of the work that waits, held at the target.

    Args:
        target: the delay target, in seconds.
        headroom: how the headroom is found.

    >>> control = Seamless(target=2.0)
    >>> for queued in (0.0, 1.0, 2.0):  # three times too much arrives
    ...     answer = control.step(Period(seconds=0.5, demand=1.5, admitted=1.5, queued=queued))
    >>> answer.sheds
    True
    """

    def __init__(self, target: float, headroom: Headroom | None = None) -> None:
        positive("target", target)
        self.target = target
        self.headroom = WorkDone() if headroom is None else headroom
        self._law = Feedback()
        self._trim = 1.0
        self._last: Admitted | None = None

    def step(self, seen: Period) -> Admitted:
        """What brings the delay of the queued load to the target."""
        if wrong := seen.nonsense:
            return as_before(self._last, wrong, self.headroom.value)
        h = self.headroom.learn(seen, self.target)
        target = self._trimmed(seen)
        delay = seen.queued / h
        growth = max(self._law.ask(target - delay), _FILLS * target - delay)
        load = h * (growth + seen.seconds)
        reason = (
            f"seamless: {seen.queued:.3g} s of work waits, at headroom {h:.3g} that is "
            f"{delay:.3g} s of {self.target:.3g} s; {seen.demand:.3g} s came, {load:.3g} s may"
        )
        self._last = admit(max(0.0, load), seen, h, reason)
        self._law.got(min(self._last.load, seen.demand) / h - seen.seconds, delay)
        return self._last

    def _trimmed(self, seen: Period) -> float:
        """The target that the estimate is held at, for the response time to be at its own."""
        if seen.shed and seen.response and not self.headroom.hears:
            trim = self._trim * (self.target / seen.response) ** _TRIM
            self._trim = min(max(trim, _TRIMMED[0]), _TRIMMED[1])
        return self._trim * self.target
