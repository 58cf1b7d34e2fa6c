"""What a query needs of a DataFrame is checked before anything starts."""

from __future__ import annotations

import contextlib
import io

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    IntegralType,
    MapType,
    NullType,
    NumericType,
    StructField,
    TimestampType,
)

from penstock.engine.columns import WATERMARK
from penstock.engine.lowering import Lowered, lower
from penstock.engine.step import quoted
from penstock.errors import SchemaError, complaint, did_you_mean
from penstock.network.progress import OrderedBy, Punctuation
from penstock.network.query import Query
from penstock.windows import SessionSpec
from penstock.windows.kinds import ROW_NUM

OURS = "penstock_"
"""Columns that the engine adds on its way begin with this."""


def column(rows: DataFrame, what: str, name: str) -> StructField:
    """The column of that name, or a message with the nearest one."""
    field = next((f for f in rows.schema.fields if f.name.lower() == name.lower()), None)
    if field is None:
        hint = did_you_mean(name, rows.columns)
        raise SchemaError(complaint(what, "must be a column of the stream", name, hint))
    return field


def check_rows(rows: DataFrame, event_time: str | None) -> None:
    """The rows must be a DataFrame with clear names, and the event time a time or a number."""
    if not isinstance(rows, DataFrame):
        raise SchemaError(complaint("stream()", "needs a DataFrame", type(rows).__name__))
    names = [name.lower() for name in rows.columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        rule = "must have each column once (upper and lower case are the same)"
        raise SchemaError(complaint("the DataFrame", rule, ", ".join(twice)))
    ours = [name for name in rows.columns if name.lower().startswith(OURS)]
    if ours:
        rule = f"must have no column that begins with {OURS}"
        raise SchemaError(complaint("the DataFrame", rule, ", ".join(ours)))
    if event_time is None:
        return
    if not isinstance(event_time, str):
        raise SchemaError(complaint("event_time", "must be the name of a column", event_time))
    field = column(rows, "event_time", event_time)
    if not isinstance(field.dataType, TimestampType | IntegralType):
        hint = f"add it with withColumn, such as expr('cast({event_time} AS timestamp)')"
        got = f"{event_time}: {field.dataType.simpleString()}"
        rule = "must be of type timestamp, or a whole number"
        raise SchemaError(complaint("event_time", rule, got, hint))


def check_weight_column(rows: DataFrame, weight: object) -> str:
    """The name of a column of numbers, as the rows spell it."""
    if not isinstance(weight, str):
        raise SchemaError(complaint("weight", "must be the name of a column", weight))
    field = column(rows, "weight", weight)
    if not isinstance(field.dataType, NumericType):
        got = f"{weight}: {field.dataType.simpleString()}"
        hint = "how many rows a row stands for"
        raise SchemaError(complaint("weight", "must be a column of numbers", got, hint))
    return field.name


def check_window(rows: DataFrame, query: Query) -> None:
    """The window's attributes must be columns of the stream, of the type that the window needs."""
    spec = query.window
    if not isinstance(spec, SessionSpec):
        for name in spec.pattr:
            column(rows, "pattr", name)
    if isinstance(query.progress, Punctuation | OrderedBy):
        for name in query.progress.by:
            column(rows, "progress", name)
    if isinstance(query.progress, Punctuation):
        column_type(rows, query.progress.where, "punctuation where")
        column_type(rows, query.progress.up_to, "punctuation up_to")
    if spec.rattr == ROW_NUM:
        if not query.order:
            hint = "such as ps.stream(df, order='offset')"
            rule = "must be given where a window counts rows, or an event_time"
            raise SchemaError(complaint("order", rule, None, hint))
        return
    of = column(rows, "the window's attribute", spec.rattr).dataType
    wanted = TimestampType if spec.unit == "time" else IntegralType
    if not isinstance(of, wanted):
        need = "of type timestamp" if spec.unit == "time" else "a whole number"
        rule = f"must be {need} for {spec}"
        got = f"{spec.rattr}: {of.simpleString()}"
        raise SchemaError(complaint("the window's attribute", rule, got))


def has_watermark(rows: DataFrame) -> bool:
    """Whether the plan of a stream has a watermark; the schema may only have a note of one."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        rows.explain(extended=True)
    return "EventTimeWatermark" in said.getvalue()


def own_watermark(rows: DataFrame, event_time: str) -> int | None:
    """How far the watermark that rows bring along stays behind, in microseconds; None without."""
    noted = column(rows, "event_time", event_time).metadata.get(WATERMARK)
    return None if noted is None or not has_watermark(rows) else int(noted) * 1000


def check_hashed(rows: DataFrame, keys: tuple[str, ...], what: str) -> None:
    """Groups that are told apart by a hash must have keys, whose hashes are equal if they are."""
    if not keys:
        raise SchemaError(complaint(what, "needs groups", "none", "such as by('host')"))
    for key in keys:
        of = column(rows, "by()", key).dataType.simpleString()
        if "collate" in of:
            rule = "needs keys that are compared byte by byte"
            raise SchemaError(complaint(what, rule, f"{key}: {of}"))


def check_keys(rows: DataFrame, keys: tuple[str, ...]) -> None:
    """Keys must be columns that can be grouped by."""
    for key in keys:
        if not isinstance(key, str):
            hint = "by('host', 'port')"
            raise SchemaError(complaint("by()", "needs names of columns", key, hint))
        field = column(rows, "by()", key)
        refusal = complaint(
            "by()", "needs a type that can be a key", f"{key}: {field.dataType.simpleString()}"
        )
        if isinstance(field.dataType, MapType):
            raise SchemaError(refusal)
        try:
            _ = rows.groupBy(F.col(quoted(key))).count().schema
        except AnalysisException as error:
            raise SchemaError(refusal) from error


def lower_all(rows: DataFrame, query: Query) -> dict[str, Lowered]:
    """The query's aggregates as Spark columns, each checked against the columns it is of."""
    ansi = str(rows.sparkSession.conf.get("spark.sql.ansi.enabled")).lower() == "true"
    lowered = {}
    for name, aggregate in query.aggregates.items():
        of: DataType = NullType()
        x, plain = F.lit(None), True
        if aggregate.column is not None:
            of = column_type(rows, aggregate.column, name)
            x, plain = reference(rows, aggregate.column), is_column(rows, aggregate.column)
        low = lower(aggregate, x, of, ansi=ansi, plain=plain)
        try:
            _ = rows.select(low.partial(lambda value: value)).schema
        except AnalysisException as error:
            raise SchemaError(
                complaint(f"{name} = {aggregate}", "does not fit its column", of.simpleString())
            ) from error
        lowered[name] = low
    return lowered


def is_column(rows: DataFrame, text: str) -> bool:
    """Whether the text is the name of a column, and not an expression over columns."""
    return text.lower() in (name.lower() for name in rows.columns)


def reference(rows: DataFrame, text: str) -> Column:
    """The column of that name, whatever is in the name, or else the expression."""
    return F.col(quoted(text)) if is_column(rows, text) else F.expr(text)


def column_type(rows: DataFrame, expression: str, name: str) -> DataType:
    """The type of a column or an expression; what is wrong with it, in one line."""
    where = f"{name} = {expression!r}"
    known = _of_column(rows, expression)
    if known is not None:
        return known
    try:
        return rows.select(reference(rows, expression)).schema.fields[0].dataType
    except ParseException as error:
        raise SchemaError(complaint(where, "must be an SQL expression", _short(error))) from error
    except AnalysisException as error:
        missing = (error.getMessageParameters() or {}).get("objectName", "").strip("`")
        if missing:
            hint = did_you_mean(missing, rows.columns)
            rule = "must be made of columns of the stream"
            raise SchemaError(complaint(where, rule, missing, hint)) from error
        raise SchemaError(complaint(where, "does not fit the stream", _short(error))) from error


def _of_column(rows: DataFrame, text: str) -> DataType | None:
    """The type of a column, in quotes or not; None if it is none, or there are two of the name.

    Spark is not asked again, as for an expression: it has told the types of all columns at once.
    """
    plain = text[1:-1].replace("``", "`") if text[:1] == text[-1:] == "`" else text
    for name in (text, plain):
        found = [f.dataType for f in rows.schema.fields if f.name.lower() == name.lower()]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _short(error: AnalysisException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else "no reason given"
