"""What a user writes: a stream, its window, its keys, its aggregates.

ps.stream(df, event_time="ts").window("60 s", every="5 s").by("host").agg(n=ps.count())
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, get_args

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType

from penstock.engine.failures import cause
from penstock.engine.schema import check_rows, column, has_watermark
from penstock.engine.window_query import Windowed
from penstock.errors import SchemaError, SpecificationError, UsageError, complaint
from penstock.network.progress import Heartbeat, Progress, Punctuation
from penstock.windows import (
    Late,
    SessionSpec,
    WindowSpec,
    cumulative,
    parse_duration,
    spark_aligned,
)
from penstock.windows.amounts import length
from penstock.windows.kinds import ROW_NUM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.windows.amounts import DomainUnit
    from penstock.windows.durations import Duration, Instant

_PROGRESS = get_args(Progress)
WATERMARK = "spark.watermarkDelayMs"


@dataclass(frozen=True)
class Stream:
    """Rows with an event time: a DataFrame, batch or stream.

    Args:
        rows: the DataFrame.
        event_time: its column that windows are over: of type timestamp, or a whole number; None if
            all windows count rows.
        slack: how far the watermark stays behind the newest row, in microseconds, or in steps of a
            whole number.
        late: "generous" counts a late row in those of its windows that are open, as Spark does;
            "consistent" counts it only if all of its windows are open.
        progress: how the stream says how far it is, if not by a slack.
        order: the columns that say in which order the rows of a batch arrive.
        filters: the predicates that `rows` have been filtered by.
    """

    rows: DataFrame
    event_time: str | None
    slack: int = 0
    late: Late = "generous"
    progress: Progress | None = None
    order: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()

    @cached_property
    def own_watermark(self) -> int | None:
        """How far the watermark that the rows bring along stays behind, in microseconds."""
        if self.event_time is None:
            return None
        noted = column(self.rows, "event_time", self.event_time).metadata.get(WATERMARK)
        if noted is None or not has_watermark(self.rows):
            return None
        return int(noted) * 1000

    @property
    def unit(self) -> DomainUnit:
        """What the event time is measured in."""
        if self.event_time is None:
            return "time"
        of = column(self.rows, "event_time", self.event_time).dataType
        return "value" if isinstance(of, IntegralType) else "time"

    def where(self, predicate: str | Column) -> Stream:
        """The rows for which a predicate holds, and all punctuation."""
        kept = F.expr(predicate) if isinstance(predicate, str) else predicate
        if isinstance(self.progress, Punctuation):
            kept = kept | F.expr(self.progress.where)
        try:
            filters = (*self.filters, str(predicate))
            return replace(self, rows=self.rows.where(kept), filters=filters)
        except PySparkException as error:
            rule = "must be a predicate over the stream's columns"
            raise SchemaError(complaint("where()", rule, cause(str(error)))) from error

    def window(
        self,
        range: Duration | WindowSpec | SessionSpec,
        every: Duration | None = None,
        *,
        origin: Instant = 0,
    ) -> Windowed:
        """Sliding windows, or tumbling ones without `every`; they begin where Spark's do.

        Args:
            range: length of a window, such as "60 seconds"; or a window of any other kind, such as
                `ps.rows(1000, 10)`.
            every: from the start of one window to the start of the next, such as "5 seconds".
            origin: a window starts here, and every `every` before and after; since the epoch.
        """
        if isinstance(range, WindowSpec | SessionSpec):
            if every is not None or origin != 0:
                rule = "must be part of the window that is given"
                raise SpecificationError(complaint("every and origin", rule, (every, origin)))
            if range.rattr != ROW_NUM and range.rattr.lower() != (self.event_time or "").lower():
                rule = f"must be over the event time of the stream, {self.event_time}"
                raise SpecificationError(complaint("window", rule, str(range)))
            return Windowed(self, range)
        slide = range if every is None else every
        on = self._time("window()")
        spec = spark_aligned(range, slide, on=on, origin=origin, unit=self.unit)
        return Windowed(self, spec)

    def cumulative(self, period: Duration, every: Duration, *, origin: Instant = 0) -> Windowed:
        """Windows from the start of each period to now, such as since midnight, every minute.

        Args:
            period: after which windows start afresh, such as "1 day".
            every: from the end of one window to the end of the next; it divides the period.
            origin: a period starts here; since the epoch.
        """
        on = self._time("cumulative()")
        return Windowed(self, cumulative(period, every, on=on, origin=origin, unit=self.unit))

    def _time(self, what: str) -> str:
        if self.event_time is None:
            hint = "name it: ps.stream(df, event_time=…)"
            raise UsageError(complaint(what, "needs a stream with an event time", None, hint))
        return self.event_time


def stream(
    rows: DataFrame,
    event_time: str | None = None,
    slack: Duration = 0,
    late: Late = "generous",
    *,
    progress: Progress | None = None,
    order: str | Sequence[str] | None = None,
) -> Stream:
    """The rows of a DataFrame, batch or stream, as a stream with an event time.

    Args:
        rows: the DataFrame.
        event_time: its column that windows are over: of type timestamp, or any whole number that
            rows are ordered by; not needed for windows that count rows.
        slack: how late rows may come, such as "2 seconds" (whole milliseconds), or a plain number
            where the event time is one.
        late: what becomes of later ones: "generous" counts them in the windows that are still
            open, as Spark does; "consistent" only if all of their windows are open.
        progress: how the stream says how far it is, in place of a slack: `ps.punctuation`,
            `ps.ordered_by`, `ps.row_slack` or `ps.heartbeat`.
        order: the column or columns by which rows are numbered, where a window counts rows; the
            event time if none is given. Each batch goes on where the one before it ended.
    """
    check_rows(rows, event_time)
    listed = (order,) if isinstance(order, str) else tuple(order or ())
    for name in listed:
        column(rows, "order", name)
    if not listed and event_time is not None:
        listed = (event_time,)
    return _with_progress(Stream(rows, event_time, 0, late, progress, listed), slack)


def _with_progress(stream: Stream, slack: Duration) -> Stream:
    """The stream with its slack, if it fits the rest."""
    if stream.progress is not None:
        if not isinstance(stream.progress, _PROGRESS):
            hint = "such as ps.punctuation(where=…, up_to=…)"
            rule = "must be one of penstock's ways to tell how far a stream is"
            raise SpecificationError(complaint("progress", rule, stream.progress, hint))
        if slack:
            rule = "must be 0 where progress is given: one of them says how far the stream is"
            raise SpecificationError(complaint("slack", rule, slack))
        if stream.own_watermark is not None:
            rule = "must be None for rows that bring a watermark"
            raise SpecificationError(complaint("progress", rule, str(stream.progress)))
        if isinstance(stream.progress, Heartbeat) and stream.unit != "time":
            rule = "must be a timestamp where a heartbeat says how far the stream is"
            raise SpecificationError(complaint("event_time", rule, stream.event_time))
        return stream
    if stream.unit == "value":
        return replace(stream, slack=length(slack, "slack", "value"))
    micros = parse_duration(slack, "slack")
    if micros % 1000:
        rule = "must be whole milliseconds"
        raise SpecificationError(complaint("slack", rule, slack, "Spark's watermark has no finer"))
    return replace(stream, slack=micros)
