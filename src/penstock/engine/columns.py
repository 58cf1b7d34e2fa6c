"""The window formulas of `penstock.windows`, as Spark columns over microseconds since the epoch."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from penstock.windows import Ladder, WindowSpec

EVENT_TIME = {"spark.watermarkDelayMs": 0}
"""Spark evicts state by a column with this metadata, so any computed time can be a window-id."""


def first_end(t: Column, spec: WindowSpec) -> Column:
    """The end of the first window that ends after `t`."""
    return _floor(t, spec.slide, spec.origin) + spec.slide


def last_end(t: Column, spec: WindowSpec) -> Column:
    """The end of the last window that begins at or before `t`."""
    if spec.period is not None:
        return _floor(t, spec.period, spec.origin) + spec.period
    assert spec.range is not None  # noqa: S101 - a query refuses landmark windows
    return _floor(t + spec.range, spec.slide, spec.origin)


def window_start(end: Column, spec: WindowSpec) -> Column:
    """The first value of the window that ends at `end`; a partial one begins with the stream."""
    if spec.period is not None:
        begin = _floor(end - spec.slide, spec.period, spec.origin)
    elif spec.range is None:  # landmark: with the stream, or before all rows
        return F.lit(spec.start).cast("bigint")
    else:
        begin = end - spec.range
    return begin if spec.start is None else F.greatest(begin, F.lit(spec.start))


def in_no_window(t: Column, spec: WindowSpec) -> Column | None:
    """Whether `t` is before the stream begins or in a gap; None if no row can be."""
    conditions = []
    if spec.start is not None:
        conditions.append(t < spec.start)
    if spec.range is not None and spec.range < spec.slide:
        conditions.append(last_end(t, spec) < first_end(t, spec))
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else conditions[0] | conditions[1]


def block_starts(t: Column, ladder: Ladder) -> list[Column]:
    """Where the block that holds `t` begins, on every rung."""
    spec = ladder.spec
    pane = _floor(t, spec.slide, spec.origin)
    if not _even(spec):
        assert spec.range is not None  # noqa: S101 - only RANGE can be uneven
        pane = F.greatest(pane, _floor(t, spec.slide, spec.origin - spec.range))
    return [pane, *(_block(t, length, spec) for length in ladder.rungs[1:])]


def block_first_end(start: Column, rung: int, ladder: Ladder) -> Column:
    """The end of the first window that contains the block."""
    spec = ladder.spec
    if rung == 0 and not _even(spec):
        return first_end(start, spec)
    end = start + ladder.rungs[rung] * spec.slide
    return F.least(end, last_end(start, spec)) if rung and spec.period is not None else end


def block_ends(start: Column, rung: int, ladder: Ladder) -> Column:
    """The ends of the windows that take the block, as an array; it may be empty."""
    spec = ladder.spec
    first, last = block_first_end(start, rung, ladder), _last_end_of_block(start, spec)
    if rung + 1 == len(ladder.rungs):
        return F.sequence(first, last, F.lit(spec.slide))
    above = _block(start, ladder.rungs[rung + 1], spec)
    left = _sequence(first, block_first_end(above, rung + 1, ladder) - spec.slide, spec.slide)
    if spec.period is not None:
        return left  # all windows of a period begin together: there is no other edge
    right = _sequence(_last_end_of_block(above, spec) + spec.slide, last, spec.slide)
    return F.concat(left, right)


def _last_end_of_block(start: Column, spec: WindowSpec) -> Column:
    # A division less for each row, where blocks begin as windows do.
    return start + spec.range if spec.range is not None and _even(spec) else last_end(start, spec)


def _even(spec: WindowSpec) -> bool:
    """Whether windows begin where others end, so that there is one pane a slide."""
    return spec.range is None or spec.range % spec.slide == 0


def _block(t: Column, length: int, spec: WindowSpec) -> Column:
    step = length * spec.slide
    if spec.period is None:
        return _floor(t, step, spec.origin)
    begin = _floor(t, spec.period, spec.origin)
    return t - F.pmod(t - begin, F.lit(step))


def _floor(t: Column, step: int, phase: int) -> Column:
    shift = phase % step
    return t - F.pmod(t - shift if shift else t, F.lit(step))


def _sequence(first: Column, last: Column, step: int) -> Column:
    # Spark's own sequence fails where the last is before the first.
    empty = F.array().cast("array<bigint>")
    return F.when(first <= last, F.sequence(first, last, F.lit(step))).otherwise(empty)
