"""Malformed records of a topic are kept in a folder, once each.

Spark's progress of every batch tells how many of its records were malformed. Only where there were
some the records of that batch are read once more, between its offsets, and the malformed ones are
written to folder/batch=N. So a topic without malformed records is read once; a second stream
beside the first would read all of it twice.

A small file in the folder says up to where that was done. After a crash the records between that
place and the next batch are looked through, whatever was counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa
from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import UsageError, complaint
from penstock.sources.kafka import Kafka
from penstock.sources.malformed import MALFORMED, bad
from penstock.sources.options import Options

KEPT = {
    "kafka_topic": "topic",
    "kafka_partition": "partition",
    "kafka_offset": "offset",
    "kafka_timestamp": "timestamp",
    "kafka_key": "key",
    "kafka_value": "value",
    MALFORMED: "reason",
}

Offsets = dict[str, dict[str, int]]
_EARLIEST = -2
_OF_THE_STREAM = re.compile(r"(assign|subscribe|starting|ending|max|min).*", re.IGNORECASE)
"""Options that say what a stream reads and how much of it at a time."""


@dataclass(frozen=True, slots=True)
class Done:
    """Up to where malformed records are kept: the last batch, and the offsets that it ended at."""

    batch: int
    offsets: Offsets


class Aside:
    """Keeps the malformed records of a running stream.

    Args:
        source: the topics, with a folder for malformed records.
        spark: a session with the connector.
    """

    def __init__(self, source: Kafka, spark: SparkSession) -> None:
        if source.malformed is None:
            hint = "such as kafka(…, malformed='data/malformed')"
            raise UsageError(complaint("malformed", "must be a folder", None, hint))
        self._source = source
        self._spark = spark
        self._folder = source.malformed.rstrip("/")
        self._done = self._read()

    def after(self, progress: Mapping[str, Any]) -> bool:
        """Keeps the malformed records of a batch that is over; True if it had to look for them.

        Where that fails the next call makes up for it.

        Args:
            progress: Spark's report of the batch as a dictionary; of every batch, in order.
        """
        report = self._of_source(progress)
        batch = int(progress["batchId"])
        if report is None or (self._done is not None and batch <= self._done.batch):
            return False
        start, end = _offsets(report.get("startOffset")), _offsets(report.get("endOffset"))
        if end is None:
            return False
        if self._done is None:
            self._write(Done(batch - 1, start or {}))
        done, looked = self._done, False
        if done is not None and start is not None and done.offsets != start:
            # Under the number of the first batch that is not accounted for: if that was written
            # just before a crash, it is replaced.
            self._keep(done.batch + 1, done.offsets, start, None)
            looked = True
        counts = (progress.get("observedMetrics") or {}).get(self._source.metric) or {}
        if counts.get("malformed"):
            self._keep(batch, start, end, counts.get("since"))
            looked = True
        self._write(Done(batch, end))
        return looked

    def rows(self) -> DataFrame:
        """The records kept so far, by topic, partition and offset, with value and reason."""
        return self._spark.read.parquet(self._folder)

    def _keep(self, batch: int, start: Offsets | None, end: Offsets, since: int | None) -> None:
        """Writes the malformed records between two places of the topics."""
        which = {topic: sorted(map(int, parts)) for topic, parts in end.items()}
        options: dict[str, object] = {
            name: value
            for name, value in self._source.options.items()
            if not _OF_THE_STREAM.fullmatch(name)
        }
        options["assign"] = json.dumps(which)
        # Records that the broker has let go since then are no reason to end the stream.
        options["failOnDataLoss"] = False
        starting = self._source.starting
        if start is not None:
            begin = {
                topic: {part: start.get(topic, {}).get(part, _EARLIEST) for part in parts}
                for topic, parts in end.items()
            }
            starting = json.dumps(begin)
        elif starting == "latest":
            # Where a new stream began is not in its report. Every malformed record of its first
            # batch is at or after the earliest time of one.
            options["startingTimestamp"] = since
            options["startingOffsetsByTimestampStrategy"] = "latest"
        again = replace(
            self._source,
            batch=True,
            starting=starting,
            ending=json.dumps(end),
            options=Options(options),
        )
        kept = bad(again.dataframe(self._spark)).selectExpr(
            *(f"{ours} AS {theirs}" for ours, theirs in KEPT.items())
        )
        kept.write.mode("overwrite").parquet(f"{self._folder}/batch={batch}")

    def _of_source(self, progress: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The part of the report that is about the source's topics."""
        for report in progress.get("sources", []):
            topics = set(_offsets(report.get("endOffset")) or ())
            if not str(report.get("description", "")).startswith("Kafka") or not topics:
                continue
            pattern = self._source.pattern
            ours = set(self._source.topics)
            if topics <= ours or (pattern and all(re.fullmatch(pattern, t) for t in topics)):
                return dict(report)
        return None

    def _read(self) -> Done | None:
        system, path = _place(self._folder)
        if system.get_file_info(path).type != fs.FileType.File:
            return None
        with system.open_input_stream(path) as file:
            return Done(**json.loads(file.read()))

    def _write(self, done: Done) -> None:
        system, path = _place(self._folder)
        system.create_dir(path.rsplit("/", 1)[0], recursive=True)
        with system.open_output_stream(path + ".new") as file:
            file.write(json.dumps(asdict(done)).encode())
        system.move(path + ".new", path)
        self._done = done


def _offsets(value: object) -> Offsets | None:
    """Offsets of a report: as Spark's text, or already read."""
    found = json.loads(value) if isinstance(value, str) else value
    return found if isinstance(found, dict) else None


def _place(folder: str) -> tuple[fs.FileSystem, str]:
    """The file that says how far we are; its name begins with _, so Spark does not read it."""
    uri = re.sub(r"^s3[an]://", "s3://", re.sub(r"^file:/+", "/", folder))
    try:
        local = "://" not in uri
        system, base = (fs.LocalFileSystem(), uri) if local else fs.FileSystem.from_uri(uri)
    except (pa.ArrowException, OSError) as error:
        rule = "must be on a file system that Arrow knows (local, hdfs, s3, gs, abfs)"
        raise UsageError(complaint("malformed", rule, folder)) from error
    return system, f"{base}/_done.json"
