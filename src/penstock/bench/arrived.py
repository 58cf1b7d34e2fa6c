"""A run whose rows arrived by a schedule: how long they took, and how many were dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.network_run import NetworkRun
from penstock.engine.pulse import Beat


@dataclass(frozen=True)
class Measured:
    """A run, after the rate has been reached and control has settled.

    Args:
        reports: of its batches, by Spark.
        created: when its schedule began, in seconds since the epoch.
        after: seconds of the schedule until it counts.
    """

    run: NetworkRun
    reports: list[dict[str, Any]]
    created: float
    after: float

    @property
    def steady(self) -> list[dict[str, Any]]:
        """The batches that count: those whose rows were due when the rate had been reached."""
        return [r for r in self.reports if r["numInputRows"] and _seconds(r)[0] >= self.after]

    @property
    def since(self) -> float:
        """The least event time of a row in them, in microseconds; before it all is warm-up."""
        return min(_event_time(report) for report in self.steady)

    def responses(self) -> NDArray[np.float64]:
        """Response times, as many of each batch as it has rows, in thousands."""
        found = []
        for report in self.steady:
            beat, (first, last) = Beat.of(report), _seconds(report)
            arrived = np.linspace(first, last, max(1, report["numInputRows"] // 1000))
            found.append(beat.ended - self.created - arrived)
        return np.concatenate(found)

    def shed(self, asked: Mapping[str, float]) -> float:
        """The share of the rows that queries asked for that was dropped.

        Args:
            asked: query → the share of all rows that pass its filters.
        """
        batches = {report["batchId"] for report in self.steady}
        wanted = gone = 0.0
        for status in self.run.history:
            for query in status.queries if status.batch in batches else ():
                on_the_way = query.shed - status.shed
                wanted += status.rows * asked[query.name]
                gone += status.shed * asked[query.name] + on_the_way
        return gone / wanted if wanted else 0.0


def _seconds(report: Mapping[str, Any]) -> tuple[float, float]:
    """The seconds of the schedule that a batch took."""
    (source,) = report["sources"]
    return float(source["startOffset"] or 0), float(source["endOffset"])


def _event_time(report: Mapping[str, Any]) -> float:
    return datetime.fromisoformat(report["eventTime"]["min"]).timestamp() * 1e6


def created(checkpoint: Path) -> float:
    """When the rate source began, in seconds since the epoch."""
    text = (checkpoint / "sources" / "0" / "0").read_text(encoding="utf-8")
    return int(text.split()[-1]) / 1000


def lost(run: NetworkRun) -> float:
    """The share of windows that were not delivered."""
    fates = {row["fate"]: row["count"] for row in run.ledger().groupBy("fate").count().collect()}
    gone = sum(fates.get(fate, 0) for fate in ("dropped", "revoked", "skipped", "lost"))
    came = fates.get("delivered", 0) + fates.get("partly", 0)
    return float(gone / max(1, gone + came))
