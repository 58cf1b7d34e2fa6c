"""CQL text becomes a statement.

    statement   SELECT item {, item} FROM name window [WHERE predicate]
                [GROUP BY column {, column}] [;]
    item        column [AS name] | function(expression) [AS name] | count(*) [AS name]
    window      [ part {part} ]
    part        RANGE amount | LANDMARK | SLIDE amount | WATTR attribute | RATTR attribute
                | SATTR attribute | SATTR rank(attribute) | PATTR column {, column}
    amount      number [unit]
    attribute   column | row-num

Predicates and expressions are Spark's: only their brackets, quotes and comments are understood.
"""

from __future__ import annotations

from penstock.network.cql.clause import Clause, window_clause
from penstock.network.cql.cursor import Cursor
from penstock.network.cql.errors import nearest
from penstock.network.cql.functions import aggregate
from penstock.network.cql.joins import join_clauses
from penstock.network.cql.rules import check
from penstock.network.cql.statement import Computed, Item, Placed, PlainColumn, Source, Statement
from penstock.network.cql.tokens import Token
from penstock.network.cql.windows import to_window
from penstock.network.query import window_columns
from penstock.windows.kinds import ROW_NUM

_NOT_HERE = ("HAVING", "ORDER", "SORT", "LIMIT")
_HINT = "apply it to the result, which is a DataFrame"


def parse(text: str) -> Statement:
    """Reads one CQL query; what is wrong in it is refused with its line and column.

    Keywords may be in any case. A name that is not plain stands in backquotes or double quotes, a
    string in single quotes; unquoted, only `row-num` has a hyphen.

    Args:
        text: the query; comments as in SQL, and a semicolon at its end if you like.

    >>> q1 = parse('''
    ...     SELECT `seg-id`, max(speed), min(speed) AS slowest
    ...     FROM Traffic [RANGE 300 seconds SLIDE 60 seconds WATTR ts]
    ...     WHERE speed > 0
    ...     GROUP BY `seg-id`
    ... ''')
    >>> q1.stream, str(q1.window), q1.where, q1.keys, list(q1.aggregates)
    ('Traffic', 'RANGE 5 min SLIDE 1 min WATTR ts', 'speed > 0', ('seg-id',), \
['max(speed)', 'slowest'])
    >>> parse("SELECT count(*) FROM Traffic [RANGE 5 secnds SLIDE 1 second WATTR ts]")
    Traceback (most recent call last):
    penstock.network.cql.errors.CqlError: line 1, column 39: expected a unit, one of seconds, \
minutes, hours, days, milliseconds, rows; got 'secnds'; did you mean 'seconds'?
      SELECT count(*) FROM Traffic [RANGE 5 secnds SLIDE 1 second WATTR ts]
                                            ^

    Li et al., SIGMOD 2005, §2, §3.2.
    """
    return windowed(Cursor(text))


def windowed(cursor: Cursor) -> Statement:
    """Takes a SELECT with a window; relations are joined only where there are several statements.

    >>> windowed(Cursor("SELECT count(*) FROM T [RANGE 1 s SLIDE 1 s WATTR ts];")).stream
    'T'
    """
    text = cursor.text
    cursor.expect("SELECT")
    items, places = _select(cursor)
    cursor.expect("FROM")
    stream = cursor.name("the name of a stream")
    clause = window_clause(cursor)
    window = to_window(clause, text)
    joins = join_clauses(cursor, stream.name) if cursor.several else ()
    words = {word: token.at for word, token in clause.words.items()}
    words |= {"FROM": stream.at, "WHERE": cursor.ahead().at}
    where = where_clause(cursor)
    groups = _group_by(cursor)
    if not cursor.several and cursor.accept(";") and cursor.token.kind != "end":
        raise cursor.expected("the end of the text", hint="a text has one query")
    check(text, items, places, groups, clause.pattr, window_columns=window_columns(window))
    names = [
        *(
            Placed("SELECT", item.column, place.at)
            for item, place in zip(items, places, strict=True)
            if isinstance(item, PlainColumn)
        ),
        *_attributes(clause),
        *(Placed("GROUP BY", token.name, token.at) for token in groups or ()),
    ]
    return Statement(
        select=tuple(items),
        stream=stream.name,
        window=window,
        where=where,
        group_by=tuple(token.name for token in groups or ()),
        joins=joins,
        source=Source(text, tuple(names), tuple(place.at for place in places), words),
    )


