"""The parts of CQL that work on rows: JOIN, and a SELECT without a window."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from penstock.engine.cql_errors import Pointer
from penstock.engine.failures import cause
from penstock.engine.schema import column
from penstock.engine.stream import Stream
from penstock.errors import PenstockError, SchemaError, SpecificationError
from penstock.network.cql import Selection, Statement
from penstock.network.cql.check import no_column
from penstock.network.cql.selection import Expressed
from penstock.network.cql.statement import Joined, Placed


def with_joins(
    part: Statement | Selection, of: Stream, relations: Mapping[str, tuple[str, DataFrame]]
) -> Stream:
    """The rows with those of the relations that a SELECT joins them with.

    Args:
        part: the SELECT.
        of: the rows of its stream.
        relations: name in lower case → name, rows.
    """
    assert part.source is not None  # noqa: S101 - what is parsed has a source
    point = Pointer(part.source.text, part.stream)
    for join in part.joins:
        name, rows = relations[join.relation.lower()]
        for (mine, theirs), (at, their_at) in zip(join.on, join.places, strict=True):
            if not _has(of.rows, mine):
                raise point.no_column(Placed("JOIN", mine, at), of.rows.columns)
            if not _has(rows, theirs):
                placed = Placed("JOIN", theirs, their_at)
                raise no_column(placed, join.relation, point.text, rows.columns)
        of = _joined(point, of, join, name, rows)
    return of


def _joined(point: Pointer, of: Stream, join: Joined, name: str, rows: DataFrame) -> Stream:
    make = of.semi_join if join.semi else of.join
    try:
        return make(rows, dict(join.on), name=name)
    except (SchemaError, SpecificationError) as error:
        message = str(error).replace("semi_join()", "SEMI JOIN").replace("join()", "JOIN")
        raise point.error(message, join.at) from error


def _has(rows: DataFrame, name: str) -> bool:
    return name.lower() in (known.lower() for known in rows.columns)


def selected(part: Selection, of: Stream) -> Stream:
    """The rows that a SELECT without a window asks for.

    Args:
        part: the SELECT.
        of: the rows of its stream, joined already.
    """
    point = Pointer(part.source.text, part.stream)
    of = point.where(of, part.where, part.source.words["WHERE"])
    for one in part.columns:
        if one.plain and not _has(of.rows, one.text):
            raise point.no_column(Placed("SELECT", one.text, one.at), of.rows.columns)
        if not one.plain:
            _check(point, of, one)
    if not part.columns:
        return of
    if part.star:
        return of.with_columns(**{one.name: one.text for one in part.columns})
    # Columns as they are come first; one between others is computed from itself.
    leading = next((n for n, one in enumerate(part.columns) if not one.plain), len(part.columns))
    rest = {
        _spelled(of, one) if one.plain else one.name: _spelled(of, one) if one.plain else one.text
        for one in part.columns[leading:]
    }
    return of.select(*(one.text for one in part.columns[:leading]), **rest)


def _check(point: Pointer, of: Stream, one: Expressed) -> None:
    """Each by itself, so that what does not fit is shown at its place."""
    try:
        of.with_columns(**{one.name: one.text})
    except SchemaError as error:
        said = cause(str(error.__cause__)) if error.__cause__ else str(error)
        message = f"SELECT needs an expression over a row of {point.stream}; {said}"
        placed = Placed("SELECT", one.text, one.at)
        raise point.refused(error, placed, of.rows, message) from error
    except PenstockError as error:
        raise point.error(str(error).replace("with_columns()", "SELECT"), one.at) from error


def _spelled(of: Stream, one: Expressed) -> str:
    return column(of.rows, "SELECT", one.text).name
