"""A stream that runs: it can be waited for, stopped, and asked where its rows went."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql.streaming import StreamingQuery

from penstock.engine.failures import stream_failed
from penstock.engine.probe import look
from penstock.engine.record import recorded
from penstock.errors import SchemaError, UsageError, complaint

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from penstock.engine.stream import WindowQuery

ACCOUNTS = ("no_time", "in_no_window", "late_lost", "late_partial")


@dataclass(frozen=True)
class Run:
    """A running stream.

    Args:
        query: Spark's own handle on it.
        name: what messages call it.
        explained: how its windows are computed.
    """

    query: StreamingQuery
    name: str
    explained: str

    def wait(self, seconds: float | None = None) -> bool:
        """Waits until the stream ends; True if it has. A failure is raised as `StreamFailed`.

        Args:
            seconds: how long to wait at most; None for as long as it takes.
        """
        try:
            # Without a time limit Spark returns nothing, and only when the stream has ended.
            ended = self.query.awaitTermination(seconds) if seconds else None
            if not seconds:
                self.query.awaitTermination()
        except PySparkException as error:
            raise stream_failed(self.name, error) from None
        return ended is not False

    def stop(self) -> None:
        """Stops the stream; it can be started again from its checkpoint."""
        self.query.stop()

    @property
    def progress(self) -> list[dict[str, Any]]:
        """Spark's reports of the last batches, oldest first."""
        return [json.loads(p.json) for p in self.query.recentProgress]

    @property
    def accounts(self) -> dict[str, int]:
        """Rows that count in no window, or not in all of theirs, in the last batches.

        They are reported when the watermark has passed them.
        """
        totals = dict.fromkeys(ACCOUNTS, 0)
        for progress in self.progress:
            for name, rows in progress.get("observedMetrics", {}).get("penstock", {}).items():
                totals[name] += rows
        return totals


def start(
    query: WindowQuery,
    checkpoint: str,
    *,
    format: str | None = None,  # noqa: A002 - as in Spark
    path: str | None = None,
    name: str | None = None,
    trigger: dict[str, Any] | None = None,
    foreach_batch: Callable[[DataFrame, int], None] | None = None,
    **options: str,
) -> Run:
    """Starts the stream of a query, after a look at its first batch.

    Args:
        query: over a streaming DataFrame.
        checkpoint: the checkpointLocation.
        format: the sink, such as "parquet", "kafka", "console" or "memory".
        path: where the sink writes, if it is one of files.
        name: of the query; the table of the memory sink.
        trigger: as for Spark's `trigger`, such as {"processingTime": "1 second"}.
        foreach_batch: a sink of your own, given each batch of results and its number.
        options: of the sink.
    """
    rows = query.stream.rows
    if not rows.isStreaming:
        hint = "use dataframe() for a batch"
        raise UsageError(complaint("start()", "needs a streaming DataFrame", "a batch", hint))
    if (format is None) == (foreach_batch is None):
        given = {"format": format, "foreach_batch": foreach_batch}
        raise UsageError(complaint("start()", "needs either format or foreach_batch", given))
    if query.density is None and recorded(checkpoint) is None and not query.query.user_defined:
        query = replace(query, density=look(rows, query.query))
    writer = query.dataframe(checkpoint).writeStream.outputMode("append")
    writer = writer.option("checkpointLocation", checkpoint).options(**options)
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        writer = writer.trigger(**trigger)
    writer = writer.foreachBatch(foreach_batch) if foreach_batch else writer.format(str(format))
    try:
        handle = writer.start(path)
    except PySparkException as error:
        raise SchemaError(f"the stream cannot start: {str(error).splitlines()[0]}") from error
    return Run(handle, name or str(query.query.window), query.explain())
