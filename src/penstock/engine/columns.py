"""The window formulas of `penstock.windows`, as Spark columns over microseconds since the epoch."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from penstock.windows import Ladder, WindowSpec

WATERMARK = "spark.watermarkDelayMs"
EVENT_TIME = {WATERMARK: 0}
"""Spark evicts state by a column with this metadata, so any computed time can be a window-id."""
BITS = 62
"""Conditions in one number; where there are more, there are several numbers (`bits`)."""


def window_time() -> Column:
    """The event time of an answer: the last microsecond of its window."""
    return F.timestamp_micros(F.unix_micros("window_end") - 1)


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
    return [pane, *(_block(t, F.lit(n * spec.slide), ladder) for n in ladder.rungs[1:])]


def pane_first_end(start: Column, spec: WindowSpec) -> Column:
    """The end of the first window that contains the pane."""
    return start + spec.slide if _even(spec) else first_end(start, spec)


def block_first_end(start: Column, rung: Column, ladder: Ladder) -> Column:
    """The end of the first window that contains the block."""
    return _taking(start, rung, ladder)[0][0]


def pane_ends(start: Column, spec: WindowSpec) -> Column:
    """The ends of the windows that contain the pane, as an array."""
    first, last = pane_first_end(start, spec), _last_end_of_block(start, spec)
    return F.sequence(first, last, F.lit(spec.slide))


def block_due(start: Column, rung: Column, ladder: Ladder) -> Column:
    """The end of the first window that takes the block; null if none does."""
    (left, left_last), (right, right_last) = _taking(start, rung, ladder)
    return F.when(left <= left_last, left).when(right <= right_last, right)


def block_ends(start: Column, rung: Column, ladder: Ladder) -> Column:
    """The ends of the windows that take the block, as an array; it may be empty."""
    parts = _taking(start, rung, ladder)
    return F.concat(*(_sequence(first, last, ladder.spec.slide) for first, last in parts))


def _taking(
    start: Column, rung: Column, ladder: Ladder
) -> tuple[tuple[Column, Column], tuple[Column, Column]]:
    """First and last end of the windows in which the block is at the right edge, and at the left.

    Between them are those that contain the block above, and take that one.
    """
    spec, top = ladder.spec, rung == len(ladder.rungs) - 1
    lengths = F.array(*(F.lit(length * spec.slide) for length in (*ladder.rungs, ladder.rungs[-1])))
    first, last = start + lengths[rung], _last_end_of_block(start, spec)
    above = _block(start, lengths[rung + 1], ladder)
    above_first, above_last = above + lengths[rung + 1], _last_end_of_block(above, spec)
    if spec.period is not None:
        first, above_first = F.least(first, last), F.least(above_first, last)
    if not _even(spec):
        first = F.when(rung == 0, first_end(start, spec)).otherwise(first)
    left = first, F.when(top, last).otherwise(above_first - spec.slide)
    if spec.period is not None:
        return left, (F.lit(None).cast("bigint"), last)  # all begin together: no other edge
    return left, (F.when(~top, above_last + spec.slide), last)


def _last_end_of_block(start: Column, spec: WindowSpec) -> Column:
    # A division less for each row, where blocks begin as windows do.
    return start + spec.range if spec.range is not None and _even(spec) else last_end(start, spec)


def _even(spec: WindowSpec) -> bool:
    """Whether windows begin where others end, so that there is one pane a slide."""
    return spec.range is None or spec.range % spec.slide == 0


def _block(t: Column, length: Column, ladder: Ladder) -> Column:
    spec = ladder.spec
    if spec.period is not None:
        return t - F.pmod(t - _floor(t, spec.period, spec.origin), length)
    shift = spec.origin % (ladder.rungs[-1] * spec.slide)  # of which every length is a part
    return t - F.pmod(t - shift if shift else t, length)


def _floor(t: Column, step: int, phase: int) -> Column:
    shift = phase % step
    return t - F.pmod(t - shift if shift else t, F.lit(step))


def _sequence(first: Column, last: Column, step: int) -> Column:
    # Spark's own sequence fails where the last is before the first.
    empty = F.array().cast("array<bigint>")
    return F.when(first <= last, F.sequence(first, last, F.lit(step))).otherwise(empty)


def bits(conditions: Iterable[tuple[int, Column]]) -> Column:
    """A number with a bit for each condition that holds.

    Sums of choices would be ten times the code: Spark checks each for an overflow.

    Args:
        conditions: number of the bit, and condition.
    """
    known = ((bit, F.coalesce(holds, F.lit(False))) for bit, holds in conditions)
    each = (F.shiftleft(holds.cast("bigint"), bit) for bit, holds in known)
    return reduce(Column.bitwiseOR, each, F.lit(0).cast("bigint"))
