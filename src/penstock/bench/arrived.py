"""A run whose rows arrived by a schedule: how long they took, and how many were dropped."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import functions as F

from penstock.drops.kinds import Subset
from penstock.engine.network_run import NetworkRun
from penstock.engine.pulse import Beat


@dataclass(frozen=True)
class Measured:
    """A run, after the rate has been reached and control has settled.

    Args:
        reports: of its batches, by Spark.
        begins: when each publisher began, in seconds since the epoch.
        after: seconds of the schedule until it counts.
    """

    run: NetworkRun
    reports: list[dict[str, Any]]
    begins: Sequence[float]
    after: float

    @property
    def steady(self) -> list[dict[str, Any]]:
        """The batches that count: those whose rows were due when the rate had been reached."""
        some = [report for report in self.reports if report["numInputRows"]]
        return [r for r in some if min(since for since, _ in _seconds(r)) >= self.after]

    @property
    def since(self) -> float:
        """The least event time of a row in them, in microseconds; before it all is warm-up."""
        return min(_event_time(report) for report in self.steady)

    def responses(self, now: float | None = None) -> NDArray[np.float64]:
        """Response times of what each publisher sent in each second: all have as many rows.

        Args:
            now: when the run ended, in seconds since the epoch: then of batches that begin earlier
                what counts is counted too, and what still waits as if it came at that moment. Where
                nothing is shed, the only batch of a span may not have ended in it.
        """
        some = self.steady
        if now is not None:
            some = [report for report in self.reports if report["numInputRows"]]
        found: list[tuple[float, float]] = []  # when it was sent, how long it took
        for publisher, begin in enumerate(self.begins):
            taken = 0
            for report in some:
                ended, (since, until) = Beat.of(report).ended, _seconds(report)[publisher]
                sent = (
                    begin + s + 1 for s in range(since, until) if now is None or s >= self.after
                )
                found += [(at, ended - at) for at in sent]
                taken = until
            if now is not None:
                waiting = range(max(taken, math.ceil(self.after)), int(now - begin))
                sent = (begin + second + 1 for second in waiting)
                found += [(at, now - at) for at in sent]
        return np.array([took for _, took in sorted(found)])

    def shed(self) -> float:
        """The share of the rows that no query got: they were dropped where they entered."""
        batches = {report["batchId"] for report in self.steady}
        some = [status for status in self.run.history if status.batch in batches]
        rows = sum(status.rows for status in some)
        return sum(status.shed for status in some) / rows if rows else 0.0

    def lost(self, asked: Mapping[str, float]) -> float:
        """The share of the rows that queries asked for that they did not get.

        Some rows are kept for one query and dropped on the way to another.

        Args:
            asked: query → the share of all rows that pass its filters.
        """
        batches = {report["batchId"] for report in self.steady}
        wanted = gone = 0.0
        for before, status in itertools.pairwise(self.run.history):
            keeps = {query.name: query.keep for query in before.queries}
            for query in status.queries if status.batch in batches else ():
                mine = status.rows * asked[query.name]
                wanted += mine
                if query.kind == "approximate":
                    gone += mine * (1 - keeps[query.name])
                else:
                    gone += status.shed * asked[query.name] + query.shed - status.shed
        return gone / wanted if wanted else 0.0


def _seconds(report: Mapping[str, Any]) -> list[tuple[int, int]]:
    """The seconds of the schedule that a batch took, of each publisher."""
    return [(int(one["startOffset"] or 0), int(one["endOffset"])) for one in report["sources"]]


def _event_time(report: Mapping[str, Any]) -> float:
    return datetime.fromisoformat(report["eventTime"]["min"]).timestamp() * 1e6


def lost(run: NetworkRun) -> float:
    """The share of windows that were not delivered, of the queries that allow it."""
    asked = run.network.queries.items()
    names = [n for n, q in asked if isinstance(getattr(q, "answers", None), Subset)]
    mine = run.ledger().where(F.col("query").isin(names))
    fates = {row["fate"]: row["count"] for row in mine.groupBy("fate").count().collect()}
    gone = sum(fates.get(fate, 0) for fate in ("dropped", "revoked", "skipped", "lost"))
    came = fates.get("delivered", 0) + fates.get("partly", 0)
    return float(gone / max(1, gone + came))
