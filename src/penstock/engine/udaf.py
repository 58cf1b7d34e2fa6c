"""Aggregates written in Python: init, incr, merge and final, in batches and in streams.

    rows ─► accounts ─► Python: panes ─► group by key, with state ─► Python: types ─► windows

A query with one of them is computed in Python as a whole, Spark's aggregates in it too. Keys are
grouped as JSON, which keeps null apart from NaN, and brings back a key of any type as it was.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.streaming.state import GroupStateTimeout
from pyspark.sql.types import AtomicType, DataType, DoubleType, FloatType, StringType, StructType

from penstock.engine import columns, processor
from penstock.engine.processor import CLOSE, KEY, LATE, PARTIALS
from penstock.engine.run import ACCOUNTS
from penstock.engine.schema import column_type, lower_all, reference
from penstock.engine.step import quoted
from penstock.errors import ArithmeticOverflow, SchemaError, SpecificationError, complaint
from penstock.network.aggregates import Aggregate
from penstock.network.query import Query
from penstock.windows import Fold, Ladder
from penstock.windows.aggregates import AVG, COUNT, COUNT_ALL, MAX, MIN, SUM
from penstock.windows.spread import STDDEV_POP, STDDEV_SAMP, VAR_POP, VAR_SAMP

TIME, FATE, END = "penstock_time", "penstock_fate", "penstock_end"
_FOLDS: Final[dict[str, Fold[Any]]] = {
    fold.name: fold
    for fold in (COUNT, SUM, AVG, MIN, MAX, VAR_SAMP, VAR_POP, STDDEV_SAMP, STDDEV_POP)
}
_JSON: Final = {
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_ALONE: Final = "put it in a query of its own"
_EXACT: Final = Context(prec=120, rounding=ROUND_HALF_UP)


def check(rows: DataFrame, query: Query) -> None:
    """What the query needs of columns and types, before anything starts."""
    others = {name: a for name, a in query.aggregates.items() if a.fold is None}
    for name, aggregate in others.items():
        if aggregate.function not in _FOLDS:
            where, rule = f"{name} = {aggregate}", "cannot stand beside an aggregate in Python"
            raise SpecificationError(complaint(where, rule, aggregate.function, _ALONE))
    if others:
        lower_all(rows, replace(query, aggregates=others))
    for name, aggregate in query.aggregates.items():
        _check_values(rows, name, aggregate)
        _result_type(rows, name, aggregate)
    _key(rows, query)


def windows(rows: DataFrame, query: Query, late: Column | None, accounts: str | None) -> DataFrame:
    """The windows of the rows, which have a watermark if they are a stream.

    Args:
        rows: batch or stream.
        query: one with an aggregate written in Python.
        late: L in microseconds since the epoch; None for a batch, where no row is late.
        accounts: under which name the rows that do not count are reported; None for no report.
    """
    asked, spec = query.aggregates.values(), query.window
    names = [f"penstock_{i}" for i in range(len(asked))]
    tagged = rows.select(
        _key(rows, query).alias(KEY),
        F.unix_micros(F.col(quoted(spec.rattr))).alias(TIME),
        (F.lit(processor.NEVER) if late is None else late).alias(LATE),
        *(_values(rows, a).alias(name) for name, a in zip(names, asked, strict=True)),
    )
    pane = columns.block_starts(F.col(TIME), Ladder(spec))[0].alias(processor.PANE)
    counted = _account(tagged, query, accounts, late=late is not None)
    folds = tuple(COUNT_ALL if a.column is None else a.fold or _FOLDS[a.function] for a in asked)
    worker = processor.Processor(spec, folds, tuple(a.fold is not None for a in asked))
    folded = counted.select(KEY, pane, LATE, *names)
    messages = folded.mapInArrow(worker.fold_rows, processor.MESSAGE)
    if late is None:
        # Spark counts the arguments of a function, and would count `self`.
        one = lambda key, frame: worker.of_key(key, frame)  # noqa: E731, PLW0108
        answers = messages.groupBy(KEY).applyInPandas(one, processor.ANSWER)
        return _typed_windows(answers, rows, query)
    # By this column Spark tells late input: here a message none of whose windows is open.
    close = F.timestamp_micros(F.col(CLOSE)).alias(CLOSE, metadata=columns.EVENT_TIME)
    by_key = messages.select(KEY, close, PARTIALS).groupBy(KEY)
    kept, timeout = f"{PARTIALS} binary", GroupStateTimeout.EventTimeTimeout
    answers = by_key.applyInPandasWithState(
        worker.advance, processor.ANSWER, kept, "append", timeout
    )
    return _typed_windows(answers, rows, query)


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers as columns of the types that were promised, by what messages call them."""

    types: dict[str, pa.DataType]

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One row for each window and key: the key, the end of the window, the answers."""
        for batch in batches:
            rows = [
                (key, end, *values)
                for key, answers in zip(*(column.to_pylist() for column in batch), strict=True)
                for end, values in processor.loads(answers)
            ]
            if rows:
                keys, ends, *answers = zip(*rows, strict=True)
                typed = [
                    _typed(values, of, name)
                    for values, (name, of) in zip(answers, self.types.items(), strict=True)
                ]
                arrays = [pa.array(keys, pa.string()), pa.array(ends, pa.int64()), *typed]
                names = [KEY, END, *(f"penstock_{i}" for i in range(len(typed)))]
                yield pa.RecordBatch.from_arrays(arrays, names)


def _account(tagged: DataFrame, query: Query, accounts: str | None, *, late: bool) -> DataFrame:
    """Reports the rows that do not count everywhere; those pass that count somewhere."""
    spec, t = query.window, F.col(TIME)
    fate = F.when(t.isNull(), "no_time")
    gap = columns.in_no_window(t, spec)
    if gap is not None:
        fate = fate.when(gap, "in_no_window")
    if late:
        first, last = columns.first_end(t, spec), columns.last_end(t, spec)
        counts_until = last if query.late == "generous" else first
        fate = fate.when(counts_until <= F.col(LATE), "late_lost")
        fate = fate.when(first <= F.col(LATE), "late_partial")
    counts = [F.count_if(F.col(FATE) == name).alias(name) for name in ACCOUNTS]
    known = tagged.select("*", fate.alias(FATE))
    known = known if accounts is None else known.observe(accounts, *counts)
    return known.where(F.col(FATE).isNull() | (F.col(FATE) == "late_partial"))


def _typed_windows(answers: DataFrame, rows: DataFrame, query: Query) -> DataFrame:
    """Answers as columns, beside their windows and keys."""
    asked, end = query.aggregates, F.col(END)
    types = {f"{name} = {a}": _result_type(rows, name, a) for name, a in asked.items()}
    schema = StructType().add(KEY, "string").add(END, "long")
    for i, of in enumerate(types.values()):
        schema.add(f"penstock_{i}", of)
    decode = Answers({name: to_arrow_type(of, timezone="UTC") for name, of in types.items()}).rows
    keys = StructType()
    for i, key in enumerate(query.keys):
        keys.add(f"k{i}", column_type(rows, quoted(key), key))
    parsed = F.from_json(KEY, keys, {**_JSON, "mode": "FAILFAST"})
    return answers.mapInArrow(decode, schema).select(
        F.timestamp_micros(columns.window_start(end, query.window)).alias("window_start"),
        F.timestamp_micros(end).alias("window_end", metadata=columns.EVENT_TIME),
        *(parsed[f"k{i}"].alias(key) for i, key in enumerate(query.keys)),
        *(F.col(f"penstock_{i}").alias(name) for i, name in enumerate(asked)),
    )


def _key(rows: DataFrame, query: Query) -> Column:
    """The keys as one text, equal where Spark takes the keys for equal."""
    named = []
    for i, key in enumerate(query.keys):
        of, column = column_type(rows, key, key), F.col(quoted(key))
        if _collated(of):
            rule = "needs plain text beside an aggregate in Python"
            raise SchemaError(complaint("by()", rule, f"{key}: {of.simpleString()}"))
        if isinstance(of, (DoubleType, FloatType)):
            column = (column + F.lit(0.0)).cast(of)  # 0.0 and -0.0 are one key
        named.append(column.alias(f"k{i}"))
    return F.to_json(F.struct(*named), _JSON) if named else F.lit("{}")


def _values(rows: DataFrame, aggregate: Aggregate) -> Column:
    return F.lit(1) if aggregate.column is None else reference(rows, aggregate.column)


def _check_values(rows: DataFrame, name: str, aggregate: Aggregate) -> None:
    of = column_type(rows, aggregate.column or "1", name)
    where, got = f"{name} = {aggregate}", of.simpleString()
    if not _in_arrow(of):
        raise SchemaError(complaint(where, "needs a type that Python can be handed", got))
    by_order = aggregate.fold is None and aggregate.function in {"min", "max"}
    if by_order and (not isinstance(of, AtomicType) or _collated(of)):
        raise SchemaError(complaint(where, "needs a type with an order in Python", got, _ALONE))


def _result_type(rows: DataFrame, name: str, aggregate: Aggregate) -> DataType:
    """The type that Spark's own aggregate has, or that the user says hers has."""
    if aggregate.fold is None:
        spark_own = getattr(F, aggregate.function)(_values(rows, aggregate))
        return rows.select(spark_own).schema.fields[0].dataType
    text = str(aggregate.returns).strip()
    try:
        of = DataType.fromDDL(text)
    except PySparkException:
        of = None
    if not text or of is None or not _in_arrow(of):
        rule, hint = "needs a Spark SQL type in `returns`", "such as 'double' or 'array<int>'"
        raise SpecificationError(complaint(f"{name} = {aggregate}", rule, aggregate.returns, hint))
    return of


def _in_arrow(of: DataType) -> bool:
    try:
        to_arrow_type(of, timezone="UTC")
    except PySparkException:
        return False
    return True


def _collated(of: DataType) -> bool:
    return isinstance(of, StringType) and of.simpleString() != "string"


def _typed(values: Sequence[Any], of: pa.DataType, name: str) -> pa.Array:
    """The answers as an Arrow column; one that does not fit the type is refused, never cut off."""
    try:
        return pa.array([_fit(value, of) for value in values], of)
    except ArithmeticError as error:
        raise ArithmeticOverflow(complaint(name, f"must fit in {of}", str(error))) from None
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise SchemaError(complaint(name, f"must give {of}", str(error))) from None


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
