"""CTRL: a queue of rows is reckoned from what went in and what came out, and its delay held.

    y = c q / H      q = Σ (rows in - rows out)

One row in must be one row out, which is only so in a flat network. Where rows are shared by several
queries more comes out than went in, the queue seems to be empty, and nothing is shed. Tu, Liu,
Prabhakar and Yao, "Load shedding in stream databases: a control-based approach", VLDB 2006.
"""

from __future__ import annotations

from penstock.control.admitted import Admitted
from penstock.control.checks import positive
from penstock.control.feedback import Feedback
from penstock.control.period import Period, admit, as_before


class Ctrl:
    """The delay of a virtual queue, held at the target.

    Args:
        target: the delay target, in seconds.
        cost: seconds of work for a row that comes in.
        headroom: the share of a second that is there for work; set by hand.
    """

    def __init__(self, target: float, cost: float, headroom: float = 0.99) -> None:
        for name, value in (("target", target), ("cost", cost), ("headroom", headroom)):
            positive(name, value)
        self.target = target
        self.cost = cost
        self.headroom = headroom
        self.queue = 0.0
        self._law = Feedback()
        self._last: Admitted | None = None

    def step(self, seen: Period) -> Admitted:
        """What brings the delay of the virtual queue to the target."""
        if wrong := seen.nonsense:
            return as_before(self._last, wrong, self.headroom)
        h = self.headroom
        self.queue = max(0.0, self.queue + seen.rows_in - seen.rows_out)
        delay = self.cost * self.queue / h
        growth = self._law.ask(self.target - delay)
        load = h * (growth + seen.seconds)
        reason = f"ctrl: {self.queue:.0f} rows wait, {delay:.3g} s of {self.target:.3g} s"
        self._last = admit(max(0.0, load), seen, h, reason)
        self._law.got(min(self._last.load, seen.demand) / h - seen.seconds, delay)
        return self._last
