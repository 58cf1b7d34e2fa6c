"""How a query stands at a moment: whether its windows can still be dropped, and for how long.

B = 4         closed │ open, or to begin by then
windows       o  x  x │ x  o  o             missing: 5 in a row, if the open ones were dropped
                      newest      until     held: that is more than B, so one of them stays
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.drops.decisions import Decisions
from penstock.drops.marks import Marks
from penstock.drops.targets import Target, last_of
from penstock.windows import first_wid

SPAN = 10_000
"""Windows that are looked at: time may leap."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A query whose windows may be dropped.

    Args:
        left: how many more windows may be missing once all that have begun, or are about to, are.
        held: whether one of those must stay, whatever is planned.
        slide: from one window to the next, in seconds.
        length: of a window, in seconds.
        flows: whether rows that come now are in a window that stays.
    """

    left: int
    held: bool
    slide: float
    length: float
    flows: bool = True

    @property
    def deadline(self) -> float:
        """Seconds until a window has to be kept; 0 if one has to be now."""
        return 0.0 if self.held else self.left * self.slide


def standing(state: Decisions, target: Target, *, newest: int, until: int) -> Standing:
    """How a query stands.

    Args:
        state: the decisions so far.
        target: the query.
        newest: the largest event time seen so far, in microseconds.
        until: windows that begin by then are about to, in microseconds.

    >>> from penstock.windows import tumbling
    >>> from penstock.drops.decisions import Run
    >>> some, target = Decisions(dropped={"n": (Run(1, 3),)}), Target("n", tumbling(10, on="ts"), 4)
    >>> standing(some, target, newest=35, until=45).left
    0
    >>> standing(some, target, newest=35, until=55).held
    True
    >>> standing(some, target, newest=35, until=55).flows
    False
    """
    window, gap = target.window, target.max_gap
    first, last = first_wid(newest, window), last_of(until, target)
    opens = state.first_open(window)
    first = max(first if opens is None else max(first, opens), last - SPAN)
    marks = Marks(first - gap - 1, max(first, last) + 1, state.runs(target.name))
    now = range(first, max(first, last_of(newest, target) + 1))
    flows = not marks.all(now)
    held, missing = False, 0
    for w in range(first, last + 1):
        one = range(w, w + 1)
        missing = marks.gap(one)
        if missing <= gap:
            marks.drop(one)
        elif not marks.all(one):
            held, missing = True, 0
    length = window.range or window.period or window.slide
    return Standing(max(0, gap - missing), held, window.slide / 1e6, length / 1e6, flows)
