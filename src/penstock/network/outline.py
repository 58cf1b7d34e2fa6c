"""The graph of a network from its text alone: no DataFrame, and so no columns to check.

What an engine makes of the same text is the same graph, but for the spelling of columns, the
columns that a join adds, and fields of structs, all of which only the rows themselves can tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.network.cql.arrange import (
    arranged,
    delivered,
    event_time,
    source,
    undefined,
)
from penstock.network.cql.errors import shown
from penstock.network.cql.names import backquoted, written
from penstock.network.cql.network import Definition
from penstock.network.cql.selection import Selection
from penstock.network.cql.statement import Computed, Statement
from penstock.network.graph import Graph
from penstock.network.operators import (
    Aggregate,
    Expression,
    Handle,
    Join,
    Map,
    Operator,
    Relation,
    Source,
    Union,
    filtered,
)
from penstock.network.progress import Progress
from penstock.network.query import WINDOW_TIME, Query, window_columns
from penstock.windows import Late
from penstock.windows.kinds import ROW_NUM


def outline(
    definitions: Sequence[Definition],
    sources: Mapping[str, Source] | None = None,
    relations: Iterable[str] | None = None,
) -> Graph:
    """The graph of the definitions that are delivered.

    Args:
        definitions: in any order.
        sources: the streams; None if every name that is not defined is one.
        relations: the names of the relations; None as for the streams.

    >>> from penstock.network.cql import parse_network
    >>> web = parse_network("CREATE QUERY web AS SELECT * FROM packets WHERE port = 80")
    >>> list(outline(web).names.values())
    ['packets', 'filter 1']
    """
    needed, joined = undefined(definitions)
    names = needed if sources is None else list(sources)
    stored = {n.lower(): n for n in (joined if relations is None else relations)}
    ordered = arranged(definitions, names, list(stored.values()))
    if sources is None:
        sources = {name: named(name, event_time(name, ordered)) for name in names}
    feeds = {name.lower(): _Feed.of(one) for name, one in sources.items()}
    for one in ordered:
        with one.located():
            feeds[one.name.lower()] = _defined(one, feeds, stored)
    return Graph({one.name: feeds[one.name.lower()].node for one in delivered(definitions)})


def named(name: str, time: str | None) -> Source:
    """A stream of which nothing is known but its event time."""
    order = () if time is None else (time,)
    return Source(name, time, 0, "generous", None, order, (), Handle(name))


@dataclass(frozen=True, slots=True)
class _Feed:
    """What is known of rows without looking at them."""

    node: Operator
    time: str | None
    late: Late
    progress: Progress | None
    order: tuple[str, ...]
    answers: bool = False

    @classmethod
    def of(cls, one: Source) -> _Feed:
        return cls(one, one.event_time, one.late, one.progress, one.order)

    def results(self) -> _Feed:
        """The answers of windows as rows, as `WindowQuery.results` has them."""
        if not self.answers:
            return self
        node = self.node
        if isinstance(node, Map):
            node = replace(node, columns=(*node.columns, (WINDOW_TIME, Expression(WINDOW_TIME))))
        return _Feed(node, self.time, self.late, None, (WINDOW_TIME,))


def _defined(one: Definition, feeds: Mapping[str, _Feed], stored: Mapping[str, str]) -> _Feed:
    united: _Feed | None = None
    for part in one.parts:
        feed = feeds[part.stream.lower()].results()
        node = feed.node
        for join in part.joins:
            relation = Relation(stored[join.relation.lower()], Handle(stored))
            node = Join(node, relation, join.on, join.semi, ())
        if part.where is not None:
            node = filtered(node, Expression(part.where))
        feed = replace(feed, node=node)
        feed = _windows(one, part, feed) if isinstance(part, Statement) else _chosen(part, feed)
        both = None if united is None else Union((united.node, feed.node))
        united = feed if united is None or both is None else replace(united, node=both)
    assert united is not None  # noqa: S101 - a definition has a part
    return united


def _chosen(part: Selection, feed: _Feed) -> _Feed:
    if not part.columns:
        return feed
    columns = tuple((column.name, Expression(column.text)) for column in part.columns)
    kept = {column.name.lower() for column in part.columns}
    time = feed.time if part.star or (feed.time or "").lower() in kept else None
    return replace(feed, node=Map(feed.node, columns, only=not part.star), time=time)


def _windows(one: Definition, part: Statement, feed: _Feed) -> _Feed:
    spec = part.window
    if spec.rattr != ROW_NUM and spec.rattr.lower() != (feed.time or "").lower():
        place = next(n for n in source(part).names if n.what in ("WATTR", "RATTR"))
        known = f"is {written(feed.time)}" if feed.time is not None else "has none"
        message = f"{place.what} must be the event time of {part.stream}, which {known}"
        raise one.error(f"{message}; got {shown(place.name)}", place.at)
    names = unlike(part.aggregates, (*part.keys, *spec.pattr))
    asked = dict(zip(names, part.aggregates.values(), strict=True))
    query = Query(spec, part.keys, asked, feed.late, feed.progress, feed.order)
    inner = iter(names)
    select = {
        item.name: next(inner) if isinstance(item, Computed) else item.column
        for item in part.select
    }
    time = WINDOW_TIME if "window_end" in window_columns(spec) and spec.unit == "time" else None
    node = with_select_list(Aggregate(feed.node, query), select)
    return replace(feed, node=node, time=time, answers=True)


def with_select_list(aggregate: Aggregate, select: Mapping[str, str]) -> Operator:
    """The windows with the columns of a SELECT list, where these are not what they have anyway.

    Args:
        aggregate: the windows.
        select: result column → what the aggregate calls it.
    """
    query = aggregate.query
    if list(select.items()) == [(name, name) for name in (*query.keys, *query.aggregates)]:
        return aggregate
    window = ((name, Expression(name)) for name in query.window_columns)
    chosen = ((name, Expression(backquoted(inner))) for name, inner in select.items())
    return Map(aggregate, (*window, *chosen), only=True)


def unlike(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """The names, with something added to those that are taken already.

    >>> unlike(["n", "host"], ["Host"])
    ['n', "host'"]
    """
    used, free_ones = {name.lower() for name in taken}, []
    for name in names:
        free = name
        while free.lower() in used:
            free += "'"
        used.add(free.lower())
        free_ones.append(free)
    return free_ones
