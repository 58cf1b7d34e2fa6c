"""What all sinks have in common."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from pyspark.sql import DataFrame


@runtime_checkable
class Sink(Protocol):
    """Where results go, batch by batch."""

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Writes the results of a batch, in one action; called from `foreachBatch`.

        After a failure Spark may call it again with the same number and the same rows.

        Args:
            batch: the results.
            batch_id: the number of the batch.
        """
        ...

    def describe(self) -> str:
        """One line for a report or a picture; no secret is in it."""
        ...
