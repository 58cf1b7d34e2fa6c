"""The headroom of micro-batches: what the cost model gives for a batch over what it took.

The median of nine batches is taken, so that one that was held up is ignored. Two in a row that are
far off, and to the same side, are a machine that has changed: all before them is forgotten. When
the cost model itself changes, because it has learnt of it too, what is remembered is restated by as
much: nothing is corrected twice.
"""

from __future__ import annotations

from collections import deque
from statistics import median

from penstock.control.batch import Batch
from penstock.control.checks import positive
from penstock.control.headroom import LEAST, MOST

_RECENT = 9
_CHANGED = 1.25
_IN_A_ROW = 2


class Pace:
    """Seconds of work, as the cost model counts them, that a second of the clock does.

    Args:
        initial: what is believed before the first batch.

    >>> pace = Pace()
    >>> for seconds in (1.0, 9.0, 1.0, 2.0, 2.0):
    ...     pace.learn(Batch(rows=1, collected=1, seconds=seconds, nominal=1.0, fixed=1, cost=1))
    >>> pace.value
    0.5
    """

    def __init__(self, initial: float = 1.0) -> None:
        positive("initial", initial)
        self.value = initial
        self._recent: deque[float] = deque([initial], maxlen=_RECENT)
        self._model: tuple[float, float] | None = None

    def learn(self, batch: Batch) -> None:
        """One more batch."""
        if self._model is not None:
            fixed, cost = self._model
            rows = max(0.0, batch.nominal - batch.fixed) / batch.cost
            before = fixed + cost * rows
            change = batch.nominal / before if before > 0 else 1.0
            self._recent = deque((each * change for each in self._recent), maxlen=_RECENT)
            self.value *= change
        self._model = batch.fixed, batch.cost
        self._recent.append(min(max(batch.nominal / batch.seconds, LEAST), MOST))
        self._forget()
        self.value = median(self._recent)

    def _forget(self) -> None:
        """All but the last few, if these are far from what was believed."""
        last = list(self._recent)[-_IN_A_ROW:]
        if max(last) * _CHANGED < self.value or min(last) > self.value * _CHANGED:
            self._recent = deque(last, maxlen=_RECENT)
