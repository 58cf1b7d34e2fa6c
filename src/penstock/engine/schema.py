"""What a query needs of a DataFrame is checked before anything starts."""

from __future__ import annotations

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, MapType, NullType, StructField, TimestampType, VariantType

from penstock.engine.lowering import Lowered, lower
from penstock.engine.step import quoted
from penstock.errors import SchemaError, complaint, did_you_mean
from penstock.network.query import Query


def column(rows: DataFrame, what: str, name: str) -> StructField:
    """The column of that name, or a message with the nearest one."""
    field = next((f for f in rows.schema.fields if f.name.lower() == name.lower()), None)
    if field is None:
        hint = did_you_mean(name, rows.columns)
        raise SchemaError(complaint(what, "must be a column of the stream", name, hint))
    return field


def check_event_time(rows: DataFrame, name: str) -> None:
    """The event time must be a timestamp with a time zone's meaning."""
    field = column(rows, "event_time", name)
    if not isinstance(field.dataType, TimestampType):
        hint = f"add it with withColumn, such as expr('cast({name} AS timestamp)')"
        got = f"{name}: {field.dataType.simpleString()}"
        raise SchemaError(complaint("event_time", "must be of type timestamp", got, hint))


def check_keys(rows: DataFrame, keys: tuple[str, ...]) -> None:
    """Keys must be columns that can be grouped by."""
    for key in keys:
        field = column(rows, "by()", key)
        if isinstance(field.dataType, (MapType, VariantType)):
            got = f"{key}: {field.dataType.simpleString()}"
            raise SchemaError(complaint("by()", "needs a type that Spark can group by", got))


def lower_all(rows: DataFrame, query: Query) -> dict[str, Lowered]:
    """The query's aggregates as Spark columns, each checked against the columns it is of."""
    ansi = str(rows.sparkSession.conf.get("spark.sql.ansi.enabled")).lower() == "true"
    lowered = {}
    for name, aggregate in query.aggregates.items():
        of = NullType() if aggregate.column is None else column_type(rows, aggregate.column, name)
        low = lower(aggregate, of, ansi=ansi)
        try:
            _ = rows.select(low.final(low.partial)).schema if low.merge is None else None
            _ = rows.select(low.partial).schema
        except AnalysisException as error:
            raise SchemaError(
                complaint(f"{name} = {aggregate}", "does not fit its column", of.simpleString())
            ) from error
        lowered[name] = low
    return lowered


def column_type(rows: DataFrame, expression: str, name: str) -> DataType:
    """The type of a column or an expression; what is wrong with it, in one line."""
    try:
        return rows.select(F.expr(expression)).schema.fields[0].dataType
    except ParseException as error:
        where = f"{name} = {expression!r}"
        raise SchemaError(complaint(where, "must be an SQL expression", _short(error))) from error
    except AnalysisException as error:
        missing = (error.getMessageParameters() or {}).get("objectName", "").strip("`")
        if missing:
            hint = did_you_mean(missing, rows.columns)
            rule = "must be made of columns of the stream"
            raise SchemaError(complaint(f"{name} = {expression!r}", rule, missing, hint)) from error
        where = f"{name} = {expression!r}"
        raise SchemaError(complaint(where, "does not fit the stream", _short(error))) from error


def _short(error: AnalysisException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else "no reason given"


__all__ = ["check_event_time", "check_keys", "column", "column_type", "lower_all", "quoted"]
