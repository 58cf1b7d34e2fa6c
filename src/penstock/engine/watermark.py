"""The watermark of the running batch, as a value that any expression of the stream can use.

Spark writes `offsets/N` in the checkpoint before it runs batch N, and the watermark is in it. A
subquery of one row reads it, once a batch and not for each row; a replayed batch reads what it read
the first time. The value is L(N - 1), by which Spark tells late rows in batch N.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypedDict

from pyspark import TaskContext
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from penstock.engine.files import Folder
from penstock.engine.orders import (
    Asking,
    read_orders,
    rest_of,
    top_fields,
    top_row,
    type_with,
)
from penstock.errors import UsageError
from penstock.network.query import Query
from penstock.windows import SessionSpec, late_before, lost_before

_TYPE = "struct<late: bigint, late_before: bigint, lost_before: bigint, problem: string>"
_ALL = (1 << 63) - 1

Places = tuple[int, int, int]
"""How many streams there are, how many folds, and how many aggregates and one."""


class Told(TypedDict):
    """What the running batch is told besides, as `late_watermark` explains it."""

    asking: Asking
    sampled: Sequence[int]
    timed: Sequence[int]
    more: Sequence[str]


def late_watermark(
    spark: SparkSession,
    checkpoint: str,
    query: Query,
    places: Places | None = None,
    *,
    asking: Asking = (),
    sampled: Sequence[int] = (),
    timed: Sequence[int] = (),
    more: Sequence[str] = (),
) -> Column:
    """What the running batch N has to know of L(N - 1), in microseconds since the epoch.

    Rows below `late_before` have a window that is closed, rows below `lost_before` count nowhere:
    a comparison for each row is all that lateness costs. Where the checkpoint is not that of the
    stream, all rows are below `lost_before`, and `problem` says why they must not be counted.

    Args:
        spark: the session of the stream.
        checkpoint: the stream's checkpointLocation.
        query: whose windows are meant.
        places: how many streams, folds and aggregates there are to drop at; None where nothing is
            ever dropped. With them, `orders` has what the batch is told (`engine.orders`), `drops`
            whether a row need look at that at all, and `early` whether before the watermark.
        asking: of each stream, who asks what of its rows before the watermark.
        sampled: the numbers of the folds, from 0 on, whose rows are dropped at random.
        timed: the numbers of the folds that look up which rows stay by their time.
        more: what `orders` shall have besides, of `engine.orders.MORE`.
    """
    spec, generous = query.window, query.late == "generous"

    def read_mark() -> tuple[int, int, int, str | None]:
        try:
            check_owner(checkpoint)
            late = read_late_watermark(checkpoint)
        except UsageError as error:
            return 0, _ALL, _ALL, str(error)  # what is raised here, Spark would not pass on
        if isinstance(spec, SessionSpec):
            return late, late, late, None  # Spark itself knows which sessions are over
        partial = late_before(late, spec)
        return late, partial, lost_before(late, spec) if generous else partial, None

    def read(_: int) -> tuple[object, ...]:
        mark = read_mark()
        if places is None:
            return mark
        if mark[-1] is not None:
            return *mark, False, False, *none, None
        orders = read_orders(checkpoint, running_batch(checkpoint), *places)
        top_of_it = top_row(orders, asking, sampled, timed)
        return *mark, orders.drops, orders.early, *top_of_it, rest_of(orders, more)

    of, none = _TYPE, list[None]()
    if places is not None:
        top = top_fields(asking, sampled, timed)
        none = [None] * len(top)
        told = f"drops: boolean, early: boolean, {', '.join(top)}, orders: {type_with(more)}"
        of = f"{_TYPE[:-1]}, {told}>"
    # Not deterministic, or Spark would compute it once for the whole life of the stream.
    read_once = F.udf(read, of, useArrow=False).asNondeterministic()
    return spark.range(1, numPartitions=1).select(read_once("id")).scalar()


def known_late(mark: Column) -> Column:
    """L alone; a checkpoint that is not the stream's ends the stream here.

    Args:
        mark: from `late_watermark`.
    """
    wrong = F.raise_error(mark["problem"]).cast("bigint")
    return F.when(mark["problem"].isNull(), mark["late"]).otherwise(wrong)


def check_owner(checkpoint: str) -> None:
    """Refuses a checkpoint that is another stream's than the one whose task this is."""
    task = TaskContext.get()
    running = task.getLocalProperty("sql.streaming.queryId") if task is not None else None
    folder = Folder(checkpoint, ".")
    if running is None:
        return
    owner = json.loads(folder.read("metadata"))["id"] if "metadata" in folder.names() else None
    if owner != running:
        raise UsageError(_not_ours(checkpoint, "belongs to another stream"))


def read_late_watermark(checkpoint: str) -> int:
    """The watermark in the last but one entry of the offset log; the epoch before there is one."""
    log = Folder(checkpoint, "offsets")
    before = running_batch(checkpoint) - 1
    if str(before) not in log.names():
        return 0
    return watermark_in(log.read(str(before)))


def watermark_of(checkpoint: str, batch: int) -> int | None:
    """The watermark by which a batch closes windows, in microseconds; None if it is not written."""
    log = Folder(checkpoint, "offsets")
    return watermark_in(log.read(str(batch))) if str(batch) in log.names() else None


def running_batch(checkpoint: str) -> int:
    """The id of the batch that Spark has begun last."""
    batches = [int(name) for name in Folder(checkpoint, "offsets").names() if name.isdigit()]
    if not batches:
        raise UsageError(_not_ours(checkpoint, "has no offsets"))
    return max(batches)


def watermark_in(entry: bytes) -> int:
    """The watermark in an entry of the offset log, in microseconds since the epoch."""
    return int(json.loads(entry.decode().splitlines()[1])["batchWatermarkMs"]) * 1000


def _not_ours(checkpoint: str, why: str) -> str:
    rule = "checkpoint must be the stream's checkpointLocation"
    return f"{rule}, got {checkpoint!r}, which {why}; give writeStream the same one"
