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

from penstock.control.snapshot import Snapshot
from penstock.engine.deliver import Sink, writes
from penstock.engine.fleet.costs import Together, believe, snapshot_of
from penstock.engine.fleet.links import Links
from penstock.engine.fleet.turning import Turning, keep
from penstock.engine.network_run import NetworkRun
from penstock.engine.toml_network import toml_network
from penstock.fleet.dropped import Runs
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
    _together: Together | None = None
    _turning: Turning | None = None

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
            if pipeline.kind(name) == "subset"
            else sink
            for name, sink in made.sinks.items()
        }
        # Several streams take turns on the node's cores: what they may bring is decided for all of
        # them together. One alone knows all there is to know.
        several = len(made.network.split.parts) > 1
        self.run = made.network.start(
            self.checkpoint,
            sinks=sinks,
            trigger=dict(trigger),
            mode=pipeline.run.mode,
            latency=None if several else pipeline.run.latency,
        )
        for part in self.run.parts:
            if part.control is not None:
                part.control.chronicle.go_on()
            if part.shedder is not None:
                part.shedder.upstream = self.known
            believe(pipeline, part)
        parts = tuple(part for part in self.run.parts if part.control is not None)
        together = Together(pipeline, tuple(part.queries for part in parts))
        self._together = together
        dropping = tuple(part for part in parts if part.shedder is not None)
        self._turning = Turning(pipeline, dropping, lambda: together.costs) if several else None
        return self.run

    def hold(self, keeps: Mapping[Location, float]) -> None:
        """Keeps no more than is planned, whatever the node itself could bear.

        What is still too much it finds out by itself.

        Args:
            keeps: the share at drop locations.
        """
        if self.run is None:
            return
        shares = {}
        for box in self.links.pipeline.windows(self.node):
            of = [s for p, s in keeps.items() if p.after in box.inputs and box.name in p.before]
            shares[box.name] = min(of, default=1.0)
        if self._turning is not None:
            self._turning.planned = shares
            return
        for part in self.run.parts:
            if part.shedder is not None:
                keep(part.shedder, {name: shares[name] for name in part.queries})

    @property
    def accounts(self) -> dict[str, dict[str, int]]:
        """Of each box, where its rows went."""
        return {} if self.run is None else self.run.accounts

    def now(self) -> Snapshot | None:
        """What has been learnt, with an operator for each box."""
        if self.run is None or self._together is None:
            return None
        self.run.status()
        return snapshot_of(self.run, self._together)

    @property
    def responses(self) -> list[tuple[float, float]]:
        """When batches ended, and the response time that 95 % of their rows stay below."""
        history = self.run.history if self.run is not None else ()
        return [(one.at, one.response) for one in history if one.response is not None]
