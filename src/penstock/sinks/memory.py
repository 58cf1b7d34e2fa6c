"""Results in the memory of the driver, for tests and notebooks."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import UsageError, complaint
from penstock.sources import checks

BATCH = "batch"
"""The column with the number of the batch that a row came in."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Rows by the number of their batch.

    Args:
        name: of the view that `table` makes.
    """

    name: str
    _kept: dict[int, pa.Table] = field(default_factory=dict, repr=False, compare=False)

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Keeps a batch; the same number again replaces it.

        Args:
            batch: the results.
            batch_id: the number of the batch.
        """
        self._kept[batch_id] = batch.toArrow()

    @property
    def written(self) -> int:
        """How many batches it has."""
        return len(self._kept)

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return sum(len(table) for table in self._kept.copy().values())

    def table(self, spark: SparkSession) -> DataFrame:
        """All rows so far, with a column `batch`; from now on also as the view of that name."""
        kept = dict(self._kept)
        if not kept:
            hint = "a stream writes its first batch a moment after its start"
            raise UsageError(complaint("memory sink", "must have had a batch", 0, hint))
        parts = [
            table.append_column(BATCH, pa.array([number] * len(table), pa.int64()))
            for number, table in sorted(kept.items())
        ]
        # What was backfilled has a column more, which the others lack.
        whole = pa.concat_tables(parts, promote_options="default")
        loose = pa.schema([one.with_nullable(True) for one in whole.schema])
        # In one piece: at an empty one between others Spark stops reading.
        found = spark.createDataFrame(whole.cast(loose).combine_chunks())
        found.createOrReplaceTempView(self.name)
        return found

    def describe(self) -> str:
        """One line for a report."""
        return f"memory, as {self.name}"


def memory(name: str = "results") -> Memory:
    """Results in the memory of the driver.

    Args:
        name: of the view under which `table(spark)` makes them known to SQL.
    """
    return Memory(checks.text("name", name))
