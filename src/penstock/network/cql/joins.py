"""The JOIN clauses of a SELECT.

join    [INNER] JOIN relation on | [LEFT] SEMI JOIN relation on
on      ON name.column = name.column {AND name.column = name.column}
        | USING ( column {, column} )
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.network.cql.cursor import Cursor
from penstock.network.cql.errors import nearest, shown
from penstock.network.cql.names import written
from penstock.network.cql.statement import Joined
from penstock.network.cql.tokens import Token

Pair = tuple[Token, Token]
"""A column of the stream, and one of the relation."""

_BEFORE_JOIN = ("INNER", "LEFT", "RIGHT", "FULL", "CROSS", "OUTER", "ANTI", "SEMI", "NATURAL")


def join_clauses(cursor: Cursor, stream: str) -> tuple[Joined, ...]:
    """Takes all JOINs that follow the stream.

    Args:
        cursor: after the name of the stream, and its window if it has one.
        stream: its name, by which ON calls its columns.

    >>> join_clauses(Cursor("JOIN hosts ON packets.src = hosts.id"), "packets")
    (Joined(relation='hosts', on=(('src', 'id'),), semi=False, at=5, places=((22, 34),)),)
    """
    joins: list[Joined] = []
    while cursor.at("JOIN") or cursor.token.text.upper() in _BEFORE_JOIN:
        known = [stream, *(join.relation for join in joins if not join.semi)]
        joins.append(_join(cursor, known))
    return tuple(joins)


def _join(cursor: Cursor, known: Sequence[str]) -> Joined:
    first = cursor.token
    semi = cursor.at("SEMI") or cursor.at_words("LEFT", "SEMI")
    for word in ("LEFT", "SEMI") if semi else ("INNER",):
        cursor.accept(word)
    if not cursor.accept("JOIN"):
        hint = "a stream has JOIN, which leaves out what has no partner, and SEMI JOIN"
        raise cursor.error(f"expected JOIN or SEMI JOIN; got {first}; {hint}", first)
    relation = cursor.name("the name of a relation", ("ON", "USING"))
    if cursor.accept("USING"):
        pairs = _using(cursor)
    elif cursor.accept("ON"):
        pairs = _on(cursor, known, relation)
    else:
        hint = "there are no short names: write the whole one" if cursor.at("AS") else ""
        raise cursor.expected("ON or USING", ("ON", "USING"), hint)
    _each_once(cursor, pairs)
    return Joined(
        relation.name,
        tuple((mine.name, theirs.name) for mine, theirs in pairs),
        semi,
        relation.at,
        tuple((mine.at, theirs.at) for mine, theirs in pairs),
    )


def _using(cursor: Cursor) -> list[Pair]:
    cursor.expect("(")
    pairs: list[Pair] = []
    while not pairs or cursor.accept(","):
        column = cursor.name("a column", dotted=False)
        pairs.append((column, column))
    cursor.expect(")")
    return pairs


def _on(cursor: Cursor, known: Sequence[str], relation: Token) -> list[Pair]:
    pairs: list[Pair] = []
    while not pairs or cursor.accept("AND"):
        of, one = _qualified(cursor, [*known, relation.name])
        cursor.expect("=")
        first = cursor.token
        other_of, other = _qualified(cursor, [*known, relation.name])
        theirs = relation.name.lower()
        if (of == theirs) == (other_of == theirs):
            needs = f"a column of {written(known[0])} and one of {written(relation.name)}"
            raise cursor.error(f"ON compares {needs}", first)
        pairs.append((other, one) if of == theirs else (one, other))
    return pairs


def _qualified(cursor: Cursor, known: Sequence[str]) -> tuple[str, Token]:
    """A column with the name of its stream or relation in front, in lower case."""
    qualifier = cursor.name("a column", dotted=False)
    if not cursor.accept("."):
        such = f"such as {written(known[0])}.{written(qualifier.name)}"
        hint = f"write whose it is, {such}; or USING ({written(qualifier.name)})"
        raise cursor.error(f"ON needs columns with a name before them; {hint}", qualifier)
    if qualifier.name.lower() not in (name.lower() for name in known):
        hint = nearest(qualifier.name, known) or f"known: {', '.join(known)}"
        message = f"ON needs a stream or relation of this SELECT; got {shown(qualifier.name)}"
        raise cursor.error(f"{message}; {hint}", qualifier)
    return qualifier.name.lower(), cursor.name("a column", dotted=False)


def _each_once(cursor: Cursor, pairs: Sequence[Pair]) -> None:
    for side in (0, 1):
        taken: set[str] = set()
        for pair in pairs:
            if pair[side].name.lower() in taken:
                message = f"JOIN compares each column once; got {pair[side]} again"
                raise cursor.error(message, pair[side])
            taken.add(pair[side].name.lower())
