"""Spark's own source of numbered rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.sources import checks


@dataclass(frozen=True, slots=True)
class Rate:
    """Rows with a `timestamp` and a number, `value`.

    Args:
        rows: how many, in a second or in a batch.
        per_batch: whether it is in a batch; the timestamps then follow from the number.
        partitions: how many tasks make them; None for as many as Spark likes.
    """

    rows: int
    per_batch: bool = False
    partitions: int | None = None

    @property
    def identity(self) -> tuple[str, ...]:
        """The number of the row."""
        return ("value",)

    def dataframe(self, spark: SparkSession) -> DataFrame:
        """The rows as a stream."""
        reader = spark.readStream.format("rate-micro-batch" if self.per_batch else "rate")
        reader = reader.option("rowsPerBatch" if self.per_batch else "rowsPerSecond", self.rows)
        if self.partitions is not None:
            reader = reader.option("numPartitions", self.partitions)
        return reader.load()

    def behind(self, read: Any, newest: Any) -> float:  # noqa: ANN401 - whatever its JSON is
        """The rows from one offset to another: offsets are seconds, or rows where these are set.

        Args:
            read: where a batch has ended.
            newest: how far the source could be read then.

        >>> rate(1000).behind(3, 7), rate(5, per_batch=True).behind({"offset": 5}, {"offset": 15})
        (4000.0, 10.0)
        """
        if self.per_batch:
            return float(newest["offset"] - read["offset"])
        return float(self.rows * (newest - read))

    def describe(self) -> str:
        """One line for a report."""
        return f"Spark's rate source, {self.rows} rows a {'batch' if self.per_batch else 'second'}"


def rate(rows: int = 1, *, per_batch: bool = False, partitions: int | None = None) -> Rate:
    """Spark's rate source, or its rate per micro-batch.

    Args:
        rows: how many rows a second, or a batch.
        per_batch: exactly so many in every batch, whatever the clock says.
        partitions: how many tasks make them.

    >>> rate(1000).describe()
    "Spark's rate source, 1000 rows a second"
    """
    checks.whole("rows", rows)
    if partitions is not None:
        checks.whole("partitions", partitions)
    return Rate(rows, per_batch, partitions)
