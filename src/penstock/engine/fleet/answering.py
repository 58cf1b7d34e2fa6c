"""Boxes with windows: a network over topics, whose answers are whole or are not given.

    topic ─► network of penstock ─► answers ─► windows that others have dropped ✗ ─► sink

Before answers go out, all that was said on the control topic is read. Every row in them was handed
on after its node had said which windows it drops: so what is not named by then is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.control.costs import Costs
from penstock.control.snapshot import OperatorStatistics, Snapshot, StreamStatistics
from penstock.engine.deliver import Sink, writes
from penstock.engine.fleet.links import Links
from penstock.engine.network_run import NetworkRun, RunningPart
from penstock.engine.pulse import Beat
from penstock.engine.toml_network import toml_network
from penstock.fleet.dropped import Runs
from penstock.fleet.pipeline import Pipeline
from penstock.network.operators import Operator, Source, inputs
from penstock.nodes.splits import Location
from penstock.windows import WindowSpec, window_end

_MOST = 20_000
"""Windows that are looked for among answers: the newest that were dropped."""

Told = Callable[[], Mapping[str, Runs]]
"""Reads all that was said until now → query, and its windows that others have dropped."""


@dataclass(frozen=True)
class WholeOnly:
    """A sink for windows that nobody upstream has dropped.

    Args:
        inner: the sink.
        query: its name.
        window: of the query.
        told: what others have dropped.
    """

    inner: Sink
    query: str
    window: WindowSpec
    told: Told

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Hands on what is whole."""
        runs = self.told().get(self.query, ())
        ends = [window_end(w, self.window) for first, last in runs for w in range(first, last + 1)]
        if ends:
            spark = batch.sparkSession
            gone = spark.createDataFrame([(end,) for end in ends[-_MOST:]], "gone bigint")
            same = F.unix_micros("window_end") == F.col("gone")
            batch = batch.join(F.broadcast(gone), same, "left_anti")
        writes(self.inner)(batch, batch_id)


@dataclass
class Answering:
    """The boxes with windows of a node.

    Args:
        links: the pipeline.
        node: its name.
        checkpoint: of its streams.
        told: what others have dropped; read to the end.
        known: the same, as far as it was heard.
    """

    links: Links
    node: str
    checkpoint: str
    told: Told
    known: Told
    run: NetworkRun | None = None

    def start(self, trigger: Mapping[str, Any]) -> NetworkRun:
        """Starts the streams, or goes on where their checkpoint ends.

        Args:
            trigger: as Spark takes it.
        """
        pipeline = self.links.pipeline
        boxes = [box.name for box in pipeline.windows(self.node)]
        made = toml_network(
            self.links.config(boxes, answers=True),
            SparkSession.active(),
            self.links.load,
            self.links.environ,
        )
        sinks: dict[str, Sink] = {
            name: WholeOnly(sink, name, self.links.window_query(name).query.spec, self.told)
            for name, sink in made.sinks.items()
        }
        self.run = made.network.start(
            self.checkpoint,
            sinks=sinks,
            trigger=dict(trigger),
            mode=pipeline.run.mode,
            latency=pipeline.run.latency,
        )
        for part in self.run.parts:
            if part.shedder is not None:
                part.shedder.upstream = self.known
        return self.run

    def hold(self, keeps: Mapping[Location, float]) -> None:
        """Keeps no more than is planned, whatever the node itself could bear.

        Args:
            keeps: the share at drop locations.
        """
        if self.run is None:
            return
        shares = {}
        for box in self.links.pipeline.windows(self.node):
            of = [s for p, s in keeps.items() if p.after in box.inputs and box.name in p.before]
            shares[box.name] = min(of, default=1.0)
        for part in self.run.parts:
            if part.shedder is not None:
                mine = {name: share for name, share in shares.items() if name in part.queries}
                subset = {n: round(1 - s, 3) for n, s in mine.items() if n in part.shedder.targets}
                rest = {n: max(s, 0.001) for n, s in mine.items() if n not in subset}
                part.shedder.floor = part.shedder.ordering.by_hand(rest, subset)

    @property
    def accounts(self) -> dict[str, dict[str, int]]:
        """Of each box, where its rows went."""
        return {} if self.run is None else self.run.accounts

    def now(self) -> Snapshot | None:
        """What has been learnt, with an operator for each box."""
        if self.run is None:
            return None
        self.run.status()
        return snapshot_of(self.links.pipeline, self.run)

    def p95(self) -> float | None:
        """The 95th percentile of response times of the last hundred batches, in seconds."""
        if self.run is None:
            return None
        some = sorted(s.response for s in self.run.history[-100:] if s.response is not None)
        return some[int(0.95 * (len(some) - 1))] if some else None


def snapshot_of(pipeline: Pipeline, run: NetworkRun) -> Snapshot:
    """What several Spark streams of a node have learnt, with an operator for each box.

    Streams that run at the same time take each other's: what a row costs is less than what a batch
    takes for it, by the share of time that is counted twice.
    """
    alone = busy_share([_spans(part) for part in run.parts])
    boxes: dict[str, OperatorStatistics] = {}
    streams: dict[str, StreamStatistics] = {}
    fixed, batches = 0.0, 0
    for part in run.parts:
        if part.measure is None:
            continue
        seen = part.measure.statistics.now
        fixed += alone * seen.costs.fixed
        batches = max(batches, seen.costs.batches)
        streams |= seen.streams
        for name in part.queries:
            cost = alone * _cost(part, seen, name)
            kept = pipeline.network.box[name].selectivity
            boxes[name] = OperatorStatistics(name, "box", 0.0, 0.0, kept, cost, 0.0, None)
    costs = Costs(fixed, {n: one.cost for n, one in boxes.items()}, 0.0, {}, 0.0, batches)
    return Snapshot(batches, costs, boxes, streams, {}, {}, {}, None)


def _cost(part: RunningPart, seen: Snapshot, name: str) -> float:
    """Seconds for a row of a query's stream that is not dropped, by the operators on its way."""
    assert part.part is not None  # noqa: S101 - it is measured
    graph = part.part.graph

    def passed(one: Operator) -> float:
        if isinstance(one, Source):
            return 1.0  # what is dropped there is no less work for a row that is not
        return seen.operators[graph.names[one]].selectivity or 1.0

    reach: dict[Operator, float] = {}
    total = 0.0
    needed = {graph.queries[name]}
    for one in reversed(graph.operators):
        if one in needed:
            needed.update(inputs(one))
    for one in graph.operators:
        if one not in needed:
            continue
        known = seen.operators[graph.names[one]]
        fed = inputs(one)
        reach[one] = 1.0
        if fed:
            reach[one] = sum(reach[i] * passed(i) for i in fed)
        total += reach[one] * known.cost
    return total


def _spans(part: RunningPart) -> list[tuple[float, float]]:
    """When the last batches of a stream ran."""
    beats = [Beat.of(report) for report in part.run.progress[-30:]]
    return [(beat.began, beat.ended) for beat in beats if beat.ended > beat.began]


def busy_share(several: list[list[tuple[float, float]]]) -> float:
    """The time in which anything ran, for each second that anything took.

    Args:
        several: of each stream, when its batches began and ended, in seconds.

    >>> busy_share([[(0, 2)], [(0, 2)]]), busy_share([[(0, 1)], [(1, 3)]])
    (0.5, 1.0)
    """
    spans = sorted(span for one in several for span in one)
    taken = sum(end - begin for begin, end in spans)
    union, until = 0.0, float("-inf")
    for begin, end in spans:
        union += max(0.0, end - max(begin, until))
        until = max(until, end)
    return union / taken if taken > 0 else 1.0
