"""What can be asked of a window: aggregates by name, and aggregates of the user's own.

An aggregate is only described here; `penstock.engine.lowering` says how Spark computes its partial
over a pane, merges partials into windows, and finishes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.errors import SpecificationError, complaint
from penstock.windows import Fold


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of a query.

    Args:
        function: its name, such as "sum".
        column: a column or a Spark SQL expression over the stream's columns; None for count(*).
        parameter: what the function needs besides, such as the quantile.
        fold: init, incr, merge and final, for an aggregate of the user's own.
        returns: Spark SQL type of the answer, for an aggregate of the user's own.
    """

    function: str
    column: str | None = None
    parameter: float | None = None
    fold: Fold[Any] | None = None
    returns: str | None = None

    @property
    def repeatable(self) -> bool:
        """Whether a replay of the same rows gives the same answer."""
        return not self.function.startswith("approx_")

    def __str__(self) -> str:
        inside = self.column or "*"
        return (
            f"{self.function}({inside})"
            if self.parameter is None
            else (f"{self.function}({inside}, {self.parameter:g})")
        )


def count(column: str | None = None) -> Aggregate:
    """The number of rows, or of the rows in which `column` is not null.

    >>> str(count()), str(count("size"))
    ('count(*)', 'count(size)')
    """
    return Aggregate("count", _column("count", column) if column is not None else None)


def sum(column: str) -> Aggregate:  # noqa: A001 - as in Spark's functions
    """The sum; of whole numbers a 64-bit one, of decimals with ten more digits, as in Spark."""
    return Aggregate("sum", _column("sum", column))


def avg(column: str) -> Aggregate:
    """The mean."""
    return Aggregate("avg", _column("avg", column))


def min(column: str) -> Aggregate:  # noqa: A001 - as in Spark's functions
    """The least value; NaN is greater than any number."""
    return Aggregate("min", _column("min", column))


def max(column: str) -> Aggregate:  # noqa: A001 - as in Spark's functions
    """The greatest value; NaN is greater than any number."""
    return Aggregate("max", _column("max", column))


def var_samp(column: str) -> Aggregate:
    """The sample variance; null for a single row."""
    return Aggregate("var_samp", _column("var_samp", column))


def var_pop(column: str) -> Aggregate:
    """The population variance."""
    return Aggregate("var_pop", _column("var_pop", column))


def stddev_samp(column: str) -> Aggregate:
    """The sample standard deviation; null for a single row."""
    return Aggregate("stddev_samp", _column("stddev_samp", column))


def stddev_pop(column: str) -> Aggregate:
    """The population standard deviation."""
    return Aggregate("stddev_pop", _column("stddev_pop", column))


def approx_count_distinct(column: str) -> Aggregate:
    """About how many different values there are (a HyperLogLog sketch, 1.6 % standard error).

    It is Spark's `hll_sketch_agg`, because that one can be merged; Spark's own function of this
    name uses another sketch and gives slightly different numbers. How the sketch is merged depends
    on how the rows are spread over tasks: a replay may give a slightly different answer.
    """
    return Aggregate("approx_count_distinct", _column("approx_count_distinct", column))


def approx_percentile(column: str, quantile: float) -> Aggregate:
    """About the value below which that share of the values lies (a KLL sketch, ±1.65 % in rank).

    Its sketch is filled at random: a replay may give another answer. NaN counts as no value.

    Args:
        column: a numeric column.
        quantile: the share of the values, 0 to 1.
    """
    if not isinstance(quantile, (int, float)) or not 0 <= quantile <= 1:
        raise SpecificationError(complaint("quantile", "must be between 0 and 1", quantile))
    return Aggregate("approx_percentile", _column("approx_percentile", column), float(quantile))


def user_defined(fold: Fold[Any], column: str, returns: str) -> Aggregate:
    """An aggregate written in Python; its state is the partial, pickled, and never the rows.

    Args:
        fold: init, incr, merge and final; None values are handed to `incr` too.
        column: the column whose values `incr` gets.
        returns: Spark SQL type of what `final` gives, such as "double".

    >>> from operator import or_
    >>> from penstock.windows import Fold
    >>> flags = Fold("flags", int, lambda bits, x: bits | (x or 0), or_, lambda bits: bits)
    >>> str(user_defined(flags, "tcp_flags", returns="int"))
    'flags(tcp_flags)'
    """
    return Aggregate(fold.name, _column(fold.name, column), fold=fold, returns=returns)


def _column(function: str, column: object) -> str:
    if not isinstance(column, str) or not column.strip():
        rule = "needs the name of a column or an SQL expression"
        raise SpecificationError(complaint(f"{function}()", rule, column))
    return column
