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

from penstock.engine.arrivals import rows_in
from penstock.engine.books import AT_STREAM, BATCHES, placed, places
from penstock.engine.part import Part
from penstock.engine.tally import BOOKED
from penstock.network.operators import Aggregate, Source, depth, upstream

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
        known = places(self.part.shared)
        for report in self.reports:
            metrics = report.get("observedMetrics", {}).get(self.part.metric, {})
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
        below = list(upstream(self.part.graph.queries[name]))
        sources = [one for one in below if isinstance(one, Source)]
        ones = [one for one in below if isinstance(one, Aggregate) and depth(one) == 1]
        found = {batch: dict.fromkeys(SHED_ACCOUNTS, 0) for batch in self._told()}
        for report in self.reports:
            total = found.get(report["batchId"])
            for source in sources if total is not None else ():
                for aggregate in ones:
                    if source in upstream(aggregate):
                        self._add(total or {}, report, source, aggregate)
        return found

    def _add(
        self, total: dict[str, int], report: Mapping[str, Any], source: Source, of: Aggregate
    ) -> None:
        shared, batch = self.part.shared, report["batchId"]
        rows = rows_in(report, shared.arriving(source), self.part.scans(source))
        if not rows:
            return  # Spark also reports that nothing came
        stayed = self._stayed[batch % BATCHES, source]
        lost = self._lost[batch % BATCHES, source, of]
        streams = self.dropping.get(batch, ())
        # A batch of which no row stayed has booked nothing.
        dropped = stayed > 0 or (bool(streams) and streams[list(shared.rows).index(source)])
        gone = rows - stayed if dropped else 0
        total["rows_in"] += rows
        total["shed_at_stream"] += gone
        total["shed_on_the_way"] += lost
        total["taken"] += rows - gone - lost

    def _told(self) -> set[int]:
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
