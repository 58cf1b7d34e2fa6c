"""A SELECT without a window: rows of a stream, each by itself.

selection   SELECT list FROM name {join} [WHERE predicate]
list        * {, expression AS name} | column {, column}
column      name | expression AS name
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.network.cql.cursor import Cursor
from penstock.network.cql.errors import shown
from penstock.network.cql.functions import FUNCTIONS, QUANTILES
from penstock.network.cql.joins import join_clauses
from penstock.network.cql.names import written
from penstock.network.cql.parser import where_clause
from penstock.network.cql.statement import Joined, Placed, Source
from penstock.network.cql.tokens import Token


@dataclass(frozen=True, slots=True)
class Expressed:
    """A column of the result.

    Args:
        name: in the result.
        text: an expression in Spark's SQL; if `plain`, the name of a column without quotes.
        plain: whether it is a column of the stream as it is.
        at: where it begins, in characters from 0.
    """

    name: str
    text: str
    plain: bool
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """A SELECT without a window.

    Args:
        columns: the list, in order.
        star: whether they are added to all columns of the stream.
        stream: the name after FROM.
        joins: the relations that rows are joined with before anything else.
        where: the predicate, in Spark's SQL; None if there is none.
        source: the text, and where its names stand.
    """

    columns: tuple[Expressed, ...]
    star: bool
    stream: str
    joins: tuple[Joined, ...] = ()
    where: str | None = None
    source: Source = field(compare=False, repr=False)


def selection(cursor: Cursor) -> Selection:
    """Takes a SELECT that has no window.

    >>> kib = selection(Cursor("SELECT *, size / 1024 AS kib FROM packets WHERE size > 0"))
    >>> kib.star, kib.columns[0].name, kib.columns[0].text, kib.where
    (True, 'kib', 'size / 1024', 'size > 0')
    """
    cursor.expect("SELECT")
    star = cursor.accept("*")
    columns = _columns(cursor, star) if not star or cursor.accept(",") else ()
    if not cursor.at("FROM"):
        hint = "a name for the column stands after AS" if columns else ""
        raise cursor.expected("',' or FROM", ("FROM",), hint)
    cursor.take()
    stream = cursor.name("the name of a stream")
    joins = join_clauses(cursor, stream.name)
    words = {"FROM": stream.at, "WHERE": cursor.ahead().at}
    where = where_clause(cursor)
    if cursor.at("GROUP"):
        such = f"write FROM {written(stream.name)} [RANGE 60 s SLIDE 5 s WATTR ts]"
        raise cursor.error(f"GROUP BY needs a window; {such}", cursor.token)
    names = tuple(Placed("SELECT", column.text, column.at) for column in columns if column.plain)
    return Selection(
        columns=columns,
        star=star is not None,
        stream=stream.name,
        joins=joins,
        where=where,
        source=Source(cursor.text, names, tuple(column.at for column in columns), words),
    )


def asks_for_windows(cursor: Cursor) -> bool:
    """Whether the SELECT that is next has a window, or an aggregate, which needs one.

    >>> asks_for_windows(Cursor("SELECT a FROM s WHERE b"))
    False
    >>> asks_for_windows(Cursor("SELECT a FROM s [RANGE 1 s SLIDE 1 s WATTR ts]"))
    True
    """
    nested, begins, steps = 0, True, 1
    while (token := cursor.ahead(steps)).kind != "end" and token.text != ";":
        following = cursor.ahead(steps + 1)
        if begins and following.text == "(" and token.text.lower() in (*FUNCTIONS, *QUANTILES):
            return True
        nested += (token.text in ("(", "[")) - (token.text in (")", "]"))
        begins = nested == 0 and token.text == ","
        if nested == 0 and _is_from(token, cursor.ahead(steps - 1)):
            while cursor.ahead(steps + 2).text == ".":
                steps += 2
            return cursor.ahead(steps + 2).text == "["
        steps += 1
    return False


def _is_from(token: Token, before: Token) -> bool:
    """Whether it is the FROM of the SELECT, and not that of IS DISTINCT FROM."""
    return (
        token.kind == "word"
        and token.text.upper() == "FROM"
        and not (before.kind == "word" and before.text.upper() == "DISTINCT")
    )


def _columns(cursor: Cursor, star: Token | None) -> tuple[Expressed, ...]:
    columns: list[Expressed] = []
    while not columns or cursor.accept(","):
        first = cursor.token
        column = _column(cursor)
        if column.name.lower() in (other.name.lower() for other in columns):
            message = f"each column needs a name of its own; got {shown(column.name)} again"
            raise cursor.error(f"{message}; give one with AS", first)
        if star and column.plain:
            raise cursor.error(f"* has {shown(column.name)} already; leave it out", first)
        columns.append(column)
    return tuple(columns)


def _column(cursor: Cursor) -> Expressed:
    first = cursor.token
    if cursor.at("DISTINCT"):
        raise cursor.error("SELECT has no DISTINCT: a stream keeps every row", first)
    if cursor.at("*"):
        raise cursor.expected("a column or an expression", hint="* comes first, and once")
    taken: list[Token] = []
    while not (cursor.at(",") or cursor.at("AS") or cursor.at_end()):
        if _is_from(cursor.token, taken[-1] if taken else first):
            break
        taken += cursor.nested()
    if not taken:
        raise cursor.expected("a column or an expression")
    text, alone = cursor.source(taken), len(taken) == 1 and first.kind in ("word", "name")
    if cursor.accept("AS"):
        name = cursor.name("a name for the column", dotted=False).name
        plain = alone and first.name.lower() == name.lower()
        return Expressed(name, first.name if plain else text, plain, first.at)
    if not alone:
        raise cursor.error(f"an expression needs a name: write {shown(text)} AS name", first)
    return Expressed(first.name, first.name, plain=True, at=first.at)
