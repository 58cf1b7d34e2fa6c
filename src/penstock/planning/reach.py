"""How far ahead windows are decided: as far as the rows of the next batch go, and hardly further.

    known ──┤ batch N, just ended ┤ batch N + 1, being decided ┤ …
            └──────── rows and seconds of both are known ──────┘  how far do their event times go?

A window that is dropped never comes back: decided too far ahead it is lost for nothing, and not far
enough, rows that nobody wants are worked on. In a live stream event times go as far as the clock;
in one that catches up, or is replayed, as far as rows do. Which it is, the last batches tell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.control.fading import Faded

_MARGIN = 1.25
_LIVES = 3.0  # batches after which what was learnt counts half
_LEAST = 1e-9


@dataclass(frozen=True, slots=True)
class Came:
    """What came in a batch, or in several.

    Args:
        rows: of all streams.
        seconds: in which they arrived.
    """

    rows: float
    seconds: float


class Reach:
    """Learns how far event times go in a batch, by its rows and by the clock.

    >>> reach = Reach()
    >>> for rows in (100.0, 500.0, 200.0):  # a live stream: whatever comes, 2 s of it are 2 s
    ...     reach.note(Came(rows, seconds=2.0), span=2.0)
    >>> f"{reach.ahead(Came(rows=900.0, seconds=4.0)):.1f}"
    '5.0'
    """

    def __init__(self) -> None:
        self._by_rows, self._by_clock = _Pace(), _Pace()

    def note(self, came: Came, span: float) -> None:
        """A batch of which it is known by now how far it went.

        Args:
            came: in it.
            span: seconds of event time.
        """
        if span > 0:
            self._by_rows.note(came.rows, span)
            self._by_clock.note(came.seconds, span)

    def ahead(self, coming: Came) -> float | None:
        """Seconds of event time beyond the newest row that is known of; None if nothing is known.

        Args:
            coming: rows of which it is not known how far they go.
        """
        rows, clock = self._by_rows.guess(coming.rows), self._by_clock.guess(coming.seconds)
        if rows is None or clock is None:
            return None
        better = rows if self._by_rows.off < self._by_clock.off else clock
        if self._by_rows.off == self._by_clock.off:  # nothing was guessed yet
            better = max(rows, clock)
        return _MARGIN * better


class _Pace:
    """Event time per row, or per second, and how far off that was from batch to batch."""

    def __init__(self) -> None:
        self._pace = Faded(_LIVES)
        self._off = Faded(_LIVES)

    @property
    def off(self) -> float:
        return self._off.ratio or 0.0

    def guess(self, amount: float) -> float | None:
        pace = self._pace.ratio
        return None if pace is None else pace * amount

    def note(self, amount: float, span: float) -> None:
        guess = self.guess(amount)
        if guess is not None:
            self._off.add(abs(math.log(max(guess, _LEAST) / span)), 1.0)
        self._pace.add(span, max(amount, _LEAST))
