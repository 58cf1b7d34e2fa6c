"""Where the rows of a batch went, for each query: they are dropped, or taken.

    rows of its streams = shed where they enter + shed on the way + taken

What becomes of the rows that were taken (not asked for by the query's filters, late, without a
time) is told when their windows close.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from penstock.engine.arrivals import block_of, rows_in
from penstock.engine.books import AT_STREAM, BATCHES, placed
from penstock.engine.part import Part
from penstock.engine.run import ACCOUNTS
from penstock.engine.tally import BOOKED
from penstock.network.operators import Aggregate, Source, base

SHED_ACCOUNTS = ("rows_in", "shed_at_stream", "shed_on_the_way", "taken")


@dataclass(frozen=True)
class ShedAccounts:
    """What Spark's reports say of rows that were dropped.

    Args:
        part: what runs.
        reports: of batches, oldest first.
        dropping: batch that may have dropped rows → of each stream, whether it did so there.
    """

    part: Part
    reports: Sequence[Mapping[str, Any]]
    dropping: Mapping[int, Sequence[bool]]
    _stayed: Counter[tuple[int, Source]] = field(default_factory=Counter, init=False)
    _lost: Counter[tuple[int, Source, Aggregate]] = field(default_factory=Counter, init=False)

    def __post_init__(self) -> None:
        known = self.part.places
        for report in self.reports:
            observed = report.get("observedMetrics", {})
            for source, metric in self.part.counting.items():
                rows = observed.get(metric, {}).get("rows") or 0
                self._stayed[report["batchId"] % BATCHES, source] += rows
            metrics = observed.get(self.part.metric, {})
            for entry in metrics.get(BOOKED) or ():
                batch, place = placed(entry["group"], len(known))
                source, aggregates = known[place]
                first = place == 0 or known[place - 1][0] != source
                if first and entry["mask"] & AT_STREAM:
                    self._stayed[batch, source] += entry["rows"]
                for bit, aggregate in enumerate(aggregates):
                    if entry["mask"] >> bit & 1:
                        self._lost[batch, source, aggregate] += entry["rows"]

    def of(self, name: str) -> dict[int, dict[str, int]]:
        """Batch → the accounts of a query, for all batches of which they are known already."""
        told = self.told()
        reports = (report for report in self.reports if report["batchId"] in told)
        return {report["batchId"]: self.of_batch(name, report) for report in reports}

    def of_batch(self, name: str, report: Mapping[str, Any]) -> dict[str, int]:
        """The accounts of a query, for a batch that is told.

        Args:
            name: of the query.
            report: of the batch.
        """
        total = dict.fromkeys(SHED_ACCOUNTS, 0)
        for source, aggregate in self.part.ways[name]:
            rows = self._rows_in(report, source)
            if not rows:
                continue  # Spark also reports that nothing came
            gone = self.gone(report, source)
            lost = self.lost(report["batchId"], source, aggregate)
            total["rows_in"] += rows
            total["shed_at_stream"] += gone
            total["shed_on_the_way"] += lost
            total["taken"] += rows - gone - lost
        return total

    def _rows_in(self, report: Mapping[str, Any], source: Source) -> int:
        metric, scans = self.part.shared.arriving(source), self.part.scans(source)
        return rows_in(report, metric, scans, block_of(source))

    def gone(self, report: Mapping[str, Any], source: Source) -> int:
        """The rows of a stream that were dropped where they entered, in a batch that is told."""
        shared, batch = self.part.shared, report["batchId"]
        rows = self._rows_in(report, source)
        stayed = self._stayed[batch % BATCHES, source]
        streams = self.dropping.get(batch, ())
        # A batch of which no row stayed has booked nothing.
        dropped = stayed > 0 or (bool(streams) and streams[list(shared.rows).index(source)])
        return max(0, rows - stayed) if dropped else 0

    def lost(self, batch: int, source: Source, of: Aggregate) -> int:
        """The rows of a stream that an aggregate lost on their way to it, in a batch."""
        return self._lost[batch % BATCHES, source, of]

    def told(self) -> set[int]:
        """The batches of which all is told: the watermark has moved since the one before them.

        A batch that could drop nothing has nothing to tell.
        """
        marks = {report["batchId"]: _watermark(report) for report in self.reports}
        latest = max(marks.values(), default=0.0)
        # Where the batch before is not known, its own watermark is a later one.
        before = {
            batch: marks.get(batch - 1, own if batch else 0.0) for batch, own in marks.items()
        }
        return {batch for batch in marks if latest > before[batch] or not self.dropping.get(batch)}


def _watermark(report: Mapping[str, Any]) -> float:
    told = report.get("eventTime", {}).get("watermark")
    return datetime.fromisoformat(told).timestamp() if told is not None else 0.0


def reported(part: Part, name: str, report: Mapping[str, Any]) -> dict[str, int]:
    """What Spark's report of a batch says of rows that a query has taken, now or before.

    Args:
        part: what runs.
        name: of the query.
        report: of the batch.
    """
    total = dict.fromkeys(("rows", *ACCOUNTS[:-1]), 0)
    node = part.graph.queries[name]
    of = {one for feed in part.feeds[node] if isinstance(one := base(feed), Aggregate)}
    seen = report.get("observedMetrics", {}).get(part.metric or "", {})
    for aggregate in of:
        number = part.shared.number[aggregate]
        for what in total:
            total[what] += seen.get(f"a{number}_{what}", 0)
    return total
