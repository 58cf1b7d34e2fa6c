"""Whether a batch closes windows: one that closes none has no answers, and none are looked at.

    watermark   9:00:04     9:00:09     9:00:11       windows of 10 s
    batch          7           8           9          may have answers: 9

A look at answers, for their errors or to show them, costs a job, whether there are any or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from penstock.windows import WindowSpec, last_closed


@dataclass
class Closing:
    """Knows by the watermarks of two batches what windows are over.

    Args:
        specs: of the windows whose answers are delivered; over time.
        watermark: of a batch, in microseconds; None where it is not known.

    >>> from penstock.windows import tumbling
    >>> closing = Closing([tumbling(10, on="ts")], {7: 4, 8: 9, 9: 11}.get)
    >>> [closing.may_have_answers(batch) for batch in (7, 8, 9)]
    [True, False, True]
    """

    specs: Iterable[WindowSpec]
    watermark: Callable[[int], int | None]
    _last: tuple[int, int | None] | None = None

    def may_have_answers(self, batch: int) -> bool:
        """Whether windows may have closed since the batch before.

        Args:
            batch: its id; where nobody asked about the one before it, it may have.
        """
        before, mark = self._last, self.watermark(batch)
        self._last = batch, mark
        if before is None or before[0] != batch - 1 or before[1] is None or mark is None:
            return True
        return any(last_closed(before[1], spec) < last_closed(mark, spec) for spec in self.specs)
