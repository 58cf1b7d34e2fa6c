"""A look at the first batch of a stream tells how full its panes are, before they are chosen.

The batch is read once more when the stream starts: nothing is taken from the source for good. A
source that has no data yet, or takes too long, is not waited for.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from penstock.engine.columns import block_starts
from penstock.engine.step import quoted
from penstock.network.query import Query
from penstock.windows import Density, Ladder

Seen = TypeVar("Seen")

PATIENCE = 20.0
"""Seconds that a stream's first batch is waited for."""


def look(rows: DataFrame, query: Query, patience: float = PATIENCE) -> Density | None:
    """The density of the first batch; None if there was none in time.

    Args:
        rows: a streaming DataFrame.
        query: whose panes and keys are counted.
        patience: seconds to wait.
    """
    return first_batch(rows, lambda batch: density_of(batch, query), patience)


def first_batch(
    rows: DataFrame, seen_in: Callable[[DataFrame], Seen | None], patience: float = PATIENCE
) -> Seen | None:
    """What is seen in the first batch; None if there was none in time.

    Args:
        rows: a streaming DataFrame.
        seen_in: looks at the batch.
        patience: seconds to wait.
    """
    found: list[Seen | None] = []
    started: list[StreamingQuery] = []
    seen = threading.Event()

    def see(batch: DataFrame, _: int) -> None:
        try:
            found.append(seen_in(batch))
        finally:
            seen.set()
        # The batch must not be followed by another: that is when a source deletes, or acknowledges,
        # the rows of this one. To end a stream by an error would do, too, but Spark would log it.
        if not _stops(started, patience):
            raise _SeenEnough

    with tempfile.TemporaryDirectory(prefix="penstock-look-", ignore_cleanup_errors=True) as folder:
        try:
            stream = (
                rows.writeStream.foreachBatch(see)
                .option("checkpointLocation", folder)
                .trigger(availableNow=True)
                .start()
            )
            started.append(stream)
            _wait(stream, seen, patience)
            stream.stop()
        except PySparkException:
            return None  # the stream itself will say what is wrong with its source
    return found[0] if found else None


def first_rows(rows: DataFrame, most: int) -> pa.Table | None:
    """Some rows of the first batch; None if there was none in time, or none in it.

    Args:
        rows: a streaming DataFrame.
        most: how many.
    """
    found = first_batch(rows, lambda batch: batch.limit(most).toArrow())
    return found if found is not None and found.num_rows else None


class _SeenEnough(Exception):
    """Ends the look where nobody stops it; this is no failure."""


def density_of(batch: DataFrame, query: Query) -> Density | None:
    """Rows per pane and key, and panes per batch; None for a batch without rows.

    Args:
        batch: some rows of the stream.
        query: whose panes and keys are counted.
    """
    spec = query.spec
    at = F.unix_micros(F.col(quoted(spec.rattr)))
    pane = block_starts(at, Ladder(spec))[0]
    group = F.struct(pane.alias("pane"), *(F.col(quoted(key)) for key in query.keys))
    row = (
        batch.where(at.isNotNull())
        .agg(
            F.count(F.lit(1)).alias("rows"),
            F.approx_count_distinct(group, 0.02).alias("groups"),
            (F.max(at) - F.min(at)).alias("span"),
        )
        .first()
    )
    if row is None or not row["rows"]:
        return None
    return Density(row["rows"] / max(1, row["groups"]), max(1, row["span"]) / spec.slide)


def _stops(started: Sequence[StreamingQuery], patience: float) -> bool:
    """Whether the stream is stopped in time: its batch may end then, and no other follows."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        if started and not started[0].isActive:
            return True
        time.sleep(0.005)
    return False


def _wait(stream: StreamingQuery, seen: threading.Event, patience: float) -> None:
    waited = 0.0
    while waited < patience and not seen.wait(0.05) and stream.isActive:
        waited += 0.05
