"""What batches take in which nothing is shed: the answer to whether all of it would be in time.

The cost model is fitted to all batches, and most of those tell what shedding costs: a row that is
kept costs more there, for it is asked and booked, and keys that have one row left cost as much as
keys that have ten. So it may say that the load is twice what can be done where nothing at all need
be shed, and as long as rows are shed nothing tells otherwise.

    seconds              x shedding: 0.2 of the rows
      2 ┤         x  ○   ○ nothing is shed
        │   x ○                             response = 0.95 P + d of batches that follow each other
      1 ┤ ○                                 goes to 1.95 fixed / (1 - slope · rate)
        └─────────────── rows
"""

from __future__ import annotations

from collections import deque

import numpy as np

from penstock.control.nonnegative import Floats

_REMEMBERED = 40  # batches
_ENOUGH = 8  # of them, before they tell anything
_BEYOND = 1.25  # times the most rows that were seen: of more it is not known what they take
_SLOWER, _IN_A_ROW = 1.25, 3  # times as long as before, each of so many: the machine has changed
_BARRED, _LONGEST = 10, 160  # batches for which it is not believed after so many that were late


class Whole:
    """Seconds of batches in which nothing is shed, by their rows.

    >>> whole = Whole()
    >>> for rows in range(9):
    ...     whole.learn(rows, 1.0 + 0.25 * rows)
    >>> whole.seconds(10), whole.seconds(11)
    (3.5, None)
    """

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque(maxlen=_REMEMBERED)
        self._line: tuple[float, float] | None = None
        self._late = self._in_time = 0
        self._waits, self._bar = 0, _BARRED

    def passes(self) -> None:
        """A batch of which something was shed."""
        self._late = 0
        self._waits = max(0, self._waits - 1)

    def learn(self, rows: float, seconds: float, *, late: bool = False) -> None:
        """One more batch of which nothing was shed.

        Args:
            rows: that it brought.
            seconds: that it took.
            late: whether its rows came too late.
        """
        self._late = self._late + 1 if late else 0
        self._in_time = 0 if late else self._in_time + 1
        if self._late >= _IN_A_ROW:
            # The machine, or what comes, is not what it was: to try it again takes a while.
            self._waits, self._late = self._bar, 0
            self._bar = min(2 * self._bar, _LONGEST)
        elif self._in_time >= 2 * _BARRED:
            self._bar = _BARRED
        self._seen.append((rows, seconds))
        last = list(self._seen)[-_IN_A_ROW:]
        if self._line is not None and all(
            took > _SLOWER * self._at(self._line, some) for some, took in last
        ):
            self._seen = deque(last, maxlen=_REMEMBERED)
        self._line = self._fitted()

    def seconds(self, rows: float) -> float | None:
        """What a batch will take of which nothing is shed; None if nobody can tell.

        Args:
            rows: that it will bring.
        """
        if (
            self._line is None
            or self._waits
            or rows > _BEYOND * max(some for some, _ in self._seen)
        ):
            return None
        return self._at(self._line, rows)

    @staticmethod
    def _at(line: tuple[float, float], rows: float) -> float:
        fixed, slope = line
        return fixed + slope * rows

    def _fitted(self) -> tuple[float, float] | None:
        """The line through them; None of too few."""
        if len(self._seen) < _ENOUGH:
            return None
        rows, took = np.array(self._seen).T
        if np.ptp(rows) == 0:
            return 0.0, float(np.median(took)) / max(float(rows[0]), 1.0)  # of more rows, the worst
        fixed, slope = theil_sen(rows, took)
        return fixed, max(0.0, slope)


def theil_sen(x: Floats, y: Floats) -> tuple[float, float]:
    """Where a line begins and how it rises: the median of all slopes, whatever some points say.

    Args:
        x: not all the same.
        y: as many.
    """
    one, other = np.triu_indices(len(x), k=1)
    apart = x[other] - x[one]
    some = apart != 0
    slope = float(np.median((y[other] - y[one])[some] / apart[some]))
    return float(np.median(y - slope * x)), slope
