"""Runs a query over batches of rows as a stream, one file a batch, and keeps what each gave."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.windows.oracle import Accounts

SECOND = 1_000_000
SCHEMA = pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("k", pa.string()), ("v", pa.int64())])
START = 1_700_000_000 * SECOND
"""Far enough from the epoch, where Spark's watermark starts."""


def instant(micros: int | None) -> datetime | None:
    return None if micros is None else datetime.fromtimestamp(micros / SECOND, UTC)


@dataclass
class Files:
    """A folder to which batches are added, and the stream that reads them one by one."""

    spark: SparkSession
    folder: Path
    schema: pa.Schema = field(default_factory=lambda: SCHEMA)
    written: int = 0

    def add(self, rows: list[dict]) -> None:
        source = self.folder / "source"
        source.mkdir(parents=True, exist_ok=True)
        table = pa.Table.from_pylist(
            [{**row, "ts": instant(row["ts"])} for row in rows], schema=self.schema
        )
        path = source / f"{self.written:04d}.parquet"
        pq.write_table(table, path)
        # Spark takes the oldest file first, and tells their ages in milliseconds.
        age = 1_600_000_000 + self.written
        os.utime(path, (age, age))
        self.written += 1

    def stream(self) -> DataFrame:
        # Spark would look for it in the files, by a job.
        schema = self.spark.createDataFrame(self.schema.empty_table()).schema
        reader = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.folder / "source"))


def collect(run_stream, into: dict[int, list[tuple]]) -> None:
    """Lets a stream take what there is; its results are kept by batch, as sorted tuples."""

    def keep(batch: DataFrame, number: int) -> None:
        rows = sorted((tuple(row) for row in batch.collect()), key=repr)
        if rows:
            into[number] = rows

    run_stream(keep)


def run_penstock(query: ps.WindowQuery, checkpoint: Path, into: dict[int, list[tuple]]) -> ps.Run:
    runs: list[ps.Run] = []

    def go(keep) -> None:
        run = query.start(str(checkpoint), foreach_batch=keep, trigger={"availableNow": True})
        run.wait()
        runs.append(run)

    collect(go, into)
    return runs[0]


def run_spark(windows: DataFrame, checkpoint: Path, into: dict[int, list[tuple]]) -> None:
    def go(keep) -> None:
        writer = windows.writeStream.outputMode("append").foreachBatch(keep)
        writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        writer.start().awaitTermination()

    collect(go, into)


def lost(accounts: Accounts) -> dict[str, int]:
    """The accounts of the oracle, as a run reports them."""
    names = ("no_time", "in_no_window", "late_lost", "late_partial")
    return {**{name: getattr(accounts, name) for name in names}, "broken": 0}
