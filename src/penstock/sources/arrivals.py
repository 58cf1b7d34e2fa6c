"""Rows of a trace in the order in which they arrived, with types that Spark has."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.errors import SchemaError, complaint, did_you_mean

ROW = "trace_row"
"""The column with the number of a row of the trace, in order of arrival."""

_TIMESTAMP = pa.timestamp("us", tz="UTC")


def in_order(table: pa.Table, event_time: str, arrival: str) -> pa.Table:
    """Rows in order of arrival, with their numbers and with types that Spark has."""
    for name in dict.fromkeys((event_time, arrival)):
        if name not in table.column_names:
            hint = did_you_mean(name, table.column_names)
            raise SchemaError(complaint("trace", "must have the column", name, hint))
        place = table.column_names.index(name)
        table = table.set_column(place, name, _time(name, table[name]))
    if table[arrival].null_count:
        raise SchemaError(complaint(arrival, "must have a value in every row of a trace", None))
    if ROW in table.column_names:
        raise SchemaError(complaint("trace", "must have no column with this name", ROW))
    arrived = micros(table[arrival])
    if np.any(arrived[1:] < arrived[:-1]):
        table = table.take(np.argsort(arrived, kind="stable"))
    table = _plain(table).append_column(ROW, pa.array(np.arange(len(table))))
    return table.combine_chunks()


def micros(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Times in µs since the epoch."""
    found: NDArray[np.int64] = column.cast(pa.int64()).to_numpy()
    return found


def _time(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A time as Spark has them; numbers are seconds since the epoch."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        rounded = pc.round(pc.multiply(column.cast(pa.float64()), 1e6))
        return rounded.cast(pa.int64()).cast(_TIMESTAMP)
    try:
        if pa.types.is_timestamp(column.type) and column.type.tz is None:
            return pc.assume_timezone(column.cast(pa.timestamp("us")), "UTC")
        return column.cast(_TIMESTAMP)
    except pa.ArrowException as error:
        rule = "must be a timestamp, or seconds since the epoch"
        raise SchemaError(complaint(name, rule, str(column.type))) from error


def _plain(table: pa.Table) -> pa.Table:
    """The types that Spark has: no dictionaries, long strings or unsigned numbers."""
    for place, field in enumerate(table.schema):
        kind = field.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if pa.types.is_large_string(kind):
            kind = pa.string()
        if pa.types.is_unsigned_integer(kind):
            kind = pa.int64()
        if pa.types.is_timestamp(kind) and kind.unit != "us":
            kind = pa.timestamp("us", tz=kind.tz)
        if kind != field.type:
            table = table.set_column(place, field.name, table[field.name].cast(kind))
    return table
