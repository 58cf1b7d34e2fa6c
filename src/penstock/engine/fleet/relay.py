"""Boxes without windows: rows enter through gates, pass a query, and go into topics.

    topic ─► rows ─┬─[gate]─► query of a1 ─► topic a1      one Spark stream for all boxes of a node
                   └─[gate]─► query of a2 ─► topic a2

    batch N ─► written ─► promises ─► "these windows are dropped" ─► record of N+1 ─► commit

A row is there once: its key tells it apart, and a batch that is run again leaves out what its first
attempt has written. What is said and written comes in this order, so that whoever is killed at any
place between has dropped nothing that others do not know of.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from penstock.drops.orders import Orders
from penstock.drops.targets import Target
from penstock.engine.fleet.bearing import Bearing
from penstock.engine.fleet.bus import Bus
from penstock.engine.fleet.carried import carrying
from penstock.engine.fleet.links import TIME, UP_TO, WEIGHT, Links
from penstock.engine.fleet.records import Accounts, Record, Records
from penstock.engine.from_toml import toml_queries
from penstock.engine.operators import built
from penstock.engine.orders import TYPE, as_row, chance, stays
from penstock.engine.step import quoted
from penstock.engine.stream import Stream
from penstock.errors import UsageError, complaint
from penstock.fleet.dropped import announced
from penstock.fleet.gates import Gate, Seen, decided
from penstock.fleet.messages import Mailbox
from penstock.network.operators import Operator, Source, upstream
from penstock.sources.kafka import KEPT
from penstock.sources.malformed import MALFORMED

_log = logging.getLogger(__name__)

HEADER = "penstock-batch-id"
_KEY, _TIME, _FATE, _UP_TO = "handed_key", "handed_time", "handed_fate", "handed_promise"
_FATES = ("kept", "shed", "no_time")
_COUNTS = ("rows", *_FATES)
_EARLIER = 60_000
"""Milliseconds by which clocks may differ."""

Keeps = Callable[[float], tuple[float, ...]]
"""The share that the node can bear → what each gate may keep."""


@dataclass
class Relay:
    """The relays of a node, as one Spark stream.

    Args:
        links: the pipeline.
        node: its name.
        checkpoint: of the stream.
        bus: for promises, and for what is dropped.
        mailbox: of the node.
        keeps: what gates may keep now.
    """

    links: Links
    node: str
    checkpoint: str
    bus: Bus
    mailbox: Mailbox
    keeps: Keeps
    query: StreamingQuery | None = None
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        pipeline = self.links.pipeline
        self.boxes = [box.name for box in pipeline.relays(self.node)]
        spark = SparkSession.active()
        config = self.links.config(self.boxes, answers=False)
        found = toml_queries(config, spark, self.links.load, self.links.environ)
        self.queries = {name: one for name, one in found.items() if isinstance(one, Stream)}
        self.sources = {
            one.name: one
            for query in self.queries.values()
            for one in upstream(query.node)
            if isinstance(one, Source)
        }
        for source in self.sources.values():
            if not source.identity or source.event_time is None:
                rule = "must have an event time, and columns that tell its rows apart (identity)"
                raise UsageError(complaint(f"input {source.name}", rule, source.identity))
        self.gates = [
            Gate(box, name, pipeline.kind(box), self._targets(box))
            for box in self.boxes
            for name in pipeline.network.box[box].inputs
        ]
        self.bearing = Bearing(pipeline, self.node, self.gates)
        self.records = Records(self.checkpoint, len(self.gates))
        self.record = Record(Orders(0, (), (), ()))

    def _targets(self, box: str) -> tuple[Target, ...]:
        pipeline = self.links.pipeline
        if pipeline.kind(box) != "subset":
            return ()
        gaps = {last: int(pipeline.query_table(last)["max_gap"]) for last in pipeline.below(box)}
        return tuple(
            Target(last, self.links.window_query(last).query.spec, gap)
            for last, gap in gaps.items()
        )

    def start(self, trigger: Mapping[str, Any]) -> StreamingQuery:
        """Starts the stream, or goes on where its checkpoint ends.

        Args:
            trigger: as Spark takes it.
        """
        batch, self.record, begun, wrong = self.records.first()
        if wrong:
            self._tell(wrong)
        self._again = batch if begun else -1
        # Whoever read the record of a batch that has not ended must know of its windows.
        self._announce(self.record)
        self.records.write(batch, self.record)
        writer = self._rows().writeStream.foreachBatch(self._take)
        writer = writer.option("checkpointLocation", self.checkpoint).trigger(**trigger)
        self.query = writer.queryName(f"{self.node} relays").start()
        return self.query

    def _rows(self) -> DataFrame:
        """The rows of all streams, each in a column of its own."""
        parts = []
        for number, source in enumerate(self.sources.values()):
            rows = self._needed(source)
            columns = [F.lit(number).alias("number")]
            for other, one in enumerate(self.sources.values()):
                of = self._needed(one)
                kind = F.lit(None).cast(of.select(F.struct("*")).schema[0].dataType)
                value = F.struct("*") if other == number else kind
                columns.append(value.alias(f"s{other}"))
            parts.append(rows.select(*columns))
        return reduce(DataFrame.union, parts)

    def _needed(self, source: Source) -> DataFrame:
        """The rows of a stream, without the bytes of their records if no query names them."""
        rows = source.rows.of
        assert isinstance(rows, DataFrame)  # noqa: S101 - only DataFrames are put there
        texts = [self.links.pipeline.definitions[box].text.lower() for box in self.boxes]
        unread = {*KEPT, MALFORMED} - set(source.identity)
        return rows.drop(*(n for n in unread if not any(n in text for text in texts)))

    def _take(self, batch: DataFrame, number: int) -> None:
        """The whole of a batch, up to its control point."""
        spark = batch.sparkSession
        spark.conf.set("spark.sql.adaptive.enabled", "false")  # there is nothing to adapt to
        self.bearing.enter()
        # Rows are counted, and then go to each box: they are read once.
        batch = batch.persist()
        try:
            told = spark.createDataFrame([(as_row(self.record.orders),)], f"orders {TYPE}")
            entering = [self._entering(batch, gate, told.scalar()) for gate in self.gates]
            looks = _counted(entering)
            out = self._out(entering, told.scalar(), number)
            if number == self._again:
                out = out.join(self._written(spark, number), ["topic", "key"], "left_anti")
            control = self.links.pipeline.control
            options = {"kafka.acks": "all", **control.options}
            options["kafka.bootstrap.servers"] = control.servers
            out.write.format("kafka").options(**options).save()
        finally:
            batch.unpersist()
        self._end(number, looks)

    def _entering(self, batch: DataFrame, gate: Gate, told: Column) -> DataFrame:
        """The records of a stream, each with what becomes of it at a gate."""
        place, source = self.gates.index(gate), self.sources[gate.stream]
        number = list(self.sources).index(source.name)
        rows = batch.where(F.col("number") == number).select(f"s{number}.*")
        time = F.unix_micros(F.col(quoted(source.event_time or "")))
        u = chance([F.col(quoted(name)) for name in source.identity])
        stay = stays(F.get(told["folds"], F.lit(place)), u, time)
        fate = F.when(time.isNull(), "no_time").when(stay, "kept").otherwise("shed")
        up_to = F.lit(None).cast("bigint")
        if source.name in self.links.queries:
            up_to = F.unix_micros(UP_TO)
            fate = F.when(F.col(UP_TO).isNotNull(), "promise").otherwise(fate)
        return rows.select("*", time.alias(_TIME), fate.alias(_FATE), up_to.alias(_UP_TO))

    def _out(self, entering: list[DataFrame], told: Column, number: int) -> DataFrame:
        """All records that a batch hands on."""
        found = []
        for box in self.boxes:
            known: dict[Operator, DataFrame] = {}
            for place, gate in enumerate(self.gates):
                if gate.box == box:
                    source = self.sources[gate.stream]
                    share = F.get(told["keeps"], F.lit(place))
                    known[source] = self._kept(entering[place], source, gate, share)
            rows = built(carrying(self.queries[box].node, (WEIGHT, _KEY)), known)
            columns = [F.col(quoted(name)) for name in self.links.columns(box)]
            row = F.struct(*columns, F.col(WEIGHT))
            header = F.struct(
                F.lit(HEADER).alias("key"), F.lit(str(number)).cast("binary").alias("value")
            )
            found.append(
                rows.select(
                    F.lit(self.links.pipeline.topic(box)).alias("topic"),
                    F.lit(0).alias("partition"),
                    F.col(_KEY).alias("key"),
                    F.to_json(row, {"timestampFormat": TIME}).alias("value"),
                    F.array(header).alias("headers"),
                )
            )
        return reduce(DataFrame.union, found)

    def _kept(self, rows: DataFrame, source: Source, gate: Gate, share: Column) -> DataFrame:
        """The rows that pass a gate, with what they stand for and what tells them apart."""
        link = source.name in self.links.queries
        weight = F.coalesce(F.col(WEIGHT), F.lit(1.0)) if link else F.lit(1.0)
        names = [F.col(quoted(name)).cast("string") for name in source.identity]
        stands_for = weight / share if gate.kind == "approximate" else weight
        rows = rows.where(F.col(_FATE) == "kept").drop(_TIME, _FATE, _UP_TO)
        key = F.concat_ws("/", F.lit(source.name), *names)
        return rows.withColumn(WEIGHT, stands_for).withColumn(_KEY, key)

    def _written(self, spark: SparkSession, number: int) -> DataFrame:
        """What the first attempt of a batch has written."""
        control, pipeline = self.links.pipeline.control, self.links.pipeline
        options = {
            **control.options,
            "kafka.bootstrap.servers": control.servers,
            "subscribe": ",".join(map(pipeline.topic, self.boxes)),
            "startingTimestamp": str(max(0, self.record.written - _EARLIER)),
            "startingOffsetsByTimestampStrategy": "latest",
            "includeHeaders": "true",
        }
        records = spark.read.format("kafka").options(**options).load()
        mine = F.exists(
            F.coalesce(F.col("headers"), F.array()),
            lambda h: (h["key"] == HEADER) & (h["value"].cast("string") == str(number)),
        )
        return records.where(mine).select("topic", F.col("key").cast("string").alias("key"))

    def _end(self, number: int, looks: Sequence[Mapping[str, Any]]) -> None:
        """The control point: promises, decisions, the record of the next batch."""
        before = self.record
        seen, promised, accounts = dict(before.seen), dict(before.promised), before.accounts
        for gate, look in zip(self.gates, looks, strict=True):
            name = gate.stream
            seen[name] = before.seen.get(name, Seen()).after(look["newest"])
            source, newest = self.sources[name], seen[name].newest
            up_to = look["up_to"]
            if name not in self.links.queries and newest is not None:
                up_to = newest - source.slack
            if up_to is not None:
                promised[name] = max(up_to, promised.get(name, up_to))
        self._promise(promised)
        accounts = _added(accounts, self.gates, looks)
        bears = self.bearing.step(number, looks, self.query)
        keeps = self.keeps(bears)
        widest = max(seen.values(), key=lambda one: one.newest or 0)
        state, orders = decided(before.state, self.gates, keeps, widest, number + 1)
        record = Record(
            Orders(number + 1, (), orders, ()),
            state,
            seen,
            promised,
            accounts,
            int(time.time() * 1000),
        )
        self._announce(record)
        self.records.write(number + 1, record)
        self.record, self._again = record, -1

    def _promise(self, promised: Mapping[str, int]) -> None:
        """Tells readers how far rows have come; all that is older is in their topic by now."""
        pipeline = self.links.pipeline
        for box in self.boxes:
            inputs = pipeline.network.box[box].inputs
            if all(name in promised for name in inputs):
                at = datetime.fromtimestamp(min(promised[n] for n in inputs) / 1e6, UTC)
                text = at.isoformat(timespec="microseconds").replace("+00:00", "Z")
                self.bus.put(pipeline.topic(box), [json.dumps({UP_TO: text}).encode()])

    def _announce(self, record: Record) -> None:
        """Tells which windows are dropped, before any row of them is."""
        names = {target.name for gate in self.gates for target in gate.targets}
        if any(record.state.runs(name) for name in names):
            message = self.mailbox.write("dropped", announced(record.state, sorted(names)))
            self.bus.send([message], surely=True)

    @property
    def accounts(self) -> Accounts:
        """Box → its rows, and those of them that were kept, shed, or had no time."""
        return self.record.accounts

    def _tell(self, problem: str) -> None:
        self.problems.append(problem)
        _log.warning(problem)


def _counted(entering: list[DataFrame]) -> list[dict[str, Any]]:
    """What became of the rows at each gate, and how far they have come; one job for all."""
    each = [
        rows.agg(
            F.lit(place).alias("place"),
            F.count(F.when(F.col(_FATE) != "promise", 1)).alias("rows"),
            *(F.count(F.when(F.col(_FATE) == fate, 1)).alias(fate) for fate in _FATES),
            F.max(F.when(F.col(_FATE) != "promise", F.col(_TIME))).alias("newest"),
            F.max(_UP_TO).alias("up_to"),
        )
        for place, rows in enumerate(entering)
    ]
    found = [row.asDict() for row in reduce(DataFrame.union, each).collect()]
    return sorted(found, key=lambda one: one["place"])


def _added(
    accounts: Accounts, gates: Sequence[Gate], looks: Sequence[Mapping[str, Any]]
) -> dict[str, dict[str, int]]:
    found = {box: dict(rows) for box, rows in accounts.items()}
    for gate, look in zip(gates, looks, strict=True):
        mine = found.setdefault(gate.box, dict.fromkeys(_COUNTS, 0))
        for name in _COUNTS:
            mine[name] += int(look[name] or 0)
    return found
