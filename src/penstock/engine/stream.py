"""What a user writes: a stream, its window, its keys, its aggregates.

ps.stream(df, event_time="ts").window("60 s", every="5 s").by("host").agg(n=ps.count())
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.engine import udaf
from penstock.engine.failures import cause
from penstock.engine.lowering import Lowered
from penstock.engine.probe import look
from penstock.engine.record import forget, recorded, remember
from penstock.engine.run import METRIC, Run
from penstock.engine.schema import check_keys, check_rows, column, has_watermark, lower_all
from penstock.engine.step import Step, count_lost, quoted
from penstock.engine.watermark import known_late, late_watermark
from penstock.errors import PenstockError, SpecificationError, UsageError, complaint
from penstock.network.query import Query
from penstock.windows import (
    Density,
    Evaluation,
    Late,
    WindowSpec,
    choose,
    cumulative,
    format_duration,
    parse_duration,
    spark_aligned,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.network.aggregates import Aggregate
    from penstock.windows.durations import Duration, Instant

WATERMARK = "spark.watermarkDelayMs"


@dataclass(frozen=True)
class Stream:
    """Rows with an event time: a DataFrame, batch or stream.

    Args:
        rows: the DataFrame.
        event_time: its column of type timestamp that windows are over.
        slack: how far the watermark stays behind the newest row, in microseconds.
        late: "generous" counts a late row in those of its windows that are open, as Spark does;
            "consistent" counts it only if all of its windows are open.
    """

    rows: DataFrame
    event_time: str
    slack: int = 0
    late: Late = "generous"

    @cached_property
    def own_watermark(self) -> int | None:
        """How far the watermark that the rows bring along stays behind, in microseconds."""
        noted = column(self.rows, "event_time", self.event_time).metadata.get(WATERMARK)
        if noted is None or not has_watermark(self.rows):
            return None
        return int(noted) * 1000

    def window(
        self, range: Duration, every: Duration | None = None, *, origin: Instant = 0
    ) -> Windowed:
        """Sliding windows, or tumbling ones without `every`; they begin where Spark's do.

        Args:
            range: length of a window, such as "60 seconds".
            every: from the start of one window to the start of the next, such as "5 seconds".
            origin: a window starts here, and every `every` before and after; since the epoch.
        """
        slide = range if every is None else every
        return Windowed(self, spark_aligned(range, slide, on=self.event_time, origin=origin))

    def cumulative(self, period: Duration, every: Duration, *, origin: Instant = 0) -> Windowed:
        """Windows from the start of each period to now, such as since midnight, every minute.

        Args:
            period: after which windows start afresh, such as "1 day".
            every: from the end of one window to the end of the next; it divides the period.
            origin: a period starts here; since the epoch.
        """
        return Windowed(self, cumulative(period, every, on=self.event_time, origin=origin))


@dataclass(frozen=True)
class Windowed:
    """A stream with a window, and its grouping columns if it has any."""

    stream: Stream
    spec: WindowSpec
    keys: tuple[str, ...] = ()

    def by(self, *keys: str) -> Windowed:
        """Groups by columns of the stream."""
        check_keys(self.stream.rows, keys)
        return replace(self, keys=keys)

    def agg(self, **aggregates: Aggregate) -> WindowQuery:
        """The answers of every window, as result column = aggregate."""
        query = Query(self.spec, self.keys, aggregates, self.stream.late)
        return WindowQuery(self.stream, query)


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
        if self.query.user_defined:
            udaf.check(self.stream.rows, self.query)
        else:
            _ = self._lowered  # refuses what does not fit, before anything starts

    @cached_property
    def _lowered(self) -> dict[str, Lowered]:
        return lower_all(self.stream.rows, self.query)

    def dataframe(self, checkpoint: str | None = None) -> DataFrame:
        """The windows as a DataFrame, to be used or written like any other.

        Args:
            checkpoint: for a stream, the checkpointLocation that `writeStream` will be given.
        """
        rows = self.stream.rows
        if not rows.isStreaming:
            return self._compute(rows, self.evaluation, None, None)
        checkpoint = _checked(checkpoint)
        evaluation = remember(checkpoint, self.query, self.evaluation)
        if self.stream.own_watermark is None:
            # A note of an older watermark, as files keep it, must not be taken for one.
            name = self.stream.event_time
            rows = rows.withColumn(name, F.col(quoted(name)).alias(name, metadata={}))
            rows = rows.withWatermark(quoted(name), f"{self.stream.slack // 1000} milliseconds")
        late = late_watermark(rows.sparkSession, checkpoint, self.query)
        return self._compute(rows, evaluation, late, f"{METRIC}_{uuid4().hex[:8]}")

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
        if self.density is None and new and not self.query.user_defined:
            query = replace(self, density=look(rows, self.query))
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

    @cached_property
    def evaluation(self) -> Evaluation:
        """How the windows are computed, and why."""
        if self.query.user_defined:
            return Evaluation((1,), "an aggregate is written in Python, which keeps panes by key")
        whole = [name for name, low in self._lowered.items() if low.merge is None]
        if whole:
            reason = f"{', '.join(whole)} cannot be merged from panes without rounding twice"
            return Evaluation((), reason)
        return choose(self.query.window, self.density)

    @property
    def accounts(self) -> dict[str, int]:
        """Rows of a batch that count in no window; they are counted anew each time."""
        if self.stream.rows.isStreaming:
            message = "accounts() of a query need a batch; those of a stream are in its Run"
            raise UsageError(message)
        return count_lost(self.stream.rows, self.query)

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
        lines.append(
            f"late      {self.query.late}, slack {format_duration(slack)}"
            if self.stream.rows.isStreaming
            else "late      no row is late in a batch"
        )
        return "\n".join(lines)

    def _compute(
        self,
        rows: DataFrame,
        evaluation: Evaluation,
        late: Column | None,
        accounts: str | None,
    ) -> DataFrame:
        if self.query.user_defined:
            return udaf.windows(rows, self.query, known_late(late), accounts)
        return Step(self.query, self._lowered, evaluation, late, accounts).windows(rows)


def stream(
    rows: DataFrame, event_time: str, slack: Duration = 0, late: Late = "generous"
) -> Stream:
    """The rows of a DataFrame, batch or stream, as a stream with an event time.

    Args:
        rows: the DataFrame.
        event_time: its column of type timestamp that windows are over.
        slack: how late rows may come, such as "2 seconds" (whole milliseconds).
        late: what becomes of later ones: "generous" counts them in the windows that are still
            open, as Spark does; "consistent" only if all of their windows are open.
    """
    check_rows(rows, event_time)
    micros = parse_duration(slack, "slack")
    if micros % 1000:
        rule = "must be whole milliseconds"
        raise SpecificationError(complaint("slack", rule, slack, "Spark's watermark has no finer"))
    return Stream(rows, event_time, micros, late)


def _checked(checkpoint: object) -> str:
    if not isinstance(checkpoint, (str, os.PathLike)) or not os.fspath(checkpoint):
        hint = "the watermark of each batch is read there"
        rule = "must be the checkpointLocation of the stream"
        raise UsageError(complaint("checkpoint", rule, checkpoint, hint))
    return str(os.fspath(checkpoint))
