"""What a user writes: a stream, its window, its keys, its aggregates.

ps.stream(df, event_time="ts").window("60 s", every="5 s").by("host").agg(n=ps.count())
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType

from penstock.engine import sessions, stateful
from penstock.engine.domain import AS_TIME, as_time, time_spec, values_again
from penstock.engine.failures import cause
from penstock.engine.layout import needs_processor, tells_itself
from penstock.engine.lowering import Lowered
from penstock.engine.probe import look
from penstock.engine.progress import watermarked
from penstock.engine.record import forget, recorded, remember
from penstock.engine.run import METRIC, Run
from penstock.engine.schema import (
    check_keys,
    check_rows,
    check_window,
    column,
    has_watermark,
    lower_all,
)
from penstock.engine.step import Step, count_lost, quoted
from penstock.engine.watermark import known_late, late_watermark
from penstock.errors import (
    PenstockError,
    SchemaError,
    SpecificationError,
    UsageError,
    complaint,
)
from penstock.network.progress import Heartbeat, Progress, Punctuation
from penstock.network.query import Query
from penstock.windows import (
    DOMAIN_KINDS,
    Density,
    Evaluation,
    Kind,
    Late,
    SessionSpec,
    WindowSpec,
    choose,
    cumulative,
    format_duration,
    parse_duration,
    spark_aligned,
)
from penstock.windows.amounts import length
from penstock.windows.kinds import ROW_NUM

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.network.aggregates import Aggregate
    from penstock.windows.amounts import DomainUnit
    from penstock.windows.durations import Duration, Instant

_PROGRESS = get_args(Progress)
WATERMARK = "spark.watermarkDelayMs"
BY_PROCESSOR = Evaluation(
    (), "Spark has no operator for it; it keeps partials in state", "processor"
)


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
    """

    rows: DataFrame
    event_time: str | None
    slack: int = 0
    late: Late = "generous"
    progress: Progress | None = None
    order: tuple[str, ...] = ()

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
            return replace(self, rows=self.rows.where(kept))
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


@dataclass(frozen=True)
class Windowed:
    """A stream with a window, and its grouping columns if it has any."""

    stream: Stream
    spec: WindowSpec | SessionSpec
    keys: tuple[str, ...] = ()

    def by(self, *keys: str) -> Windowed:
        """Groups by columns of the stream."""
        check_keys(self.stream.rows, keys)
        return replace(self, keys=keys)

    def agg(self, /, **aggregates: Aggregate) -> WindowQuery:
        """The answers of every window, as result column = aggregate."""
        stream = self.stream
        query = Query(self.spec, self.keys, aggregates, stream.late, stream.progress, stream.order)
        return WindowQuery(stream, query)


