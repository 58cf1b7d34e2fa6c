"""The window formulas for many windows at once: which one is meant is a column.

The parameters of all windows stand in constant arrays, from which each row takes its own: the code
that Spark generates does not grow with the queries. Where there are only a few different ones, rows
choose between constants, which Java divides by without dividing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pyspark.sql import Column
from pyspark.sql import functions as F

from penstock.windows import WindowSpec
from penstock.windows.grid import Grid

T = TypeVar("T", bound=Hashable)
_FEW = 4
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
    if len(set(values)) <= _FEW:
        return choose(which, values, lambda value: F.lit(value).cast("bigint"))
    return F.array(*(F.lit(value).cast("bigint") for value in values))[which]


def begins(t: Column, which: Column, grids: Sequence[Grid]) -> Column:
    """Where the pane that holds `t` begins, on the grid with that number."""
    if len(set(grids)) <= _FEW:
        return choose(which, grids, lambda grid: _begins(t, F.lit(grid.phase), F.lit(grid.width)))
    phase = pick(which, [grid.phase for grid in grids])
    return _begins(t, phase, pick(which, [grid.width for grid in grids]))


def _begins(t: Column, phase: Column, width: Column) -> Column:
    return t - F.pmod(t - phase, width)


def choose(which: Column, values: Sequence[T], as_column: Callable[[T], Column]) -> Column:
    """The column for the value with that number; that of most numbers is asked for last."""
    numbers: dict[T, list[int]] = {}
    for number, value in enumerate(values):
        numbers.setdefault(value, []).append(number)
    *others, most = sorted(numbers, key=lambda value: len(numbers[value]))
    found = as_column(most)
    for value in others:
        found = F.when(which.isin(numbers[value]), as_column(value)).otherwise(found)
    return found
