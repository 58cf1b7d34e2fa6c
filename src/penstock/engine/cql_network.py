"""CQL text of several statements over streams: the same queries as in Python, ready for a network.

ps.cql_queries("CREATE QUERY web AS SELECT * FROM packets WHERE port = 80", {"packets": df})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from penstock.engine.cql import Binder
from penstock.engine.cql_rows import selected, with_joins
from penstock.engine.opening import stream
from penstock.engine.stream import Stream
from penstock.engine.window_query import WindowQuery
from penstock.errors import (
    PenstockError,
    SchemaError,
    SpecificationError,
    UsageError,
    complaint,
)
from penstock.network.cql import Definition, Selection, Statement, arranged, parse_network
from penstock.network.cql.arrange import delivered, event_time, source

Answers = Stream | WindowQuery
"""Rows one by one, or windows."""


def cql_queries(
    text: str,
    /,
    streams: Mapping[str, Stream | DataFrame],
    relations: Mapping[str, DataFrame] | None = None,
) -> dict[str, Answers]:
    """The queries of a CQL text, by name and in its order, each as Python would make it.

    Args:
        text: CREATE VIEW and CREATE QUERY statements; or one SELECT, a query called "query".
        streams: by name: what `ps.stream` gives, or a DataFrame, whose event time is then the
            column that windows over it are on.
        relations: by name: DataFrames that are no streams, for JOIN.
    """
    return bound(parse_network(text), streams, relations)


def bound(
    definitions: Sequence[Definition],
    streams: Mapping[str, Stream | DataFrame],
    relations: Mapping[str, DataFrame] | None = None,
) -> dict[str, Answers]:
    """The queries among the definitions; the views are there for them only, but checked as well.

    Args:
        definitions: of views and queries, in any order.
        streams: by name.
        relations: by name.
    """
    stored = dict(relations or {})
    _each_once([*map(str, streams), *map(str, stored)])
    for name, rows in stored.items():
        if not isinstance(rows, DataFrame) or rows.isStreaming:
            rule = "must be a DataFrame that is no stream"
            raise SchemaError(complaint(f"relation {name}", rule, type(rows).__name__))
    ordered = arranged(definitions, list(streams), list(stored))
    known: dict[str, Answers] = {
        name.lower(): _opened(name, rows, ordered) for name, rows in streams.items()
    }
    by_name = {name.lower(): (name, rows) for name, rows in stored.items()}
    for one in ordered:
        with one.located():
            known[one.name.lower()] = _defined(one, known, by_name)
    return {one.name: known[one.name.lower()].named(one.name) for one in delivered(definitions)}


def _each_once(names: Sequence[str]) -> None:
    if len({name.lower() for name in names}) < len(names):
        rule = "must have each name once (upper and lower case are the same)"
        raise SpecificationError(complaint("streams and relations", rule, ", ".join(names)))


def _opened(name: str, rows: object, ordered: Sequence[Definition]) -> Stream:
    if isinstance(rows, Stream):
        return rows
    if not isinstance(rows, DataFrame):
        rule = "must be a DataFrame or what ps.stream() gives"
        raise SchemaError(complaint(f"stream {name}", rule, type(rows).__name__))
    time = event_time(name, ordered)
    # A column that is not there is refused at its window, with its place in the text.
    there = time is not None and time.lower() in map(str.lower, rows.columns)
    return stream(rows, time if there else None, name=name)


def _defined(
    one: Definition,
    known: Mapping[str, Answers],
    relations: Mapping[str, tuple[str, DataFrame]],
) -> Answers:
    found: list[Answers] = []
    parts: Sequence[Statement | Selection] = one.parts
    for part in parts:
        of = with_joins(part, _rows(one, part, known[part.stream.lower()]), relations)
        found.append(_selected(part, of))
    first, *others = found
    for part, other in zip(parts[1:], others, strict=True):
        if not isinstance(first, Stream) or not isinstance(other, Stream):
            continue  # the parser leaves no windows in a union
        try:
            first = first.union(other)
        except PenstockError as error:
            message = str(error).replace("union()", "UNION ALL").replace("select()", "SELECT")
            raise one.error(message, source(part).words["FROM"]) from error
    return first


def _selected(part: Statement | Selection, of: Stream) -> Answers:
    if isinstance(part, Selection):
        return selected(part, of)
    return Binder(part, source(part)).query(of)


def _rows(one: Definition, part: Statement | Selection, given: Answers) -> Stream:
    """What stands after FROM as rows; the answers of windows have the event time window_time."""
    if isinstance(given, Stream):
        return given
    try:
        return given.results()
    except UsageError as error:
        message = f"FROM needs windows over time, or rows; got {given.query.window}"
        raise one.error(message, source(part).words["FROM"]) from error
