"""The ledger of a running network: what became of every window of every subset query.

Of a query with approximate answers it has the windows that were jumped over.

    batch N ─► its windows were delivered ─► progress of N ─► penstock/ledger/N
               its record had dropped others ────────────────┘

An entry is made when Spark has told of the batch, so that of the last one follows when the stream
ends. Of a batch after which the driver died it tells nothing any more: then the record alone says
what was dropped, and the rest was kept.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.drops.gaps import MISSING
from penstock.drops.ledger import entries
from penstock.engine.files import Folder
from penstock.engine.shedder import Shedder
from penstock.engine.watermark import watermark_in
from penstock.network.operators import Aggregate
from penstock.windows import window_end

FOLDER = "penstock/ledger"

_GAPS = 100
"""Gaps that are remembered, of each query."""

SCHEMA = (
    "query string, window_start timestamp, window_end timestamp, fate string, decision bigint, "
    "batch bigint"
)


@dataclass
class Ledger:
    """Entries by batch, in the checkpoint.

    Args:
        shedder: what decides.
        metric: the name under which Spark tells which windows were delivered.
        fates: query → how many of its windows had each fate, since this run began.
        gaps: query → the last windows that were not delivered, by their end in microseconds.
    """

    shedder: Shedder
    metric: str
    fates: dict[str, Counter[str]] = field(default_factory=dict)
    gaps: dict[str, deque[tuple[int, str]]] = field(default_factory=dict)
    _done: set[int] = field(default_factory=set)

    def take(self, reports: Sequence[Mapping[str, Any]]) -> None:
        """Enters the windows of batches that Spark has told of; those that are known stay."""
        folder = Folder(self.shedder.checkpoint, FOLDER)
        if reports and not self._done:
            self._make_up(folder, before=min(report["batchId"] for report in reports))
        for report in reports:
            batch = report["batchId"]
            if batch in self._done:
                continue
            self._done.add(batch)
            self._enter(folder, batch, report.get("observedMetrics", {}))

    def _make_up(self, folder: Folder, before: int) -> None:
        """Enters the batches that were committed, and of which no process was told."""
        last = max((int(name) for name in folder.names() if name.isdigit()), default=-1)
        done = Folder(self.shedder.checkpoint, "commits").names()
        for batch in sorted(int(name) for name in done if name.isdigit()):
            if last < batch < before:
                self._enter(folder, batch, None)

    def _enter(self, folder: Folder, batch: int, metrics: Mapping[str, Any] | None) -> None:
        rows = self._entries(batch, metrics)
        self._note(rows)
        if rows:
            folder.write(str(batch), "\n".join(map(json.dumps, rows)).encode())

    def _note(self, rows: Sequence[Mapping[str, Any]]) -> None:
        for row in rows:
            self.fates.setdefault(row["query"], Counter())[row["fate"]] += 1
            if row["fate"] in MISSING:
                gaps = self.gaps.setdefault(row["query"], deque(maxlen=_GAPS))
                gaps.appendleft((row["window_end"], row["fate"]))

    def _entries(self, batch: int, metrics: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        offsets = Folder(self.shedder.checkpoint, "offsets")
        marks = [_watermark(offsets, number) for number in (batch - 1, batch)]
        decisions = self.shedder.decisions_of(batch)
        if not marks[1] or decisions is None or marks[0] == marks[1]:
            return []
        told = (metrics or {}).get(f"{self.metric}_windows", {}).get("delivered") or []
        seen: dict[int, set[int]] = {}
        for window in told:
            seen.setdefault(window["a"], set()).add(window["end"])
        part = self.shedder.part
        rows = []
        for name, target in self.shedder.skippable.items():
            node = part.graph.queries[name]
            assert isinstance(node, Aggregate)  # noqa: S101 - it is a target
            ends = None if metrics is None else seen.get(part.shared.number[node], set())
            # Before the first watermark the stream begins with the first window that is known of.
            dropped = [window_end(run.first, target.window) for run in decisions.runs(name)]
            begins = min([*(ends or ()), *dropped], default=marks[1] + 1) - 1
            closed = (marks[0] or min(begins, marks[1]), marks[1])
            found = entries(target, decisions, delivered=ends, closed=closed, batch=batch)
            # Of approximate answers every window comes, but those that were jumped over.
            all_of_them = name in self.shedder.targets
            rows += [entry.row() for entry in found if all_of_them or entry.fate in MISSING]
        return rows

    def rows(self) -> list[dict[str, Any]]:
        """All entries, oldest first."""
        return entered(self.shedder.checkpoint)


def entered(checkpoint: str) -> list[dict[str, Any]]:
    """All entries of a checkpoint, oldest first; none where nothing was ever dropped.

    Args:
        checkpoint: of a Spark stream.
    """
    folder = Folder(checkpoint, FOLDER)
    batches = sorted(int(name) for name in folder.names() if name.isdigit())
    return [
        json.loads(line)
        for batch in batches
        for line in folder.read(str(batch)).decode().splitlines()
    ]


def as_dataframe(spark: SparkSession, rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    """Entries as a DataFrame, with times as times."""
    named = ("query", "window_start", "window_end", "fate", "decision", "batch")
    listed = [tuple(row[name] for name in named) for row in rows]
    plain = SCHEMA.replace("timestamp", "bigint")
    frame = spark.createDataFrame(listed, plain)
    times = {n: f"timestamp_micros({n}) AS {n}" for n in ("window_start", "window_end")}
    return frame.selectExpr(*(times.get(name, name) for name in named))


def _watermark(offsets: Folder, batch: int) -> int | None:
    return watermark_in(offsets.read(str(batch))) if str(batch) in offsets.names() else None
