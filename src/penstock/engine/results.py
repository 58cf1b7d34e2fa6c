"""Where the rows of a window query come from, and what becomes of its answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.engine.columns import window_time
from penstock.engine.operators import built
from penstock.engine.progress import watermarked, without_punctuation
from penstock.engine.schema import own_watermark
from penstock.engine.step import quoted
from penstock.errors import UsageError, complaint
from penstock.network.operators import Expression, Filter, Handle, Map, Operator, Source, upstream
from penstock.network.query import WINDOW_TIME

if TYPE_CHECKING:
    from penstock.engine.stream import Stream
    from penstock.engine.window_query import WindowQuery


def conditions(node: Operator) -> tuple[str, ...]:
    """What was done to a stream before it was windowed, as a checkpoint remembers it."""
    done = (one for one in upstream(node) if not isinstance(one, Source))
    return tuple(one.predicate.text if isinstance(one, Filter) else str(one) for one in done)


def rows_of(source: Source) -> DataFrame:
    """The DataFrame of a stream."""
    assert isinstance(source.rows.of, DataFrame)  # noqa: S101 - only DataFrames are put there
    return source.rows.of


def source_with_watermark(source: Source) -> DataFrame:
    """The rows of a stream with its watermark; a stream that brings one along keeps it."""
    rows = rows_of(source)
    time = source.event_time
    if time is None or not rows.isStreaming or own_watermark(rows, time) is not None:
        return rows
    return watermarked(rows, time, source.slack, source.progress)


def data_of(source: Source) -> DataFrame:
    """The rows of a stream that are data, without a watermark of ours."""
    return without_punctuation(rows_of(source), source.progress)


def built_with_watermark(node: Operator) -> DataFrame:
    """The rows of an operator, whose filters stand above the watermarks of its streams."""
    sources = [one for one in upstream(node) if isinstance(one, Source)]
    known: dict[Operator, DataFrame] = {one: source_with_watermark(one) for one in sources}
    return built(node, known, never(sources[0].event_time))


def never(event_time: str | None) -> Column | None:
    """A condition on the event time that holds for no row.

    Spark runs a filter that does not name the column of the watermark before it takes the
    watermark, and rows that are left out then tell nothing of how far the stream is.
    """
    if event_time is None:
        return None
    return F.unix_micros(F.col(quoted(event_time))) == F.lit(-(1 << 63))


def results_of(query: WindowQuery) -> Stream:
    """The answers of a query as a stream."""
    from penstock.engine.stream import Stream  # noqa: PLC0415 - a stream makes queries itself

    given = query.stream
    if "window_end" not in query.query.window_columns or query.query.window.unit != "time":
        rule = "must have windows over time, for its answers to have one"
        raise UsageError(complaint("results()", rule, str(query.query.window)))
    weights = (one.weight for one in upstream(given.node) if isinstance(one, Source))
    if given.is_streaming or any(weight is not None for weight in weights):
        # Only their columns are asked for: such windows are computed in a network.
        empty = given.rows.sparkSession.createDataFrame([], given.rows.schema)
        time, order = given.event_time, given.order
        source = Source("empty", time, 0, given.late, None, order, (), Handle(empty))
        query_of_none = replace(query, stream=replace(given, rows=empty, node=source))
        answers = query_of_none.dataframe()
    else:
        answers = query.dataframe()
    rows = answers.withColumn(WINDOW_TIME, window_time())
    node = query.node
    if isinstance(node, Map):  # a SELECT list of its own
        node = replace(node, columns=(*node.columns, (WINDOW_TIME, Expression(WINDOW_TIME))))
    return Stream(rows, WINDOW_TIME, 0, given.late, None, (WINDOW_TIME,), node)
