"""Views and queries are put in an order in which each comes after what it needs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from penstock.errors import did_you_mean
from penstock.network.cql.errors import CqlError, nearest, shown
from penstock.network.cql.network import Definition
from penstock.network.cql.selection import Selection
from penstock.network.cql.statement import Placed, Source, Statement
from penstock.windows.kinds import ROW_NUM


def arranged(
    definitions: Sequence[Definition], streams: Collection[str], relations: Collection[str]
) -> list[Definition]:
    """The definitions, each after those that it needs; a name that is not known is refused.

    Args:
        definitions: in the order of the text.
        streams: the names of the streams that are given.
        relations: the names of the relations that are given.

    >>> from penstock.network.cql import parse_network
    >>> both = parse_network("CREATE QUERY a AS SELECT * FROM b; CREATE VIEW b AS SELECT * FROM s")
    >>> [one.name for one in arranged(both, ["s"], [])]
    ['b', 'a']
    """
    return _Names(definitions, streams, relations).in_order()


def source(part: Statement | Selection) -> Source:
    """The text of a part that was made from text."""
    assert part.source is not None  # noqa: S101 - what is parsed has a source
    return part.source


def delivered(definitions: Sequence[Definition]) -> list[Definition]:
    """The queries among the definitions; there must be one."""
    queries = [one for one in definitions if one.delivered]
    if not queries and definitions:
        first = definitions[0]
        message = "a network needs a query; write CREATE QUERY for a view whose rows are wanted"
        raise first.error(message, first.at)
    return queries


def undefined(definitions: Sequence[Definition]) -> tuple[list[str], list[str]]:
    """The names that must be given from outside: of streams, and of relations."""
    defined = {one.name.lower() for one in definitions}
    parts = [part for one in definitions for part in one.parts]
    streams = {part.stream.lower(): part.stream for part in parts}
    relations = {join.relation.lower(): join.relation for part in parts for join in part.joins}
    return [n for low, n in streams.items() if low not in defined], list(relations.values())


def event_time(stream: str, definitions: Sequence[Definition]) -> str | None:
    """The column that windows over a stream are on, there or in views of it; None if there is none.

    Args:
        stream: the name of one that is given without an event time.
        definitions: as `arranged`.
    """
    by_name = {one.name.lower(): one for one in definitions}
    found: str | None = None
    for one in definitions:
        statement = one.windowed
        if statement is None or stream.lower() not in set(_roots(statement.stream, by_name)):
            continue
        time = statement.window.rattr
        if time == ROW_NUM:
            continue
        if found is not None and found.lower() != time.lower():
            placed = _rattr(statement)
            message = f"{placed.what} must be {shown(found)} as in the other windows over {stream}"
            raise one.error(f"{message}: a stream has one event time; got {shown(time)}", placed.at)
        found = found or time
    return found


def _roots(name: str, by_name: dict[str, Definition]) -> Iterator[str]:
    """The streams whose rows come to this name without a window between."""
    one = by_name.get(name.lower())
    if one is None:
        yield name.lower()
    elif one.windowed is None:
        for part in one.parts:
            yield from _roots(part.stream, by_name)


def _rattr(statement: Statement) -> Placed:
    return next(name for name in source(statement).names if name.what in ("WATTR", "RATTR"))


@dataclass(frozen=True, slots=True)
class _Names:
    definitions: Sequence[Definition]
    streams: Collection[str]
    relations: Collection[str]

    def in_order(self) -> list[Definition]:
        by_name = {one.name.lower(): one for one in self.definitions}
        for one in self.definitions:
            self._is_free(one)
            for part in one.parts:
                self._are_known(one, part)
        done: dict[str, Definition] = {}

        def add(one: Definition, above: tuple[Definition, ...]) -> None:
            if one.name.lower() in done:
                return
            for part in one.parts:
                needed = by_name.get(part.stream.lower())
                if needed is not None and needed in (*above, one):
                    raise _cycle(one, part, [*above, one], needed)
                if needed is not None:
                    add(needed, (*above, one))
            done[one.name.lower()] = one

        for one in self.definitions:
            add(one, ())
        return list(done.values())

    def _is_free(self, one: Definition) -> None:
        for what, names in (("stream", self.streams), ("relation", self.relations)):
            if one.name.lower() in map(str.lower, names):
                kind = "query" if one.delivered else "view"
                message = f"a {kind} needs a name that no {what} has; got {shown(one.name)}"
                raise one.error(message, one.at)

    def _are_known(self, one: Definition, part: Statement | Selection) -> None:
        known = [*self.streams, *(other.name for other in self.definitions)]
        if part.stream.lower() not in map(str.lower, known):
            message = f"FROM needs a stream, a view or a query; got {shown(part.stream)}"
            hint = nearest(part.stream, known) or did_you_mean(part.stream, known)
            if part.stream.lower() in map(str.lower, self.relations):
                hint = f"it is a relation: write FROM {known[0]} JOIN {part.stream} ON …"
            raise one.error(f"{message}; {hint}", source(part).words["FROM"])
        for join in part.joins:
            if join.relation.lower() in map(str.lower, self.relations):
                continue
            message = f"JOIN needs a relation; got {shown(join.relation)}"
            hint = nearest(join.relation, self.relations)
            if join.relation.lower() in map(str.lower, known):
                hint = "streams are put together by UNION ALL"
            hint = hint or did_you_mean(join.relation, self.relations) or "there is none"
            raise one.error(f"{message}; {hint}", join.at)


def _cycle(
    one: Definition, part: Statement | Selection, path: Sequence[Definition], back: Definition
) -> CqlError:
    around = [*(o.name for o in path[path.index(back) :]), back.name]
    message = f"what comes FROM {shown(part.stream)} must not need it itself"
    return one.error(f"{message}: {' needs '.join(around)}", source(part).words["FROM"])
