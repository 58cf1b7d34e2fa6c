"""How Spark computes an aggregate: its partial over a pane, the merge of partials, the final.

Each is one column. The partial of avg is a struct of sum and count; the partial of a variance is
count, mean and the sum of squared distances from it, merged as Chan, Golub and LeVeque do, because
the shorter formula with sums of squares loses its digits where the mean is large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
)

from penstock.errors import SchemaError, complaint
from penstock.network.aggregates import Aggregate

SQUARED, SUMMED = "squares", "summed"
"""The sum of squares, and of values, as fractions, for statistics; nobody else can ask for them."""
MOMENTS, SKETCH = "moments", "sketch"
"""What variances and quantiles of a sample are estimated from."""

PARTS = 64
"""A row of weight w is in a sketch as often as the whole number that is nearest to 64 w."""

DECIMAL_DIGITS = 38
_EXACT_DIGITS = 10
"""Digits that a quotient must have beyond those of the answer, to be rounded only once."""


Guard = Callable[[Column], Column]
"""Lets through the values of rows that count, and makes null of the others."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """An aggregate as Spark columns.

    Args:
        partial: an aggregate over rows, given what to put around a value that may fail.
        merge: an aggregate over the column of partials; None if partials cannot be merged.
        final: the answer, from a partial or from merged ones.
        scale: the partial of rows that stand for w each; None where that is not needed.
    """

    partial: Callable[[Guard], Column]
    merge: Callable[[Column], Column] | None
    final: Callable[[Column], Column]
    scale: Callable[[Column, Column], Column] | None = None


def lower(  # noqa: PLR0911 - one return for each kind of aggregate
    aggregate: Aggregate, x: Column, of: DataType, *, ansi: bool, plain: bool
) -> Lowered:
    """The aggregate over a column of that type.

    Args:
        aggregate: one that is not the user's own.
        x: the column.
        of: type of the column; any for count(*).
        ansi: whether an overflow is an error (spark.sql.ansi.enabled).
        plain: whether `x` is a column of the rows as it is, so that nothing can fail in it.
    """
    if aggregate.column is None:
        return Lowered(lambda _: F.count(F.lit(1)), F.sum, _same)
    if aggregate.function in _PLAIN:
        first, merge = _PLAIN[aggregate.function]
        return Lowered(lambda guard: first(x if plain else guard(x)), merge, _same)
    if aggregate.function == "approx_count_distinct":
        return _distinct(aggregate, x, of)
    if aggregate.function == SQUARED:
        number = x.cast("double")
        return Lowered(lambda guard: F.sum(guard(number * number)), F.sum, _same)
    if aggregate.function == SUMMED:
        number = x.cast("double")
        return Lowered(lambda guard: F.sum(guard(number)), F.sum, _same)
    if aggregate.function == "sum":
        _require(aggregate, of, (NumericType, DayTimeIntervalType, YearMonthIntervalType))
        return _sum(x, of, ansi=ansi)
    _require(aggregate, of, (NumericType,))
    if aggregate.function == "avg":
        return _avg(x, of)
    if aggregate.function in (MOMENTS, SKETCH):
        return _scaled(aggregate.function, x)
    if aggregate.parameter is not None:
        return _percentile(x, aggregate.parameter)
    return _variance(aggregate.function, x)


_PLAIN: dict[str, tuple[Callable[[Column], Column], Callable[[Column], Column]]] = {
    "count": (F.count, F.sum),
    "min": (F.min, F.min),
    "max": (F.max, F.max),
}


def _same(column: Column) -> Column:
    return column


def _sum(x: Column, of: DataType, *, ansi: bool) -> Lowered:
    if not isinstance(of, DecimalType):
        return Lowered(lambda guard: F.sum(guard(x)), F.sum, _same)
    # Spark adds ten digits for each sum; the sum of sums must stay of the type of one.
    result = DecimalType(min(of.precision + 10, DECIMAL_DIGITS), of.scale)
    if ansi:
        return Lowered(lambda guard: F.sum(guard(x)), lambda p: F.sum(p).cast(result), _same)

    # Without ANSI an overflow is a null, which a merge must not take for 'no values'.
    def partial(guard: Guard) -> Column:
        total = F.sum(guard(x))
        lost = total.isNull() & (F.count(guard(x)) > 0)
        return F.struct(total.alias("s"), lost.alias("lost"))

    return Lowered(
        partial,
        lambda p: F.struct(F.sum(p["s"]).cast(result).alias("s"), F.max(p["lost"]).alias("lost")),
        lambda p: F.when(~p["lost"], p["s"]),
    )


def _avg(x: Column, of: DataType) -> Lowered:
    if isinstance(of, DecimalType):
        return _decimal_avg(x, of)
    number = x.cast("double")  # as Spark adds them up
    return Lowered(
        lambda guard: F.struct(F.sum(guard(number)).alias("s"), F.count(guard(x)).alias("n")),
        lambda p: F.struct(F.sum(p["s"]).alias("s"), F.sum(p["n"]).alias("n")),
        lambda p: F.when(p["n"] > 0, p["s"] / p["n"]),
    )


def _decimal_avg(x: Column, of: DecimalType) -> Lowered:
    total = DecimalType(min(of.precision + 10, DECIMAL_DIGITS), of.scale)
    scale = min(of.scale + 4, DECIMAL_DIGITS)
    result = DecimalType(min(of.precision + 4, DECIMAL_DIGITS), scale)
    # Spark keeps this many digits after the point when it divides the sum by the count.
    quotient = DECIMAL_DIGITS - (total.precision - total.scale)
    if quotient < scale + _EXACT_DIGITS:
        return Lowered(lambda guard: F.avg(guard(x)), None, _same)
    return Lowered(
        lambda guard: F.struct(F.sum(guard(x)).alias("s"), F.count(guard(x)).alias("n")),
        lambda p: F.struct(F.sum(p["s"]).cast(total).alias("s"), F.sum(p["n"]).alias("n")),
        lambda p: F.when(p["n"] > 0, (p["s"] / p["n"].cast("decimal(20,0)")).cast(result)),
    )


def _variance(function: str, x: Column) -> Lowered:
    def partial(guard: Guard) -> Column:
        number = guard(x.cast("double"))
        return F.struct(
            F.count(number).cast("double").alias("n"),
            F.avg(number).alias("mean"),
            (F.var_pop(number) * F.count(number)).alias("m2"),
        )

    sample = function.endswith("_samp")

    def final(p: Column) -> Column:
        degrees = p["n"] - 1.0 if sample else p["n"]
        variance = F.when(degrees > 0, p["m2"] / degrees)
        return F.sqrt(variance) if function.startswith("stddev") else variance

    return Lowered(partial, _merge_moments, final)


def _merge_moments(p: Column) -> Column:
    """Welford's moments of all parts: they have no operator of their own, so a list is folded."""
    zero = F.struct(F.lit(0.0).alias("n"), F.lit(0.0).alias("mean"), F.lit(0.0).alias("m2"))

    def both(a: Column, b: Column) -> Column:
        n = a["n"] + b["n"]
        apart = b["mean"] - a["mean"]
        merged = F.struct(
            n.alias("n"),
            (a["mean"] + apart * b["n"] / n).alias("mean"),
            (a["m2"] + b["m2"] + apart * apart * a["n"] * b["n"] / n).alias("m2"),
        )
        return F.when(a["n"] > 0, merged).otherwise(b)  # 0 times a large square is not a number

    return F.aggregate(F.collect_list(F.when(p["n"] > 0, p)), zero, both)


