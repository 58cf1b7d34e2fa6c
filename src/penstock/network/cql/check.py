"""The names in a statement are checked against the columns that its stream really has."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.errors import did_you_mean
from penstock.network.cql.errors import CqlError, nearest, shown
from penstock.network.cql.parser import parse
from penstock.network.cql.render import render
from penstock.network.cql.statement import Placed, Statement


def check_columns(statement: Statement, columns: Sequence[str]) -> None:
    """Raises at the first name, in the order of the text, that is no column of the stream.

    The names in SELECT, in GROUP BY and in the window are checked, in any case, as Spark does;
    what is in WHERE and in aggregates is left to Spark.

    Args:
        statement: what is asked. One that was not made from text is shown as `render` writes it.
        columns: the names of the stream's columns.

    >>> q = parse("SELECT seg, max(speed) FROM T [RANGE 1 min SLIDE 1 min WATTR time]")
    >>> check_columns(q, ["seg", "speed", "Time"])
    >>> check_columns(q, ["seg_id", "speed", "time"])
    Traceback (most recent call last):
    penstock.network.cql.errors.CqlError: line 1, column 8: SELECT needs a column of T; got 'seg'; \
did you mean 'seg_id'?
      SELECT seg, max(speed) FROM T [RANGE 1 min SLIDE 1 min WATTR time]
             ^
    """
    source = statement.source or parse(render(statement)).source
    if source is None:
        return  # for the type checker: what is parsed has a source
    known = {name.lower() for name in columns}
    for placed in source.names:
        # A dot leads to a field of a column, or is a part of the column's own name.
        first = placed.name.lower().partition(".")[0]
        if placed.name.lower() not in known and first not in known:
            raise no_column(placed, statement.stream, source.text, columns)


def no_column(placed: Placed, stream: str, text: str, columns: Sequence[str]) -> CqlError:
    """The error for a name that is no column of the stream, with the nearest name that is.

    Args:
        placed: the name.
        stream: what the text calls the stream.
        text: the whole text.
        columns: the names of the stream's columns.
    """
    hint = _hint(placed, stream, columns)
    message = f"{placed.what} needs a column of {stream}; got {shown(placed.name)}"
    return CqlError(message + (f"; {hint}" if hint else ""), text, placed.at)


def _hint(placed: Placed, stream: str, columns: Sequence[str]) -> str:
    qualifier, _, rest = placed.name.rpartition(".")
    if qualifier.lower() == stream.lower():
        return f"leave out the stream's name: write {rest}"
    return nearest(placed.name, columns) or did_you_mean(placed.name, columns)
