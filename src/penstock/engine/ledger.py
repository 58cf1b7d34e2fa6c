"""The ledger of a running network: what became of every window of every query.

Those have none whose windows are not known without their rows, and those of streams of which no
query may lose anything.

    batch N ─► its windows were delivered ─► progress of N ─┬► <answers>/_ledger/P-N.json
               its record had dropped others ───────────────┴► penstock/ledger/N

An entry is made when Spark has told of the batch, so that of the last one follows when the stream
ends. Of a batch after which the driver died it tells nothing any more: then the record alone says
what was dropped, and the rest was kept.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.drops.decisions import Decisions
from penstock.drops.gaps import MISSING
from penstock.drops.in_force import OPEN, weight
from penstock.drops.kinds import is_sampled
from penstock.drops.ledger import Fate, entries
from penstock.drops.targets import KINDS, Target
from penstock.engine.files import Folder
from penstock.engine.ledger_beside import Beside
from penstock.engine.pulse import ran
from penstock.engine.shed_record import Record
from penstock.engine.shedder import Shedder
from penstock.engine.watermark import watermark_in
from penstock.network.operators import Aggregate, upstream
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
        beside: where it is written too, next to the answers.
        fates: query → how many of its windows had each fate, since this run began.
        gaps: query → the last windows that were not delivered, by their end in microseconds.
    """

    shedder: Shedder
    metric: str
    beside: Beside = field(default_factory=Beside)
    fates: dict[str, Counter[str]] = field(default_factory=dict)
    gaps: dict[str, deque[tuple[int, str]]] = field(default_factory=dict)
    _done: set[int] = field(default_factory=set)

    def take(self, reports: Sequence[Mapping[str, Any]]) -> None:
        """Enters the windows of batches that Spark has told of; those that are known stay."""
        folder = Folder(self.shedder.checkpoint, FOLDER)
        reports = [report for report in reports if ran(report["durationMs"])]
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
            # What the checkpoint has is never made up for, so it comes last.
            for problem in self.beside.write(batch, rows):
                self.shedder.problems.append(problem)
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
        record = self.shedder.record_of(batch)
        if not marks[1] or marks[0] == marks[1] or (record is None and metrics is None):
            return []
        told = (metrics or {}).get(f"{self.metric}_windows", {}).get("delivered") or []
        seen: dict[int, set[int]] = {}
        for window in told:
            seen.setdefault(window["a"], set()).add(window["end"])
        part = self.shedder.part
        rows = []
        for name, target in self._targets.items():
            node = part.graph.queries[name]
            assert isinstance(node, Aggregate)  # noqa: S101 - it is a target
            ends = None if metrics is None else seen.get(part.shared.number[node], set())
            decisions = self._decisions(name, record)
            # Before the first watermark the stream begins with the first window that is known of.
            dropped = [window_end(run.first, target.window) for run in decisions.runs(name)]
            begins = min([*(ends or ()), *dropped], default=marks[1] + 1) - 1
            closed = (marks[0] or min(begins, marks[1]), marks[1])
            thinned = self._thinned(node, target, record)
            found = entries(
                target, decisions, delivered=ends, closed=closed, batch=batch, thinned=thinned
            )
            for entry in found:
                # Without its record nobody knows what the batch had dropped.
                unknown = record is None and entry.fate is Fate.EMPTY
                rows.append((replace(entry, fate=Fate.LOST) if unknown else entry).row())
        return rows

    @cached_property
    def _targets(self) -> dict[str, Target]:
        """The queries that are entered: those that may lose something, and exact ones."""
        found = dict(self.shedder.skippable)
        for name, node in self.shedder.part.graph.queries.items():
            if name not in found and isinstance(node, Aggregate) and node.query.spec.kind in KINDS:
                found[name] = Target(name, node.query.spec, 0)
        return found

    def _decisions(self, name: str, record: Record | None) -> Decisions:
        if record is None:
            return Decisions()
        may_lose = name in self.shedder.skippable
        # As long as it is not known what was dropped before, no query has answers.
        until = OPEN if record.lost is not None else record.decisions.suppress_until
        if may_lose:
            return replace(record.decisions, suppress_until=until)
        return Decisions(suppress_until=OPEN if record.lost is not None else None)

    def _thinned(
        self, node: Aggregate, target: Target, record: Record | None
    ) -> Callable[[int, int], bool]:
        """Whether a window without an answer may have had rows, all of them dropped at random."""
        part = self.shedder.part
        below = [a for a in upstream(node) if isinstance(a, Aggregate)]
        kinds = {a: part.kinds_of_rows[a] for a in below if a in part.kinds_of_rows}
        spans = record.in_force if record is not None else ()
        mine = [spans[part.shared.number[a]] for a, of in kinds.items() if spans and is_sampled(of)]

        def thinned(start: int, end: int) -> bool:
            return any(weight(some, start - target.reach, end) > 1 for some in mine)

        return thinned

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