def _select(cursor: Cursor) -> tuple[list[Item], list[Token]]:
    """The items, and where each begins."""
    items: list[Item] = []
    places: list[Token] = []
    while not items or cursor.accept(","):
        places.append(cursor.token)
        items.append(_item(cursor))
    if not cursor.at("FROM"):
        known = ("AS", "FROM")
        raise cursor.expected("',', AS or FROM", known, "a name for the result stands after AS")
    return items, places


def _item(cursor: Cursor) -> Item:
    if cursor.ahead().text == "(" and cursor.token.kind in ("word", "name"):
        value, name = aggregate(cursor)
        return Computed(_alias(cursor) or name, value)
    column = cursor.name("a column or an aggregate").name
    if cursor.at("("):
        raise cursor.expected("',', AS or FROM", hint="a function has a plain name, such as max")
    return PlainColumn(_alias(cursor) or column, column)


def _alias(cursor: Cursor) -> str | None:
    if not cursor.accept("AS"):
        return None
    return cursor.name("a name for the result", dotted=False).name


def where_clause(cursor: Cursor) -> str | None:
    """Takes the predicate after WHERE, if there is one.

    >>> where_clause(Cursor("WHERE a > 1 GROUP BY b")), where_clause(Cursor(";"))
    ('a > 1', None)
    """
    if not cursor.accept("WHERE"):
        if not (cursor.at("GROUP") or cursor.at_end()):
            known = ("WHERE", "GROUP", *(("JOIN", "UNION") if cursor.several else ()))
            raise cursor.expected("WHERE, GROUP BY or the end", known, _hint(cursor))
        return None
    taken: list[Token] = []
    while not (cursor.at_end() or cursor.at_words("GROUP", "BY")):
        _refuse_clauses(cursor)
        taken += cursor.nested()
    if not taken:
        raise cursor.expected("a predicate")
    return cursor.source(taken)


def _hint(cursor: Cursor) -> str:
    return _HINT if cursor.token.text.upper() in _NOT_HERE else ""


def _refuse_clauses(cursor: Cursor) -> None:
    """A clause that is unknown or misspelled would else be a part of the predicate."""
    token, following = cursor.token, cursor.ahead()
    if token.kind != "word":
        return
    if token.text.upper() == "HAVING":
        raise cursor.expected("GROUP BY or the end", hint=_HINT)
    by = following.kind == "word" and following.text.upper() == "BY"
    if by and (token.text.upper() in _NOT_HERE or nearest(token.text, ["GROUP"])):
        raise cursor.expected("GROUP BY or the end", ["GROUP"], _hint(cursor))


def _group_by(cursor: Cursor) -> list[Token] | None:
    """The columns; None if there is no such clause, which is not the same as no columns."""
    if not cursor.accept("GROUP"):
        return None
    cursor.expect("BY")
    groups: list[Token] = []
    while not groups or cursor.accept(","):
        groups.append(cursor.name("a column"))
    if not cursor.at_end():
        raise cursor.expected("',' or the end", hint=_hint(cursor))
    return groups


def _attributes(clause: Clause) -> list[Placed]:
    found = [
        *(("WATTR", clause.wattr), ("RATTR", clause.rattr), ("SATTR", clause.sattr)),
        *(("PATTR", column) for column in clause.pattr),
    ]
    placed = [
        Placed(what, attribute.name, attribute.token.at)
        for what, attribute in found
        if attribute is not None and attribute.name != ROW_NUM
    ]
    return sorted(placed, key=lambda place: place.at)
