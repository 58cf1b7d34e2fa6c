"""The watermark of a stream: by a slack behind its newest row, by punctuation, or by the clock.

Spark takes the newest value of a column for the watermark. That column may be another one than the
event time: here it is null, but for the rows that say how far the stream is.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.engine.domain import AS_TIME, as_time
from penstock.engine.step import quoted
from penstock.network.progress import Heartbeat, Progress, Punctuation
from penstock.windows.durations import SECOND

MARK = "penstock_watermark"


def watermarked(
    rows: DataFrame, event_time: str, slack: int, progress: Progress | None
) -> DataFrame:
    """A stream with its watermark, and without the rows that are there for it only.

    Args:
        rows: a stream without a watermark.
        event_time: its column of type timestamp, or the one that stands for a whole number.
        slack: how far the watermark stays behind the newest row, in microseconds.
        progress: what says how far the stream is, if not its newest row.
    """
    match progress:
        case None:
            # A note of an older watermark, as files keep it, must not be taken for one.
            time = F.col(quoted(event_time)).alias(event_time, metadata={})
            rows = rows.withColumn(event_time, time)
            return rows.withWatermark(quoted(event_time), f"{slack // 1000} milliseconds")
        case Punctuation():
            marked = rows.withColumn(MARK, promise(progress, as_value=event_time == AS_TIME))
        case Heartbeat():
            none = rows.withColumn(MARK, F.lit(None).cast("timestamp"))
            marked = none.unionByName(_beats(rows, progress), allowMissingColumns=True)
        case _:
            return rows
    # The filter must name the column of the watermark, or Spark runs it first, and stands still.
    return marked.withWatermark(MARK, "0 seconds").where(F.col(MARK).isNull()).drop(MARK)


def without_punctuation(rows: DataFrame, progress: Progress | None) -> DataFrame:
    """The rows that are data."""
    if not isinstance(progress, Punctuation):
        return rows
    return rows.where(~F.coalesce(F.expr(progress.where), F.lit(False)))


def promise(progress: Punctuation, *, as_value: bool) -> Column:
    """What a row promises as a time; null for rows that are data."""
    up_to = F.expr(progress.up_to)
    return F.when(F.expr(progress.where), as_time(up_to) if as_value else up_to.cast("timestamp"))


def _beats(rows: DataFrame, progress: Heartbeat) -> DataFrame:
    ticks = rows.sparkSession.readStream.format("rate").option("rowsPerSecond", 1).load()
    every = progress.every // SECOND
    passed = F.timestamp_micros(F.unix_micros("timestamp") - progress.delay)
    return ticks.where(f"value % {every} = 0").select(passed.alias(MARK))
