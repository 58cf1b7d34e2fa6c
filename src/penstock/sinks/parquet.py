"""Results in parquet files, each batch in a folder of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from penstock.sources import checks
from penstock.sources.options import without_login


@dataclass(frozen=True, slots=True)
class Parquet:
    """Files below path/batch=N.

    Args:
        path: a folder.
        partition_by: columns by whose values a batch is divided into folders.
    """

    path: str
    partition_by: tuple[str, ...] = ()

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Writes a batch; the same number again replaces its folder, so every row is there once.

        Args:
            batch: the results.
            batch_id: the number of the batch.
        """
        # With 'dynamic' in the session only the partitions that come again would be replaced.
        writer = batch.write.mode("overwrite").option("partitionOverwriteMode", "static")
        if self.partition_by:
            writer = writer.partitionBy(*self.partition_by)
        writer.parquet(f"{self.path.rstrip('/')}/batch={batch_id}")

    def describe(self) -> str:
        """One line for a report."""
        return f"parquet files in {without_login(self.path)}"


def parquet(path: str, *, partition_by: str | Sequence[str] = ()) -> Parquet:
    """Results in parquet files; `spark.read.parquet(path)` has them with a column `batch`.

    Args:
        path: a folder.
        partition_by: columns by whose values a batch is divided into folders.
    """
    return Parquet(checks.text("path", path), checks.names("partition_by", partition_by))
