"""The same packets once more, as a batch, with Spark's own window(): the answers must be the same.

In a stream a packet can come too late for a window. Which windows were closed when it came follows
from the packets alone, so nothing is left out of the comparison:

    W(n)   the newest ts of the batches before n, in whole milliseconds, less SLACK
    L(n)   = W(n - 1); a packet of batch n counts in the windows that end after L(n)
    batches 0 to n deliver the windows that end at or before W(n)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.cli.demo.packets import BATCH, SECOND, SLACK, Packets
from penstock.cli.demo.stream import RANGE, SLIDE, Answer, answers

MILLISECOND = 1_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a run delivered, beside what a batch of the same rows gives.

    Args:
        compared: windows of either.
        different: those that are missing in one of them, or not equal.
        accounts: those of the stream, if the batch has others.
    """

    compared: int
    different: int
    accounts: dict[str, int] | None = None

    @property
    def identical(self) -> bool:
        """Whether there is no difference at all."""
        return not self.different and self.accounts is None

    def __str__(self) -> str:
        line = f"{self.compared:,} windows compared with the same rows computed as a batch: "
        if self.identical:
            return line + "identical"
        return line + f"{self.different:,} differ" + (", and the accounts" if self.accounts else "")


def compare(
    spark: SparkSession,
    packets: Packets,
    batches: int,
    delivered: list[Answer],
    accounts: dict[str, int],
) -> Comparison:
    """Computes the windows of the first batches anew, and compares.

    Args:
        spark: a session.
        packets: what the stream was fed with.
        batches: how many batches of it are done.
        delivered: the answers of these batches.
        accounts: what these batches reported.
    """
    made = packets.batch(spark, batches).cache()
    marks = watermarks(_newest(made, batches))
    late = F.get(F.array(*(F.lit(mark) for mark in [0, *marks])), F.col(BATCH))
    rows = made.select("*", F.unix_micros("ts").alias("micros"), late.alias("late"))
    expected = answers(_windows(rows, until=marks[batches - 1]))
    theirs = _accounts(rows)
    made.unpersist()
    # A window that was delivered twice is a difference too.
    apart = set(expected) ^ set(delivered)
    keys = {answer[:3] for answer in apart}
    twice = len(delivered) - len(set(delivered))
    compared = len({answer[:3] for answer in [*expected, *delivered]})
    return Comparison(compared, len(keys) + twice, None if theirs == accounts else accounts)


def watermarks(newest: list[int]) -> list[int]:
    """W(0), W(1), ... from the newest ts of every batch, in microseconds since the epoch.

    Args:
        newest: of batch 0, 1, ...

    >>> watermarks([10_000_999, 9_000_000, 12_000_000])
    [0, 8000000, 8000000, 10000000]
    """
    marks = (t // MILLISECOND * MILLISECOND - SLACK for t in accumulate(newest, max))
    return [0, *marks]


def _newest(rows: DataFrame, batches: int) -> list[int]:
    newest = rows.groupBy(BATCH).agg(F.unix_micros(F.max("ts")))
    found = {row[0]: row[1] for row in newest.collect()}
    return [found[batch] for batch in range(batches)]


def _windows(rows: DataFrame, until: int) -> DataFrame:
    window = F.window("ts", f"{RANGE // SECOND} seconds", f"{SLIDE // SECOND} seconds")
    end = F.unix_micros("window.end")
    return (
        rows.select("late", "host", "size", window.alias("window"))
        .where((end > F.col("late")) & (end <= until))
        .groupBy("window", "host")
        .agg(
            F.count("*").alias("packets"),
            F.sum("size").alias("bytes"),
            F.avg("size").alias("mean"),
            F.max("size").alias("largest"),
        )
        .select(
            "*",
            F.col("window.start").alias("window_start"),
            F.col("window.end").alias("window_end"),
        )
    )


def _accounts(rows: DataFrame) -> dict[str, int]:
    pane = F.expr(f"micros div {SLIDE} * {SLIDE}")
    first, last = pane + SLIDE, pane + RANGE
    late = F.col("late")

    def counted(which: Column) -> Column:
        return F.count(F.when(which, 1))

    found = rows.agg(
        counted(F.col("ts").isNull()).alias("no_time"),
        F.lit(0).alias("in_no_window"),
        F.lit(0).alias("broken"),
        counted(last <= late).alias("late_lost"),
        counted((first <= late) & (last > late)).alias("late_partial"),
    ).first()
    assert found is not None  # noqa: S101 - a total has one row
    return found.asDict()
