"""Aurora: what arrives beyond the capacity is shed, whatever waits already.

It looks at no outcome of its decisions, so a wrong headroom, or a queue that has built up, stays.
Tatbul, Çetintemel, Zdonik, Cherniack and Stonebraker, "Load shedding in a data stream manager",
VLDB 2003.
"""

from __future__ import annotations

from penstock.control.admitted import Admitted
from penstock.control.checks import positive
from penstock.control.period import Period, admit, as_before


class Aurora:
    """Load against headroom.

    Args:
        headroom: the share of a second that is there for work; set by hand.

    >>> Aurora(headroom=0.9).step(Period(seconds=1, demand=3, admitted=3, queued=99)).keep
    0.3
    """

    def __init__(self, headroom: float = 1.0) -> None:
        positive("headroom", headroom)
        self.headroom = headroom
        self._last: Admitted | None = None

    def step(self, seen: Period) -> Admitted:
        """As much as the headroom has room for."""
        if wrong := seen.nonsense:
            return as_before(self._last, wrong, self.headroom)
        load = self.headroom * seen.seconds
        reason = f"aurora: {seen.demand:.3g} s of work came, {load:.3g} s can be done"
        self._last = admit(load, seen, self.headroom, reason)
        return self._last
