"""A stream that runs: it can be waited for, stopped, and asked where its rows went."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from penstock.engine.failures import stream_failed

METRIC = "penstock"
"""What the names of our metrics in Spark's progress begin with."""

ACCOUNTS = ("no_time", "in_no_window", "late_lost", "late_partial", "broken")


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
            # Spark takes 0 for no limit, though it takes fractions of a second.
            limit: Any = None if seconds is None else max(0.001, seconds)
            return self.query.awaitTermination(limit) is not False
        except PySparkException as error:
            raise stream_failed(self.name, error) from None

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
        batches = [accounts_of(progress) for progress in self.progress]
        return {name: sum(batch[name] for batch in batches) for name in ACCOUNTS}


def accounts_of(progress: dict[str, Any]) -> dict[str, int]:
    """What one of Spark's reports says of rows that do not count everywhere.

    >>> accounts_of({"observedMetrics": {"penstock_1": {"no_time": 2}}})["no_time"]
    2
    """
    ours = [
        counts
        for metric, counts in progress.get("observedMetrics", {}).items()
        if metric.startswith(METRIC)
    ]
    return {name: sum(counts.get(name, 0) for counts in ours) for name in ACCOUNTS}
