"""A network in a TOML file: its streams, relations, views and queries, checked without Spark.

latency = "3 seconds"                   [stream.packets]      source, event_time, slack, …
answers = "approximate"                 [relation.hosts]      path, format
                                        [view.web]            cql
                                        [query.web_bytes]     cql, weight, answers, …
                                        [run]                 mode, checkpoint, trigger, …
                                        [statistics.stream.packets]   rate
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from penstock.errors import complaint, did_you_mean
from penstock.network.cql import Definition, parse_query
from penstock.network.graph import Graph
from penstock.network.operators import Handle, Source
from penstock.network.outline import outline
from penstock.network.query import LATE
from penstock.network.run_table import confidence_of, run_of, sink_of
from penstock.network.settings import (
    ANSWERS,
    PER,
    AnswerKind,
    Per,
    QuerySettings,
    RelationSettings,
    RunSettings,
    StreamSettings,
)
from penstock.network.stream_table import micros, progress_of, slack_of, weight_of
from penstock.network.tables import ConfigError, Table, text_of, top_table
from penstock.windows import Late


@dataclass(frozen=True, slots=True)
class Config:
    """A network as a file describes it.

    Args:
        file: its name.
        definitions: the views, then the queries.
        statistics: what is known of the network without having run it, for `penstock plan`.
        run: how it is run.
    """

    file: str
    streams: Mapping[str, StreamSettings]
    relations: Mapping[str, RelationSettings]
    definitions: tuple[Definition, ...]
    queries: Mapping[str, QuerySettings]
    statistics: Table
    run: RunSettings

    @property
    def latency(self) -> int | None:
        """How long after the arrival of its rows an answer is due, in microseconds."""
        return self.run.latency

    def outline(self) -> Graph:
        """The graph, as far as it is known without the columns of the streams."""
        sources = {name: _outlined(one) for name, one in self.streams.items()}
        return outline(self.definitions, sources, list(self.relations))


def read_config(path: str | Path) -> Config:
    """Reads and checks a file; Spark is not needed, nor are the variables of the environment.

    Args:
        path: of the TOML file.
    """
    return parse_config(text_of(path), Path(path).name)


def parse_config(text: str, file: str = "network.toml") -> Config:
    r"""Checks the text of such a file.

    Args:
        text: TOML.
        file: what messages call it.

    >>> parse_config('[query.all]\ncql = "SELECT * FROM packets"', "a.toml")
    Traceback (most recent call last):
    penstock.network.tables.ConfigError: a.toml: [stream] must be given, got None; such as ...
    """
    return config_of(top_table(text, file))


def config_of(top: Table) -> Config:
    """Checks what a file says.

    Args:
        top: the whole file.
    """
    top.known("latency", "answers", "stream", "relation", "view", "query", "run", "statistics")
    for kind, such in (("stream", "packets"), ("query", "web")):
        if not top.table(kind).values:
            message = complaint(
                f"{top.place} [{kind}]", "must be given", None, f"such as [{kind}.{such}]"
            )
            raise ConfigError(message)
    _each_name_once(top)
    answers = cast("AnswerKind", top.choice("answers", *ANSWERS) or "approximate")
    _statistics_name_what_is_there(top)
    queries = list(top.tables("query"))
    asked = {one.name: _query(one, answers) for one in queries}
    return Config(
        top.file,
        {one.name: _stream(one) for one in top.tables("stream")},
        {one.name: _relation(one) for one in top.tables("relation")},
        (*map(_view, top.tables("view")), *(_definition(one, delivered=True) for one in queries)),
        asked,
        top.table("statistics"),
        run_of(top),
    )


def _each_name_once(top: Table) -> None:
    taken: dict[str, str] = {}
    for kind in ("stream", "relation", "view", "query"):
        for one in top.tables(kind):
            path = f"[{'.'.join(one.path)}]"
            other = taken.setdefault(one.name.lower(), path)
            if other != path:
                rule = f"must have a name of its own, and {other} has it"
                raise ConfigError(complaint(f"{top.place} {path}", rule, one.name))


def _statistics_name_what_is_there(top: Table) -> None:
    for kind in ("stream", "query"):
        there = list(top.table(kind).values)
        for one in top.table("statistics").tables(kind):
            if one.name not in there:
                rule, hint = f"must be about a {kind} of the file", did_you_mean(one.name, there)
                raise ConfigError(complaint(one.place, rule, one.name, hint))


def _stream(table: Table) -> StreamSettings:
    table.known(
        *("source", "options", "event_time", "slack", "late", "order", "identity", "weight"),
        *("punctuation", "ordered_by", "row_slack", "heartbeat"),
    )
    return StreamSettings(
        table.name,
        table.needed("source"),
        table.table("options").values,
        table.text("event_time"),
        slack_of(table),
        cast("Late", table.choice("late", *LATE) or "generous"),
        progress_of(table),
        table.names("order"),
        table.names("identity"),
        weight_of(table),
        table.place,
    )


def _outlined(one: StreamSettings) -> Source:
    order = one.order or ((one.event_time,) if one.event_time else ())
    slack = micros(one.slack)
    time, late, told = one.event_time, one.late, one.progress
    given = time, slack, late, told, order, one.identity
    return Source(one.name, *given, Handle(one), weight=one.weight)


def _relation(table: Table) -> RelationSettings:
    table.known("path", "format", "schema", "options")
    return RelationSettings(
        table.name,
        table.needed("path"),
        table.text("format") or "parquet",
        table.text("schema"),
        table.table("options").values,
        table.place,
    )


def _view(table: Table) -> Definition:
    table.known("cql")
    return _definition(table, delivered=False)


def _definition(table: Table, *, delivered: bool) -> Definition:
    text = table.needed("cql")
    return parse_query(text, table.name, delivered=delivered, place=f"{table.place} cql")


def _query(table: Table, answers: AnswerKind) -> QuerySettings:
    table.known(
        "cql", "weight", "priority", "answers", "max_gap", "per", "confidence", "floor", "sink"
    )
    own = cast("AnswerKind", table.choice("answers", *ANSWERS) or answers)
    gap = table.number("max_gap", whole=True)
    if gap is not None and own != "subset":
        rule = "must be left out where answers are not 'subset'"
        raise table.refused("max_gap", rule, 'or set answers = "subset"')
    per = cast("Per | None", table.choice("per", *PER))
    if per is not None and own != "subset":
        rule = "must be left out where answers are not 'subset'"
        raise table.refused("per", rule, 'or set answers = "subset"')
    floor = table.number("floor", whole=True)
    if floor is not None and own != "approximate":
        rule = "must be left out where answers are not 'approximate'"
        raise table.refused("floor", rule, 'or set answers = "approximate"')
    weight, priority = table.number("weight"), table.number("priority", whole=True)
    return QuerySettings(
        table.name,
        1.0 if weight is None else weight,
        own,
        None if gap is None else int(gap),
        sink_of(table),
        1 if priority is None else int(priority),
        confidence_of(table, own),
        "answers" in table.values,
        per or "window",
        None if floor is None else int(floor),
    )
