"""The rows of relays as DataFrames: what enters, what becomes of it, what is handed on.

rows of all streams, in one batch ─┬─► fate at each gate ─► counted
                                   └─► kept ─► query of the box ─► records for its topic
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.drops.orders import Orders
from penstock.drops.targets import Target
from penstock.engine.fleet.carried import carrying
from penstock.engine.fleet.links import TIME, UP_TO, WEIGHT, Links
from penstock.engine.from_toml import toml_queries
from penstock.engine.operators import built
from penstock.engine.orders import TYPE, as_row, chance, stays
from penstock.engine.step import quoted
from penstock.engine.stream import Stream
from penstock.errors import UsageError, complaint
from penstock.fleet.gates import Gate
from penstock.network.operators import Operator, Source, upstream
from penstock.sources.kafka import KEPT
from penstock.sources.malformed import MALFORMED

HEADER = "penstock-batch-id"
FATES = ("kept", "shed", "no_time")
_KEY, _TIME, _FATE, _UP_TO = "handed_key", "handed_time", "handed_fate", "handed_promise"
_EARLIER = 60_000
"""Milliseconds by which clocks may differ."""


@dataclass
class Handing:
    """The relays of a node.

    Args:
        links: the pipeline.
        node: its name.
        boxes: its relays.
        gates: where rows enter them.
        queries: box → its rows.
        sources: stream → what enters.
    """

    links: Links
    node: str
    boxes: list[str] = field(init=False)
    gates: list[Gate] = field(init=False)
    queries: dict[str, Stream] = field(init=False)
    sources: dict[str, Source] = field(init=False)

    def __post_init__(self) -> None:
        pipeline = self.links.pipeline
        self.boxes = [box.name for box in pipeline.relays(self.node)]
        config = self.links.config(self.boxes, answers=False)
        found = toml_queries(config, SparkSession.active(), self.links.load, self.links.environ)
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

    def _targets(self, box: str) -> tuple[Target, ...]:
        pipeline = self.links.pipeline
        if pipeline.kind(box) != "subset":
            return ()
        gaps = {last: int(pipeline.query_table(last)["max_gap"]) for last in pipeline.below(box)}
        return tuple(self.links.target(last, gap) for last, gap in gaps.items())

    def rows(self) -> DataFrame:
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
        pipeline = self.links.pipeline
        names = [name for box in self.boxes for name in (*pipeline.views(box), box)]
        texts = [pipeline.definitions[name].text.lower() for name in names]
        unread = {*KEPT, MALFORMED} - set(source.identity)
        return rows.drop(*(n for n in unread if not any(n in text for text in texts)))

    def passed(
        self, batch: DataFrame, orders: Orders, number: int
    ) -> tuple[DataFrame, list[dict[str, Any]]]:
        """All records that a batch hands on, and what became of its rows at each gate.

        Args:
            batch: in memory, for it is looked at several times.
            orders: for the gates.
            number: of the batch.
        """
        told = batch.sparkSession.createDataFrame([(as_row(orders),)], f"orders {TYPE}")
        entering = [self._entering(batch, gate, told.scalar()) for gate in self.gates]
        return self._out(entering, told.scalar(), number), _counted(entering)

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
        own = getattr(source, "weight", None) or (WEIGHT if link else None)
        weight = F.coalesce(F.col(quoted(own)), F.lit(1.0)) if own else F.lit(1.0)
        names = [F.col(quoted(name)).cast("string") for name in source.identity]
        stands_for = weight / share if gate.kind == "approximate" else weight
        rows = rows.where(F.col(_FATE) == "kept").drop(_TIME, _FATE, _UP_TO)
        key = F.concat_ws("/", F.lit(source.name), *names)
        return rows.withColumn(WEIGHT, stands_for).withColumn(_KEY, key)

    def written(self, spark: SparkSession, number: int, since: int) -> DataFrame:
        """What the first attempt of a batch has written.

        Args:
            spark: the session.
            number: of the batch.
            since: when it may have begun, in milliseconds since the epoch.
        """
        control, pipeline = self.links.pipeline.control, self.links.pipeline
        options = {
            **control.options,
            "kafka.bootstrap.servers": control.servers,
            "subscribe": ",".join(map(pipeline.topic, self.boxes)),
            "startingTimestamp": str(max(0, since - _EARLIER)),
            "startingOffsetsByTimestampStrategy": "latest",
            "includeHeaders": "true",
        }
        records = spark.read.format("kafka").options(**options).load()
        mine = F.exists(
            F.coalesce(F.col("headers"), F.array()),
            lambda h: (h["key"] == HEADER) & (h["value"].cast("string") == str(number)),
        )
        return records.where(mine).select("topic", F.col("key").cast("string").alias("key"))


def _counted(entering: list[DataFrame]) -> list[dict[str, Any]]:
    """What became of the rows at each gate, and how far they have come; one job for all."""
    each = [
        rows.agg(
            F.lit(place).alias("place"),
            F.count(F.when(F.col(_FATE) != "promise", 1)).alias("rows"),
            *(F.count(F.when(F.col(_FATE) == fate, 1)).alias(fate) for fate in FATES),
            F.max(F.when(F.col(_FATE) != "promise", F.col(_TIME))).alias("newest"),
            F.max(_UP_TO).alias("up_to"),
        )
        for place, rows in enumerate(entering)
    ]
    found = [row.asDict() for row in reduce(DataFrame.union, each).collect()]
    return sorted(found, key=lambda one: one["place"])
