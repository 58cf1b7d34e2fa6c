"""What enters a node, and what it hands on: the columns of the topics between nodes.

A record of such a topic is a row as JSON, or a promise of how far rows have come. Every node finds
out by itself which columns those are: it has the whole file, and asks Spark what the queries of the
others would give.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DoubleType, StructField, StructType, TimestampType

from penstock.drops.linear import reach_back
from penstock.drops.targets import Target
from penstock.engine.cql_network import Answers
from penstock.engine.from_toml import toml_queries
from penstock.engine.opening import stream
from penstock.engine.stream import Stream
from penstock.engine.window_query import WindowQuery
from penstock.errors import UsageError, complaint
from penstock.fleet.pipeline import Pipeline
from penstock.network.config import Config, config_of
from penstock.network.operators import Aggregate
from penstock.network.settings import StreamSettings
from penstock.network.tables import Table
from penstock.sources import Source, json, kafka, named
from penstock.sources.kafka import KEPT
from penstock.sources.malformed import MALFORMED

WEIGHT, UP_TO = "handed_weight", "handed_up_to"
"""How many rows a row stands for; of a record that is no row, how far rows have come."""

TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
"""How times are written between nodes: to the microsecond."""

LINK = "link"
"""The source of a stream that another node hands on."""

_OWN = {*KEPT, MALFORMED, WEIGHT, UP_TO}
"""Columns that a source adds: they are not handed on."""


@dataclass(frozen=True)
class Links:
    """The queries of a pipeline as Spark understands them.

    Args:
        pipeline: what the file says.
        queries: box → rows, or windows.
        environ: the variables that `${NAME}` stands for.
    """

    pipeline: Pipeline
    queries: Mapping[str, Answers]
    environ: Mapping[str, str]

    @staticmethod
    def of(pipeline: Pipeline, spark: SparkSession, environ: Mapping[str, str]) -> Links:
        """Asks Spark what all queries would give; nothing is started.

        Args:
            pipeline: what the file says.
            spark: the session.
            environ: the variables that `${NAME}` stands for.
        """
        inputs = {one.name: pipeline.stream_table(one.name) for one in pipeline.network.inputs}
        names = [box.name for box in pipeline.written.ordered]
        boxes = {name: pipeline.view_table(name) for name in names}
        config = _config(pipeline, inputs, {}, boxes)
        links = Links(pipeline, toml_queries(config, spark, named, environ), environ)
        for box in pipeline.network.boxes:
            links.check(box.name)
        return links

    def check(self, box: str) -> None:
        """Refuses what cannot be handed on."""
        query = self.queries[box]
        if isinstance(query, Stream) and query.event_time is None:
            rule = f"must hand its event time on, as a column of [box.{box}] cql"
            raise UsageError(complaint(f"box {box}", rule, query.rows.columns))
        fed = [name for name in self.pipeline.network.box[box].inputs if name in self.queries]
        if fed and self.pipeline.kind(box) == "approximate" and not takes_weights():
            rule = "must be 'subset': approximate ones need streams that take weights"
            raise UsageError(complaint(f"answers of box {box}", rule, "approximate"))

    def window_query(self, box: str) -> WindowQuery:
        """The windows of a box that answers."""
        found = self.queries[box]
        assert isinstance(found, WindowQuery)  # noqa: S101 - the pipeline has looked
        return found

    def target(self, box: str, max_gap: int) -> Target:
        """The windows of a box that answers, as far as the rows of each lie.

        The rows of windows over windows begin before these do: so they are taken to be as much
        longer, with the same numbers and ends.
        """
        query = self.window_query(box)
        window, node = query.query.spec, query.node
        back = reach_back(node) if isinstance(node, Aggregate) else 0
        length = window.range or window.period
        if back and length is not None:
            window = replace(window, range=length + back, period=None)
        return Target(box, window, max_gap)

    def columns(self, box: str) -> list[str]:
        """The columns of the rows that a box hands on."""
        return [field.name for field in self._fields(box)]

    def _fields(self, box: str) -> list[StructField]:
        rows = self.queries[box]
        assert isinstance(rows, Stream)  # noqa: S101 - only rows are handed on
        return [field for field in rows.rows.schema.fields if field.name not in _OWN]

    def schema(self, box: str) -> StructType:
        """The columns of its topic."""
        more = [StructField(WEIGHT, DoubleType()), StructField(UP_TO, TimestampType())]
        return StructType([*self._fields(box), *more])

    def config(self, boxes: list[str], *, answers: bool) -> Config:
        """Some boxes of a node as a network of its own.

        Args:
            boxes: their names.
            answers: whether they are asked for answers, or only for rows.
        """
        streams: dict[str, dict[str, Any]] = {}
        for box in boxes:
            for name in self.pipeline.network.box[box].inputs:
                streams[name] = self._stream(name)
        queries = {
            box: self.pipeline.query_table(box) if answers else self.pipeline.view_table(box)
            for box in boxes
        }
        inner = {name for box in boxes for name in self.pipeline.views(box)} - queries.keys()
        views = {name: self.pipeline.view_table(name) for name in sorted(inner)}
        return _config(self.pipeline, streams, views, queries)

    def _stream(self, name: str) -> dict[str, Any]:
        if name not in self.queries:
            return self.pipeline.stream_table(name)
        of = self.queries[name]
        assert isinstance(of, Stream)  # noqa: S101 - only rows are handed on
        table: dict[str, Any] = {
            "source": LINK,
            "options": {"box": name},
            "event_time": of.event_time,
            "punctuation": {"where": f"{UP_TO} IS NOT NULL", "up_to": UP_TO},
        }
        if takes_weights() and self.pipeline.kind(name) == "approximate":
            table["weight"] = WEIGHT
        return table

    def load(self, kind: str, options: Mapping[str, Any]) -> DataFrame | Source:
        """A source of the file, or a topic between nodes.

        Args:
            kind: of the source.
            options: of the source.
        """
        if kind != LINK:
            return named(kind, options)
        box, control = str(options["box"]), self.pipeline.control
        parse = json(self.schema(box), timestampFormat=TIME)
        return kafka(
            control.servers,
            self.pipeline.topic(box),
            parse=parse,
            starting="earliest",
            options=control.options,
        )


def takes_weights() -> bool:
    """Whether streams can have rows that stand for several."""
    in_files = "weight" in StreamSettings.__dataclass_fields__
    return in_files and "weight" in inspect.signature(stream).parameters


def _config(
    pipeline: Pipeline,
    streams: Mapping[str, Any],
    views: Mapping[str, Any],
    queries: Mapping[str, Any],
) -> Config:
    values = {
        "stream": streams,
        "relation": pipeline.relation_tables,
        "view": views,
        "query": queries,
    }
    return config_of(Table(pipeline.file, (), values))