def _distinct(aggregate: Aggregate, x: Column, of: DataType) -> Lowered:
    match of:
        case IntegralType():
            x = x.cast("bigint")
        case BooleanType():
            x = x.cast("int")
        case DateType():
            x = F.unix_date(x)
        case TimestampType():
            x = F.unix_micros(x)
        case DoubleType() | FloatType():
            x = (x + F.lit(0.0)).cast("string")  # 0.0 and -0.0 are one value
        case DecimalType() | TimestampNTZType():
            x = x.cast("string")
        case _:
            _require(aggregate, of, (StringType, BinaryType))
            # The sketch passes over what is empty, which is a value like any other.
            mark = F.lit("-") if isinstance(of, StringType) else F.lit(b"-")
            x = F.concat(mark, x)
    return Lowered(lambda guard: F.hll_sketch_agg(guard(x)), F.hll_union_agg, F.hll_sketch_estimate)


def _percentile(x: Column, quantile: float) -> Lowered:
    return Lowered(
        lambda guard: F.kll_sketch_agg_double(guard(x.cast("double"))),
        F.kll_merge_agg_double,
        lambda p: F.when(
            F.kll_sketch_get_n_double(p) > 0,
            F.kll_sketch_get_quantile_double(p, F.lit(quantile)),
        ),
    )


def _scaled(function: str, x: Column) -> Lowered:
    """What is not final, and takes the weights of rows into itself."""
    if function == MOMENTS:
        return replace(_variance("var_pop", x), final=_same, scale=_heavier)
    return replace(_percentile(x, 0.5), final=_same, scale=_repeated)


def _heavier(p: Column, w: Column) -> Column:
    return F.struct((p["n"] * w).alias("n"), p["mean"].alias("mean"), (p["m2"] * w).alias("m2"))


def _repeated(p: Column, w: Column) -> Column:
    """A sketch with every value so many times: merged with itself, for each binary digit."""
    times = F.round(w * PARTS).cast("bigint")
    digits = F.sequence(F.lit(0), F.floor(F.log2(times)).cast("int"))
    none = F.lit(None).cast("binary")

    def merged(so_far: Column, digit: Column) -> Column:
        all_of_them, power = so_far["sum"], so_far["power"]
        has = F.call_function("shiftright", times, digit).bitwiseAND(F.lit(1)) == 1
        both = F.when(all_of_them.isNull(), power)
        both = both.otherwise(F.kll_sketch_merge_double(all_of_them, power))
        return F.struct(
            F.when(has, both).otherwise(all_of_them).alias("sum"),
            F.kll_sketch_merge_double(power, power).alias("power"),
        )

    start = F.struct(none.alias("sum"), p.alias("power"))
    some = F.kll_sketch_get_n_double(p) > 0
    return F.when(some, F.aggregate(digits, start, merged)["sum"]).otherwise(p)


def _require(aggregate: Aggregate, of: DataType, types: tuple[type[DataType], ...]) -> None:
    if not isinstance(of, types):
        wanted = " or ".join(t.__name__.removesuffix("Type").lower() for t in types)
        hint = (
            f"such as cast({aggregate.column} AS {'string' if StringType in types else 'double'})"
        )
        raise SchemaError(
            complaint(str(aggregate), f"needs a column of type {wanted}", of.simpleString(), hint)
        )
