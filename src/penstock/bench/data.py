"""Rows for the benchmark, in files that a stream takes in order.

filler      a few rows over a whole RANGE, so that windows are open and close from then on
small       files for the engine that would take minutes on more
large       files for both
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

SECOND = 1_000_000
SCHEMA = "ts timestamp, k int, v bigint"
_START = 1_700_000_000 * SECOND


@dataclass(frozen=True, slots=True)
class Shape:
    """How rows are spread: every pane of `slide` has `rows` rows of each of `keys` keys."""

    keys: int
    rows: int
    slide: int = SECOND

    @property
    def per_pane(self) -> int:
        """Rows of all keys in a pane."""
        return self.keys * self.rows


def write(
    spark: SparkSession, folder: Path, shape: Shape, files: list[int], filler: int = 0
) -> list[Path]:
    """Writes one file for each entry of `files`, which are numbers of rows, in order of time.

    Args:
        spark: a session.
        folder: where to.
        shape: keys and density.
        files: rows of each file.
        filler: panes that come before, with one row per key every hundredth of them.
    """
    written = []
    if filler:
        thin = max(1, filler // 100)
        rows = spark.range(0, filler // thin * shape.keys, 1, 1)
        time = F.lit(_START) + F.expr(f"id div {shape.keys}") * (thin * shape.slide)
        written.append(write_one(rows.select(*_columns(time, shape)), folder, 0))
    begin = _START + filler * shape.slide
    first = 0
    for count in files:
        rows = spark.range(first, first + count, 1, 1)
        time = F.lit(begin) + F.expr(f"id * {shape.slide} div {shape.per_pane}")
        written.append(write_one(rows.select(*_columns(time, shape)), folder, len(written)))
        first += count
    return written


def source(
    spark: SparkSession,
    folder: Path,
    files: list[Path],
    files_per_batch: int,
    schema: str = SCHEMA,
) -> DataFrame:
    """A stream over these files, which are linked into a folder of their own."""
    folder.mkdir(parents=True)
    for file in files:
        os.link(file, folder / file.name)
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", files_per_batch)
    return reader.parquet(str(folder))


def _columns(time: Column, shape: Shape) -> list[Column]:
    key = F.expr(f"cast(id % {shape.keys} AS int)").alias("k")
    return [F.timestamp_micros(time).alias("ts"), key, F.expr("id % 1009").alias("v")]


def write_one(rows: DataFrame, folder: Path, number: int) -> Path:
    """Writes the rows as one file, which a stream takes in the order of the numbers."""
    part = folder / "part"
    rows.write.mode("overwrite").parquet(str(part))
    file = folder / f"{number:04d}.parquet"
    next(part.glob("*.parquet")).rename(file)
    shutil.rmtree(part)
    os.utime(file, (1_600_000_000 + number, 1_600_000_000 + number))  # Spark takes the oldest first
    return file
