"""CQL text of a whole network: views that others use, and queries whose answers are delivered.

    network     create {; create} [;] | query [;]
    create      CREATE VIEW name AS query | CREATE QUERY name AS query
    query       statement | selection {UNION ALL selection}

`parser` has the grammar of a statement, `selection` that of a SELECT without a window.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from penstock.network.cql.cursor import Cursor
from penstock.network.cql.errors import CqlError, shown
from penstock.network.cql.parser import windowed
from penstock.network.cql.selection import Selection, asks_for_windows, selection
from penstock.network.cql.statement import Source, Statement

ONLY = "query"
"""What the only SELECT of a text is called."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A view or a query.

    Args:
        name: what others call it.
        parts: one statement, or the selections that UNION ALL puts together.
        delivered: whether its rows are answers, or only there for others.
        text: the whole text.
        at: where its name stands, in characters from 0.
        place: where the text itself stands, such as a file and a key in it.
    """

    name: str
    parts: tuple[Statement, ...] | tuple[Selection, ...]
    delivered: bool = True
    text: str = field(default="", compare=False, repr=False)
    at: int = field(default=0, compare=False, repr=False)
    place: str = field(default="", compare=False, repr=False)

    @property
    def windowed(self) -> Statement | None:
        """The statement with a window, if it is one."""
        (first, *_) = self.parts
        return first if isinstance(first, Statement) else None

    def error(self, message: str, at: int) -> CqlError:
        """The error at a place of its text."""
        return CqlError(message, self.text, at, self.place)

    def located(self) -> AbstractContextManager[None]:
        """Errors in the body have the place of the text."""
        return located(self.place)


@contextmanager
def located(place: str) -> Iterator[None]:
    """Errors in the body have the place of the text.

    Args:
        place: such as a file and a key in it.
    """
    try:
        yield
    except CqlError as error:
        raise error.within(place) from error.__cause__


def parse_network(text: str, place: str = "") -> tuple[Definition, ...]:
    """Reads all statements of a text; one SELECT alone is a query called "query".

    Args:
        text: the statements, with semicolons between them.
        place: where the text stands, such as a file.

    >>> web, answers = parse_network('''
    ...     CREATE VIEW web AS SELECT * FROM packets WHERE dst_port = 80;
    ...     CREATE QUERY web_packets AS
    ...         SELECT count(*) FROM web [RANGE 60 s SLIDE 10 s WATTR ts];
    ... ''')
    >>> web.name, web.delivered, answers.name, answers.windowed.stream
    ('web', False, 'web_packets', 'web')
    """
    with located(place):
        cursor = Cursor(text, several=True)
        if cursor.at("SELECT"):
            only = parse_query(text, ONLY, place=place)
            return (only,)
        found: list[Definition] = []
        while not found or cursor.token.kind != "end":
            found.append(_create(cursor, place))
            if cursor.token.kind != "end":
                cursor.expect(";")
    taken: set[str] = set()
    for one in found:
        if one.name.lower() in taken:
            message = f"each view and query needs a name of its own; got {shown(one.name)} again"
            raise one.error(message, one.at)
        taken.add(one.name.lower())
    return tuple(found)


def parse_query(text: str, name: str, *, delivered: bool = True, place: str = "") -> Definition:
    """Reads what stands after AS in a text of its own.

    Args:
        text: a SELECT, or several with UNION ALL between them.
        name: of the view or query.
        delivered: whether it is a query.
        place: where the text stands, such as a file and a key in it.
    """
    with located(place):
        cursor = Cursor(text, several=True)
        parts = _query(cursor)
        cursor.accept(";")
        if cursor.token.kind != "end":
            raise cursor.expected("the end of the text", hint="with several, each has CREATE … AS")
    return Definition(name, parts, delivered, text, place=place)


def _create(cursor: Cursor, place: str) -> Definition:
    if not cursor.accept("CREATE"):
        hint = "such as CREATE QUERY name AS SELECT …"
        raise cursor.expected("CREATE VIEW or CREATE QUERY", ("CREATE",), hint)
    delivered = cursor.at("QUERY")
    if not delivered and not cursor.at("VIEW"):
        raise cursor.expected("VIEW or QUERY", ("VIEW", "QUERY"))
    cursor.take()
    name = cursor.name("a name", dotted=False)
    cursor.expect("AS")
    return Definition(name.name, _query(cursor), delivered, cursor.text, name.at, place)


def _query(cursor: Cursor) -> tuple[Statement, ...] | tuple[Selection, ...]:
    if not cursor.at("SELECT"):
        raise cursor.expected("SELECT", ("SELECT",))
    if asks_for_windows(cursor):
        statement = windowed(cursor)
        if cursor.at("UNION") and statement.source is not None:
            raise _no_union(cursor, statement.source)
        return (statement,)
    several = [selection(cursor)]
    while cursor.accept("UNION"):
        if not cursor.accept("ALL"):
            raise cursor.expected("ALL", hint="a stream keeps every row: write UNION ALL")
        if cursor.at("SELECT") and asks_for_windows(cursor):
            statement = windowed(cursor)
            assert statement.source is not None  # noqa: S101 - what is parsed has a source
            raise _no_union(cursor, statement.source)
        several.append(selection(cursor))
    return tuple(several)


def _no_union(cursor: Cursor, source: Source) -> CqlError:
    message = "UNION ALL is of SELECTs without a window; unite views of them with SELECT * instead"
    return CqlError(message, cursor.text, source.words["FROM"])
