"""The window formulas for many windows at once: which one is meant is a column.

The parameters of all windows stand in constant arrays, from which each row takes its own: the code
that Spark generates does not grow with the queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from penstock.windows import WindowSpec

_LOWEST = -(1 << 63)


@dataclass(frozen=True)
class Timing:
    """Windows by number; all times are in microseconds since the epoch.

    Args:
        specs: sliding, tumbling or cumulative windows over time.
    """

    specs: Sequence[WindowSpec]

    def first_end(self, t: Column, of: Column) -> Column:
        """The end of the first window that ends after `t`."""
        slide = self._of(of, [s.slide for s in self.specs])
        origin = self._of(of, [s.origin % s.slide for s in self.specs])
        return t - F.pmod(t - origin, slide) + slide

    def last_end(self, t: Column, of: Column) -> Column:
        """The end of the last window that begins at or before `t`."""
        ahead = self._of(of, [s.range or 0 for s in self.specs])
        step = self._of(of, [s.period or s.slide for s in self.specs])
        origin = self._of(of, [s.origin % (s.period or s.slide) for s in self.specs])
        then = self._of(of, [s.period or 0 for s in self.specs])
        return t + ahead - F.pmod(t + ahead - origin, step) + then

    def slide(self, of: Column) -> Column:
        """From one window to the next."""
        return self._of(of, [s.slide for s in self.specs])

    def in_no_window(self, t: Column, of: Column) -> Column | None:
        """Whether `t` is before the stream begins or in a gap; None if no row can be."""
        conditions = []
        if any(s.start is not None for s in self.specs):
            starts = [_LOWEST if s.start is None else s.start for s in self.specs]
            conditions.append(t < self._of(of, starts))
        if any(s.range is not None and s.range < s.slide for s in self.specs):
            conditions.append(self.last_end(t, of) < self.first_end(t, of))
        if not conditions:
            return None
        return conditions[0] if len(conditions) == 1 else conditions[0] | conditions[1]

    def start(self, end: Column, of: Column) -> Column:
        """The first value of the window that ends at `end`."""
        begin = end - self._of(of, [s.range or 0 for s in self.specs])
        if any(s.period is not None for s in self.specs):
            last = end - self.slide(of)
            step = self._of(of, [s.period or 1 for s in self.specs])
            origin = self._of(of, [s.origin % (s.period or 1) for s in self.specs])
            periodic = self._of(of, [int(s.period is not None) for s in self.specs])
            begin = F.when(periodic == 1, last - F.pmod(last - origin, step)).otherwise(begin)
        if any(s.start is not None for s in self.specs):
            starts = [_LOWEST if s.start is None else s.start for s in self.specs]
            begin = F.greatest(begin, self._of(of, starts))
        return begin

    def _of(self, which: Column, values: Sequence[int]) -> Column:
        return pick(which, values)


def pick(which: Column, values: Sequence[int]) -> Column:
    """The value with that number; a constant where all are equal."""
    if len(set(values)) == 1:
        return F.lit(values[0]).cast("bigint")
    return F.array(*(F.lit(value).cast("bigint") for value in values))[which]
