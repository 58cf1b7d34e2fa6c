"""An aggregate as a processor in Python computes it: its values, its partial, its result's type."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    AtomicType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from penstock.engine.schema import column_type, reference
from penstock.errors import ArithmeticOverflow, SchemaError, SpecificationError, complaint
from penstock.network.aggregates import Aggregate
from penstock.processors import partials
from penstock.processors.partials import Folded, Partial, Values
from penstock.processors.sketches import distinct, quantile
from penstock.windows import Fold
from penstock.windows.aggregates import AVG, COUNT, MAX, MIN, SUM
from penstock.windows.spread import STDDEV_POP, STDDEV_SAMP, VAR_POP, VAR_SAMP

FOLDS: Final[dict[str, Fold[Any]]] = {
    fold.name: fold
    for fold in (COUNT, SUM, AVG, MIN, MAX, VAR_SAMP, VAR_POP, STDDEV_SAMP, STDDEV_POP)
}
_ALONE: Final = "put it in a query of its own"
_EXACT: Final = Context(prec=120, rounding=ROUND_HALF_UP)
_TIMES = (DateType, TimestampType, TimestampNTZType)


def value_of(rows: DataFrame, aggregate: Aggregate) -> Column:
    """The column that the processor gets for the aggregate."""
    text = aggregate.column or "1"
    x = reference(rows, text)
    if aggregate.fold is not None:
        return x
    if aggregate.function == "count":
        return F.when(x.isNotNull(), F.expr("true"))
    if aggregate.function.startswith(("var_", "stddev_")) or aggregate.parameter is not None:
        return x.cast("double")
    return x


def partial_of(rows: DataFrame, name: str, aggregate: Aggregate) -> Partial:
    """How the processor computes it, or why it cannot."""
    if aggregate.column is None:
        return partials.CountRows()
    of = column_type(rows, aggregate.column, name)
    where, got = f"{name} = {aggregate}", of.simpleString()
    if not in_arrow(of):
        raise SchemaError(complaint(where, "needs a type that Python can be handed", got))
    if aggregate.fold is not None:
        return Folded(aggregate.fold, dumps)
    if aggregate.function in ("min", "max") and (not isinstance(of, AtomicType) or collated(of)):
        raise SchemaError(complaint(where, "needs a type with an order in Python", got, _ALONE))
    ansi = str(rows.sparkSession.conf.get("spark.sql.ansi.enabled")).lower() == "true"
    return _sketch(aggregate) or _vector(aggregate.function, of, ansi) or _folded(aggregate)


def _sketch(aggregate: Aggregate) -> Partial | None:
    if aggregate.parameter is not None:
        return quantile(aggregate.parameter)
    return distinct() if aggregate.function == "approx_count_distinct" else None


def _vector(function: str, of: DataType, ansi: bool) -> Partial | None:
    """By numpy, where it has the type."""
    if function == "count":
        return partials.CountValues()
    if function.startswith(("var_", "stddev_")):
        return partials.Spread(function.endswith("_samp"), root=function.startswith("stddev"))
    number = isinstance(of, IntegralType | FractionalType) and not isinstance(of, DecimalType)
    if function in ("min", "max") and (number or isinstance(of, (BooleanType, *_TIMES))):
        return partials.Extreme(np.fmin if function == "min" else np.maximum)
    if not number:
        return None
    if function == "avg":
        return partials.Mean()
    whole = isinstance(of, IntegralType)
    return partials.SumOfWhole(checked=ansi) if whole else partials.SumOfFloats()


def _folded(aggregate: Aggregate) -> Partial:
    return Folded(FOLDS[aggregate.function])


def dumps(value: object) -> bytes:
    """The value pickled; a class that workers cannot import is written down with it."""
    try:
        return pickle.dumps(value)
    except (pickle.PicklingError, AttributeError, TypeError):
        written: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
        return written


def result_type(rows: DataFrame, name: str, aggregate: Aggregate) -> DataType:
    """The type that Spark's own aggregate has, or that the user says hers has."""
    if aggregate.fold is None:
        text = aggregate.column or "1"
        column_type(rows, text, name)  # refuses what is no column, in one line
        return rows.select(_spark_own(aggregate, reference(rows, text))).schema.fields[0].dataType
    text = str(aggregate.returns).strip()
    try:
        of = DataType.fromDDL(text)
    except PySparkException:
        of = None
    if not text or of is None or not in_arrow(of):
        rule, hint = "needs a Spark SQL type in `returns`", "such as 'double' or 'array<int>'"
        raise SpecificationError(complaint(f"{name} = {aggregate}", rule, aggregate.returns, hint))
    return of


def typed(values: Values, of: pa.DataType, name: str) -> pa.Array:
    """The answers as an Arrow column; one that does not fit the type is refused, never cut off."""
    data = values.data
    try:
        if data.dtype == object:
            return pa.array([_fit(value, of) for value in data], of)
        missing = None if values.known is None else ~values.known
        array = pa.array(data, mask=missing)
        if pa.types.is_date32(of):
            return array.cast(pa.int32()).cast(of)
        return array if array.type == of else array.cast(of)
    except ArithmeticError as error:
        raise ArithmeticOverflow(complaint(name, f"must fit in {of}", str(error))) from None
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise SchemaError(complaint(name, f"must give {of}", str(error))) from None


def arrow_of(of: DataType) -> pa.DataType:
    """The type as Arrow has it."""
    return to_arrow_type(of, timezone="UTC")


def in_arrow(of: DataType) -> bool:
    """Whether Arrow has the type."""
    try:
        arrow_of(of)
    except PySparkException:
        return False
    return True


def collated(of: DataType) -> bool:
    """Whether it is text that is not compared byte by byte."""
    return isinstance(of, StringType) and of.simpleString() != "string"


def _spark_own(aggregate: Aggregate, x: Column) -> Column:
    match aggregate.function:
        case "approx_count_distinct":
            return F.hll_sketch_estimate(F.hll_sketch_agg(F.lit(1)))
        case "approx_percentile":
            return F.avg(x.cast("double"))
        case "count":
            return F.count(x)
    return getattr(F, aggregate.function)(x)  # type: ignore[no-any-return]


def _fit(value: Any, of: pa.DataType) -> Any:  # noqa: ANN401 - whatever `final` gives
    if isinstance(value, Decimal) and pa.types.is_decimal(of) and value.is_finite():
        rounded = _EXACT.quantize(value, Decimal(1).scaleb(-of.scale))
        if len(rounded.as_tuple().digits) > of.precision:
            raise OverflowError(str(value))
        return rounded
    if isinstance(value, float) and pa.types.is_integer(of) and not value.is_integer():
        raise ValueError(str(value))
    if isinstance(value, dt.datetime) and pa.types.is_timestamp(of) and of.tz is not None:
        return value.astimezone(dt.UTC)
    return value
