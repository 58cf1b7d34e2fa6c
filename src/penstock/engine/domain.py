"""What windows are over, as Spark's watermark has it: a time, whatever the attribute is.

A whole number v of an attribute that is no time is the time `_ZERO + v` milliseconds: Spark's
watermark goes by milliseconds, and begins at the epoch, before which everything would be late.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.engine.step import quoted
from penstock.network.progress import Punctuation
from penstock.network.query import Query
from penstock.windows import SessionSpec, WindowSpec

AS_TIME = "penstock_as_time"
_STEP = 1000
"""Microseconds for one step of an attribute that is no time."""
_ZERO = 500_000_000_000_000_000
"""Where its 0 is, in µs since the epoch: in the year 17814, far from both ends of Spark's times."""
_FARTHEST = _ZERO // _STEP


def at_of(spec: WindowSpec | SessionSpec) -> Column:
    """The attribute as a whole number, in the unit of the window."""
    attribute = F.col(quoted(spec.rattr))
    return F.unix_micros(attribute) if spec.unit == "time" else attribute.cast("bigint")


def promise_of(query: Query) -> Column:
    """What a row promises, in the unit of the window; null for rows that are data."""
    assert isinstance(query.progress, Punctuation)  # noqa: S101 - the caller has looked
    up_to = F.expr(query.progress.up_to)
    value = F.unix_micros(up_to) if query.window.unit == "time" else up_to.cast("bigint")
    return F.when(F.expr(query.progress.where), value)


def as_time(value: Column) -> Column:
    """A value of an attribute that is no time, as the time that stands for it."""
    far = F.raise_error(F.lit(f"a value of the window's attribute is beyond {_FARTHEST}"))
    micros = F.when(F.abs(value) >= _FARTHEST, far.cast("bigint")).otherwise(
        value.cast("bigint") * _STEP + _ZERO
    )
    return F.timestamp_micros(micros)


def time_spec(spec: WindowSpec | SessionSpec) -> WindowSpec | SessionSpec:
    """The window over the times that stand for values."""
    if isinstance(spec, SessionSpec):
        return SessionSpec(spec.gap * _STEP, AS_TIME)

    def point(x: int) -> int:
        return x * _STEP + _ZERO

    def length(x: int | None) -> int | None:
        return None if x is None else x * _STEP

    return replace(
        spec,
        range=length(spec.range),
        slide=spec.slide * _STEP,
        period=length(spec.period),
        origin=point(spec.origin),
        start=None if spec.start is None else point(spec.start),
        rattr=AS_TIME,
        sattr=AS_TIME,
        unit="time",
    )


def values_again(windows: DataFrame) -> DataFrame:
    """Windows over times that stand for values, with the values as their bounds."""
    bounds = {
        name: F.expr(f"(unix_micros({name}) - {_ZERO}) div {_STEP}")
        for name in ("window_start", "window_end")
    }
    return windows.withColumns(bounds)


def from_watermark(milliseconds: int, spec: WindowSpec | SessionSpec) -> int:
    """Spark's watermark in the unit of the window."""
    micros = milliseconds * 1000
    return micros if spec.unit == "time" else (micros - _ZERO) // _STEP
