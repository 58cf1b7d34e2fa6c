"""What Spark refuses in a piece of CQL is shown at its place in the text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.errors import ParseException, PySparkException
from pyspark.sql import DataFrame

from penstock.engine.failures import cause
from penstock.engine.stream import Stream
from penstock.errors import SchemaError
from penstock.network.conjuncts import conjuncts
from penstock.network.cql import CqlError
from penstock.network.cql.check import no_column
from penstock.network.cql.statement import Placed

_NOT_PARSED = re.compile(r"\(line (\d+), pos (\d+)\)")


@dataclass(frozen=True, slots=True)
class Pointer:
    """Makes the errors of one SELECT.

    Args:
        text: the whole text.
        stream: what the text calls the stream.
    """

    text: str
    stream: str

    def error(self, message: str, at: int) -> CqlError:
        """The error at a place."""
        return CqlError(message, self.text, at)

    def no_column(self, placed: Placed, columns: Sequence[str]) -> CqlError:
        """The error for a name that is no column."""
        return no_column(placed, self.stream, self.text, columns)

    def refused(self, error: SchemaError, of: Placed, rows: DataFrame, otherwise: str) -> CqlError:
        """What Spark refuses in an expression.

        Args:
            error: which has what Spark said as its cause.
            of: the expression, and where it begins.
            rows: what it is over.
            otherwise: the message if it is not a column that is missing.
        """
        spark = error.__cause__
        if not isinstance(spark, PySparkException):
            return self.error(otherwise, of.at)
        at = of.at + _offset(spark, of.name)
        if not str(spark.getCondition()).startswith("UNRESOLVED_COLUMN"):
            return self.error(otherwise, at)
        missing = (spark.getMessageParameters() or {}).get("objectName", "")
        name = missing.strip("`").replace("`.`", ".").replace("``", "`")
        return self.no_column(Placed(of.what, name, at), rows.columns)

    def where(self, of: Stream, predicate: str | None, at: int) -> Stream:
        """The stream with its conditions, one by one, so that each is refused at its place.

        Args:
            of: the stream.
            predicate: what stands after WHERE; None if there is no such clause.
            at: where it begins.
        """
        begin = 0
        for part in conjuncts(predicate) if predicate is not None else ():
            begin = str(predicate).index(part, begin)
            try:
                of = of.where(part)
            except SchemaError as error:
                reason = f"WHERE must be a predicate; {cause(str(error.__cause__))}"
                placed = Placed("WHERE", part, at + begin)
                raise self.refused(error, placed, of.rows, reason) from error
            begin += len(part)
        return of


def reason(error: SchemaError, what: str) -> str:
    """Why an expression is refused, in a few words."""
    if isinstance(error.__cause__, ParseException):
        return f"{what} needs an SQL expression; {cause(str(error.__cause__))}"
    return str(error)


def _offset(error: PySparkException, expression: str) -> int:
    """Where in the expression Spark has found the error, in characters; 0 if it does not say."""
    context = error.getQueryContext()
    if context:
        return int(context[0].startIndex())
    found = _NOT_PARSED.search(str(error))
    if found is None:
        return 0
    before = expression.split("\n")[: int(found[1]) - 1]
    return sum(len(line) + 1 for line in before) + int(found[2])