@dataclass(frozen=True)
class WindowQuery:
    """A query over a DataFrame, checked and ready to be computed.

    Args:
        stream: the rows.
        query: what is asked of them.
        density: how full the panes are, if known; it decides how the windows are computed.
    """

    stream: Stream
    query: Query
    density: Density | None = None

    def __post_init__(self) -> None:
        check_window(self.stream.rows, self.query)
        if self._by_processor:
            stateful.check(self.stream.rows, self.query)
        else:
            _ = self._lowered  # refuses what does not fit, before anything starts

    @property
    def _by_processor(self) -> bool:
        return needs_processor(self.query)

    @cached_property
    def _lowered(self) -> dict[str, Lowered]:
        return lower_all(self.stream.rows, self.query)

    @cached_property
    def _timed(self) -> tuple[DataFrame, Query]:
        """The rows and the query over times; another attribute has times that stand for it."""
        rows, query = self.stream.rows, self.query
        if query.window.unit != "value":
            return rows, query
        value = F.col(quoted(query.window.rattr))
        return rows.withColumn(AS_TIME, as_time(value)), replace(
            query, window=time_spec(query.window)
        )

    def dataframe(self, checkpoint: str | None = None) -> DataFrame:
        """The windows as a DataFrame, to be used or written like any other.

        Args:
            checkpoint: for a stream, the checkpointLocation that `writeStream` will be given.
        """
        if not self.stream.rows.isStreaming:
            return self._compute(self._data(), self.evaluation, None, None)
        checkpoint = _checked(checkpoint)
        evaluation = remember(checkpoint, self.query, self.evaluation)
        accounts = f"{METRIC}_{uuid4().hex[:8]}"
        if self._by_processor:
            return self._compute(self._watermarked(), evaluation, None, accounts)
        query = self._timed[1]
        late = late_watermark(self.stream.rows.sparkSession, checkpoint, query)
        return self._compute(self._watermarked(), evaluation, late, accounts)

    def _data(self) -> DataFrame:
        """The rows of a batch that are data; a processor parts them from punctuation itself."""
        rows, progress = self._timed[0], self.stream.progress
        if not isinstance(progress, Punctuation) or tells_itself(self.query):
            return rows
        return rows.where(~F.coalesce(F.expr(progress.where), F.expr("false")))

    def _watermarked(self) -> DataFrame:
        rows, query = self._timed
        stream = self.stream
        if stream.own_watermark is not None or tells_itself(query):
            return rows
        if query.window.rattr == ROW_NUM:
            return self._data()
        slack = stream.slack if self.query.window.unit == "time" else stream.slack * 1000
        return watermarked(rows, query.window.rattr, slack, stream.progress)

    def start(
        self,
        checkpoint: str,
        *,
        format: str | None = None,  # noqa: A002 - as in Spark
        path: str | None = None,
        name: str | None = None,
        trigger: dict[str, Any] | None = None,
        foreach_batch: Callable[[DataFrame, int], None] | None = None,
        **options: str,
    ) -> Run:
        """Starts the stream, after a look at its first batch.

        Args:
            checkpoint: the checkpointLocation, on any file system.
            format: the sink, such as "parquet", "kafka", "console" or "memory".
            path: where the sink writes, if it is one of files.
            name: of the stream; the table of the memory sink.
            trigger: as for Spark's `trigger`, such as {"processingTime": "1 second"}.
            foreach_batch: a sink of your own, given each batch of results and its number.
            options: of the sink.
        """
        rows = self.stream.rows
        if not rows.isStreaming:
            hint = "use dataframe() for a batch"
            raise UsageError(complaint("start()", "needs a streaming DataFrame", "a batch", hint))
        if (format is None) == (foreach_batch is None):
            given = {"format": format, "foreach_batch": foreach_batch}
            raise UsageError(complaint("start()", "needs either format or foreach_batch", given))
        checkpoint = _checked(checkpoint)
        if "checkpointlocation" in (option.lower() for option in options):
            rule = "must not be among the options of the sink too"
            raise UsageError(complaint("checkpoint", rule, options))
        query, new = self, recorded(checkpoint) is None
        if self.density is None and new and self._is_planned:
            query = replace(self, density=look(*self._timed))
        try:
            writer = query.dataframe(checkpoint).writeStream.outputMode("append")
            writer = writer.option("checkpointLocation", checkpoint).options(**options)
            writer = writer.queryName(name) if name is not None else writer
            writer = writer.trigger(**trigger) if trigger is not None else writer
            sink = writer.foreachBatch(foreach_batch) if foreach_batch else None
            handle = (sink or writer.format(str(format))).start(path)
        except (PySparkException, Py4JError, ValueError, TypeError) as error:
            if isinstance(error, PenstockError):
                raise
            if new:
                forget(checkpoint)
            raise UsageError(f"the stream cannot start: {cause(str(error))}") from error
        return Run(handle, name or str(self.query.window), query.explain(checkpoint))

    @property
    def _is_planned(self) -> bool:
        """Whether there are several ways to compute the windows."""
        return self.query.window.kind is not Kind.SESSION and not self._by_processor

    @cached_property
    def evaluation(self) -> Evaluation:
        """How the windows are computed, and why."""
        if self._by_processor:
            return BY_PROCESSOR
        if self.query.window.kind is Kind.SESSION:
            return Evaluation((), "it has an operator for sessions", "Spark")
        whole = [name for name, low in self._lowered.items() if low.merge is None]
        if whole:
            reason = f"{', '.join(whole)} cannot be merged from panes without rounding twice"
            return Evaluation((), reason)
        return choose(self._timed[1].spec, self.density)

    @property
    def accounts(self) -> dict[str, int]:
        """Rows of a batch that count in no window; they are counted anew each time."""
        if self.stream.rows.isStreaming:
            message = "accounts() of a query need a batch; those of a stream are in its Run"
            raise UsageError(message)
        if self.query.window.kind not in DOMAIN_KINDS:
            rule = "need windows with RANGE and SLIDE on one attribute"
            raise UsageError(complaint("accounts of a batch", rule, str(self.query.window)))
        return count_lost(*self._timed)

    def explain(self, checkpoint: str | None = None) -> str:
        """What the query asks, how it is computed and why.

        Args:
            checkpoint: of a stream that has run; it goes on in the way in which it began.
        """
        evaluation = (recorded(checkpoint) if checkpoint else None) or self.evaluation
        lines = self.query.describe()
        lines.append(f"computed  {evaluation.name}: {evaluation.reason}")
        own = self.stream.own_watermark
        slack = self.stream.slack if own is None else own
        told = format_duration(slack) if self.stream.unit == "time" else str(slack)
        told = f"slack {told}" if self.stream.progress is None else str(self.stream.progress)
        lines.append(
            f"late      {self.query.late}, {told}"
            if self.stream.rows.isStreaming
            else "late      no row is late in a batch"
        )
        if self.query.counts_rows:
            lines.append(f"arrival   batch by batch, in each by {', '.join(self.query.order)}")
        return "\n".join(lines)

    def _compute(
        self,
        rows: DataFrame,
        evaluation: Evaluation,
        late: Column | None,
        accounts: str | None,
    ) -> DataFrame:
        if self._by_processor:
            return stateful.windows(rows, self.query, accounts)
        query = self._timed[1]
        if query.window.kind is Kind.SESSION:
            windows = sessions.windows(rows, query, self._lowered, known_late(late), accounts)
        else:
            promised = query.progress is not None
            step = Step(query, self._lowered, evaluation, late, accounts, promised)
            windows = step.windows(rows)
        return windows if self.query.window.unit == "time" else values_again(windows)


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


def _checked(checkpoint: object) -> str:
    if not isinstance(checkpoint, (str, os.PathLike)) or not os.fspath(checkpoint):
        hint = "the watermark of each batch is read there"
        rule = "must be the checkpointLocation of the stream"
        raise UsageError(complaint("checkpoint", rule, checkpoint, hint))
    return str(os.fspath(checkpoint))
