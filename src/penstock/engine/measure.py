"""What Spark tells of each batch becomes an observation, from which the statistics are learnt.

Rows and durations come with the batch itself. How many rows pass each operator is told by the batch
after it, with the panes that the watermark has closed; so a batch is learnt from when the next one
has ended.

    progress of batch n      rows of each stream, seconds, backlog, answers that pass operators
    progress of batch n+1    shares of the rows of batch n that pass each operator
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from penstock.control.moments import Answers
from penstock.control.observation import Flow, Observation
from penstock.control.prior import Prior, asking, taking
from penstock.control.statistics import Statistics
from penstock.drops.arrays import Flags
from penstock.engine.backlog import backlog
from penstock.engine.kept_rows import micros, share_kept
from penstock.engine.looking import look
from penstock.engine.part import Part
from penstock.engine.passing import rows_passed
from penstock.engine.pulse import ran
from penstock.engine.results import rows_of
from penstock.engine.shed_accounts import ShedAccounts
from penstock.network.operators import (
    Aggregate,
    Operator,
    Source,
    base,
    inputs,
    kind,
)
from penstock.sources.aside import Aside
from penstock.sources.kafka import Kafka

_log = logging.getLogger(__name__)

EVERY, MOST = 30.0, 1000
"""Seconds after which answers are looked at again, and how many groups."""

KEPT = 100
"""Batches that can be looked at again."""

Write = Callable[[DataFrame, int], None]

Lost = Mapping[Operator, int]
"""Aggregate → rows that were dropped on their way to it."""


@dataclass
class Measure:
    """Learns from the progress of a part of a network.

    Args:
        part: what runs.
        clock: seconds.
        stream: Spark's handle on it, once it runs.
        kinds: operator → its kind, as the statistics name them.
        statistics: what has been learnt.
        observations: the last batches that it was learnt from.
        newest: the largest event time so far, in microseconds since the epoch.
        last: what Spark says of the batch before this one.
        dropping: batch that may have dropped rows → of each stream, whether it did so there.
        kept: batch that asks rows what they are before it takes them in → of each aggregate, the
            share of its rows that it keeps, or the times whose rows it does not.
    """

    part: Part
    clock: Callable[[], float] = time.monotonic
    stream: StreamingQuery | None = None
    kinds: dict[str, str] = field(init=False)
    statistics: Statistics = field(init=False)
    observations: deque[Observation] = field(default_factory=lambda: deque(maxlen=KEPT))
    newest: int | None = None
    last: dict[str, Any] | None = None
    dropping: Mapping[int, Sequence[bool]] = field(default_factory=dict)
    kept: Mapping[int, Mapping[Aggregate, float | Flags]] = field(default_factory=dict)
    _next_look: float = field(init=False)
    _waiting: dict[str, Any] | None = None
    _since: list[Mapping[str, Any]] = field(default_factory=list)
    _learnt: int = -1
    _shares: dict[str, float] = field(default_factory=dict)
    _passed: Counter[Operator] = field(default_factory=Counter)
    _seen: dict[Operator, Answers] = field(default_factory=dict)
    _asides: list[Aside] = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        names, graph = self.part.graph.names, self.part.graph
        self._asides = asides(graph.sources)
        self._next_look = self.clock() + EVERY  # nothing is learnt while Java warms up
        self.kinds = {names[one]: kind(one) for one in graph.operators}
        self.kinds |= {taking(source.name): "taking" for source in self._taking}
        self.kinds |= {asking(source.name): "asking" for source in self._asking}
        streams = [source.name for source in graph.sources]
        self.statistics = Statistics(self.kinds, streams, list(graph.queries))

    @cached_property
    def _taking(self) -> list[Source]:
        """The streams whose rows cost something to be taken in, whoever wants them."""
        return list(self.part.shared.rows) if self.part.shared_sheds else []

    @cached_property
    def _asking(self) -> list[Source]:
        """The streams whose rows are asked by their time whether a query wants them."""
        return [source for source in self._taking if self.part.asks_times(source)]

    @property
    def due(self) -> bool:
        """Whether it is time for a look at the answers of each query."""
        return bool(self.part.delivered) and self.clock() >= self._next_look

    def look(self, batch: DataFrame) -> None:
        """Notes what each query has summed; a job of its own, so it is not done in each batch.

        Args:
            batch: answers, in memory.
        """
        found = look(self.part, batch, MOST)
        if found:
            self._next_look = self.clock() + EVERY
            with self._lock:
                self._seen.update(found.items())

    @property
    def prior(self) -> Prior:
        """What operators are believed to cost."""
        return self.statistics.prior

    def believe(self, prior: Prior) -> None:
        """Takes another belief, from a calibration."""
        with self._lock:
            self.statistics.believe(prior)

    def _note_time(self, report: Mapping[str, Any]) -> None:
        latest = report.get("eventTime", {}).get("max")
        if latest is not None:
            at = micros(latest)
            self.newest = max(at, self.newest or at)

    def catch_up(self) -> None:
        """Learns from what Spark says of the batch before this one; malformed records are kept."""
        last = self.stream.lastProgress if self.stream is not None else None
        if self.stream is not None and last is not None and not ran(last.durationMs):
            told = reversed(self.stream.recentProgress)
            last = next((one for one in told if ran(one.durationMs)), None)
        if last is not None:
            self.last = json.loads(last.json)
            self.take([self.last])

    def take(self, reports: Sequence[Mapping[str, Any]]) -> None:
        """Learns from Spark's reports of batches; those that are known already are passed over."""
        with self._lock:
            for report in reports:
                if report["batchId"] <= self._learnt or not ran(report["durationMs"]):
                    continue
                self._learnt = report["batchId"]
                self._note_time(report)
                self._keep_aside(report)
                self._since.append(report)
                if not report["numInputRows"] and self._waiting is not None:
                    # It only closed windows: what it tells belongs to the batch before it.
                    self._read_shares(report)
                    self._read_passed(report)
                    continue
                if self._waiting is not None:
                    self._read_shares(report)
                    self._learn(self._waiting)
                self._passed.clear()
                self._read_passed(report)
                self._waiting, self._since = dict(report), []

    def _keep_aside(self, report: Mapping[str, Any]) -> None:
        for aside in self._asides:
            try:
                aside.after(report)
            except (PySparkException, OSError):
                # The stream goes on; the next batch makes up for it.
                _log.exception("malformed records of batch %s are not kept yet", report["batchId"])

    def _learn(self, report: Mapping[str, Any]) -> None:
        observation = self._observation(report)
        self.observations.append(observation)
        self.statistics.observe(observation)

    def _read_shares(self, report: Mapping[str, Any]) -> None:
        seen = report.get("observedMetrics", {}).get(self.part.metric or "", {})
        counted = {one: seen.get(f"o{bit}", 0) for bit, one in enumerate(self.part.counted)}
        names = self.part.graph.names
        for source in self.part.graph.sources:
            whole = counted.get(source, 0)
            if whole:
                for one, rows in counted.items():
                    if base(one) == source:
                        self._shares[_key(one, names)] = rows / whole

    def _read_passed(self, report: Mapping[str, Any]) -> None:
        """The answers that pass operators on windows; they are told in the batch itself."""
        if self.part.metric is not None:
            seen = report.get("observedMetrics", {})
            self._passed.update(rows_passed(seen, self.part.on_windows, self.part.metric))

    def _observation(self, report: Mapping[str, Any]) -> Observation:
        graph = self.part.graph
        rows = self.rows(report)
        dropped = self._dropped(report)
        gone, lost = dropped or ({}, {})
        out = self._rows_out(rows, gone)
        known = {one for operators in self.part.on_windows.values() for one in operators}
        flows = {
            graph.names[one]: Flow(
                self._rows_in(one, rows, out, lost),
                None if isinstance(one, Aggregate) and one not in known else out[one],
            )
            for one in graph.operators
        }
        # Rows that were asked first are no sample of all: what is kept of them is what was ordered.
        whole = self._rows_out(rows, {})
        for one, left in self.kept.get(report["batchId"], {}).items():
            share = share_kept(left, report)
            flows[graph.names[one]] = replace(
                flows[graph.names[one]], rows_in=share * sum(whole[i] for i in inputs(one))
            )
        for source in self._taking:
            flows[taking(source.name)] = Flow(out[source], out[source])
        for source in self._asking:
            asked = rows[source.name] * self._share_asked(source, report)
            flows[asking(source.name)] = Flow(asked, asked)
        at = datetime.fromisoformat(str(report["timestamp"])).timestamp()
        seconds = report["durationMs"].get("triggerExecution", 0) / 1000
        return Observation(
            batch=report["batchId"],
            seconds=seconds,
            at=at + seconds,
            rows=rows,
            backlog=backlog(report, graph.sources),
            # What an operator worked on is not known if it is not known what was dropped.
            operators=flows if dropped is not None else {},
            queries=self._answers(),
        )

    def _share_asked(self, source: Source, report: Mapping[str, Any]) -> float:
        """The share of its rows that were asked what is in them.

        They are where a query is kept that has filters; not where one is kept that has none, for
        then all stay.
        """
        left = self.kept.get(report["batchId"])
        if not left:
            return 0.0
        some = [
            (bool(question.predicates), share_kept(left[one], report))
            for question in self.part.asked[source]
            for one in question.aggregates
            if one in left
        ]
        with_filters = max((share for filters, share in some if filters), default=0.0)
        without = max((share for filters, share in some if not filters), default=0.0)
        return with_filters * (1 - without)

    def _rows_in(
        self, one: Operator, rows: Mapping[str, float], out: Mapping[Operator, float], lost: Lost
    ) -> float:
        """What an operator worked on: rows that were dropped before it are no work."""
        if isinstance(one, Source):
            return rows[one.name]
        return max(0.0, sum(out[i] for i in inputs(one)) - lost.get(one, 0))

    def _dropped(self, report: Mapping[str, Any]) -> tuple[dict[str, int], Lost] | None:
        """Rows that were dropped at each stream, and that each aggregate lost; None if not told."""
        if not self.part.shared_sheds:
            return {}, {}
        accounts = ShedAccounts(self.part, [report, *self._since], self.dropping)
        batch, shared = report["batchId"], self.part.shared
        if batch not in accounts.told():
            return None
        gone = {source.name: accounts.gone(report, source) for source in shared.rows}
        lost: Lost = {
            a: sum(accounts.lost(batch, s, a) for s in shared.rows) for a in self.part.level_one
        }
        return gone, lost

    def rows(self, report: Mapping[str, Any]) -> dict[str, float]:
        """The rows that a batch took from each stream."""
        return self.part.rows_read(report)

    def _rows_out(
        self, rows: Mapping[str, float], gone: Mapping[str, int]
    ) -> dict[Operator, float]:
        """Rows that each operator hands on; of windows that nothing stands on they are unknown."""
        names = self.part.graph.names
        stayed = {name: max(0.0, count - gone.get(name, 0)) for name, count in rows.items()}

        def handed_on(feed: Operator) -> float:
            of = base(feed)
            if isinstance(of, Aggregate):
                return self._passed[feed]
            whole = stayed[of.name]
            return whole if feed == of else whole * self._shares.get(_key(feed, names), 1.0)

        return {one: sum(map(handed_on, fed_by)) for one, fed_by in self.part.feeds.items()}

    def _answers(self) -> dict[str, Answers]:
        queries = self.part.graph.queries
        found = {n: self._seen[node] for n, node in queries.items() if node in self._seen}
        self._seen = {}
        return found


def asides(sources: Sequence[Source]) -> list[Aside]:
    """What keeps the malformed records of the streams that name a folder for them."""
    found = []
    for source in sources:
        origin = source.origin.of if source.origin is not None else None
        if isinstance(origin, Kafka) and origin.malformed is not None:
            found.append(Aside(origin, rows_of(source).sparkSession))
    return found


def _key(feed: Operator, names: Mapping[Operator, str]) -> str:
    """A feed is no operator of the graph where a union was taken apart: its text is its name."""
    return names.get(feed) or f"{base(feed)} {feed}"
