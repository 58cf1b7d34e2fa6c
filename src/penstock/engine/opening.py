"""A DataFrame becomes a stream: what says how far it is must fit the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from pyspark.sql import Column, DataFrame, SparkSession

from penstock import sources
from penstock.engine.operators import as_expression, where
from penstock.engine.schema import check_rows, check_weight_column, column
from penstock.engine.stream import Stream
from penstock.errors import SpecificationError, complaint
from penstock.network.operators import Handle, Source
from penstock.network.progress import Heartbeat, Progress
from penstock.windows import Late, parse_duration
from penstock.windows.amounts import length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.windows.durations import Duration

_PROGRESS = get_args(Progress)


def stream(
    rows: DataFrame | sources.Source,
    event_time: str | None = None,
    slack: Duration = 0,
    late: Late = "generous",
    *,
    progress: Progress | None = None,
    order: str | Sequence[str] | None = None,
    name: str = "stream",
    identity: str | Sequence[str] | None = None,
    never_shed: str | Column | None = None,
    weight: str | None = None,
) -> Stream:
    """The rows of a DataFrame or a source, batch or stream, as a stream with an event time.

    Args:
        rows: the DataFrame; or a source, such as `ps.sources.kafka(…)`, which also knows what tells
            its rows apart.
        event_time: its column that windows are over: of type timestamp, or any whole number that
            rows are ordered by; not needed for windows that count rows.
        slack: how late rows may come, such as "2 seconds" (whole milliseconds), or a plain number
            where the event time is one.
        late: what becomes of later ones: "generous" counts them in the windows that are still
            open, as Spark does; "consistent" only if all of their windows are open.
        progress: how the stream says how far it is, in place of a slack: `ps.punctuation`,
            `ps.ordered_by`, `ps.row_slack` or `ps.heartbeat`.
        order: the column or columns by which rows are numbered, where a window counts rows; the
            event time if none is given. Each batch goes on where the one before it ended.
        name: what a network of several streams calls it.
        identity: the columns that tell its rows apart; a hash of them is the same in a replay.
        never_shed: a predicate for the rows that are never dropped, whatever the load.
        weight: the column that says how many rows a row stands for, 1 or more, where something
            upstream has dropped rows; a row without one stands for itself. Such a stream has
            approximate answers only.
    """
    origin = None
    if isinstance(rows, sources.Source):
        origin, identity = Handle(rows), identity or rows.identity
        rows = rows.dataframe(SparkSession.active())
    check_rows(rows, event_time)
    listed, apart = _columns(rows, "order", order), _columns(rows, "identity", identity)
    if not listed and event_time is not None:
        listed = (event_time,)
    if not isinstance(name, str) or not name.strip():
        raise SpecificationError(complaint("name", "must be a name of the stream", name))
    never = None
    if never_shed is not None:
        never = as_expression("never_shed", never_shed)
        _ = where(rows, never, what="never_shed")  # refuses what is no predicate of these rows
    if weight is not None:
        weight = check_weight_column(rows, weight)
    told = event_time, 0, late, progress, listed, apart
    source = Source(name, *told, Handle(rows), origin, never, weight)
    return _with_progress(Stream(rows, event_time, 0, late, progress, listed, source), slack)


def _columns(rows: DataFrame, what: str, given: str | Sequence[str] | None) -> tuple[str, ...]:
    listed = (given,) if isinstance(given, str) else tuple(given or ())
    for name in listed:
        column(rows, what, name)
    return listed


def _with_progress(stream: Stream, slack: Duration) -> Stream:
    """The stream with its slack, if it fits the rest."""
    if stream.progress is not None:
        if not isinstance(stream.progress, _PROGRESS):
            hint = "such as ps.punctuation(where=…, up_to=…)"
            rule = "must be one of penstock's ways to tell how far a stream is"
            raise SpecificationError(complaint("progress", rule, stream.progress, hint))
        if slack:
            rule = "must be 0 where progress is given: one of them says how far the stream is"
            raise SpecificationError(complaint("slack", rule, slack))
        if stream.own_watermark is not None:
            rule = "must be None for rows that bring a watermark"
            raise SpecificationError(complaint("progress", rule, str(stream.progress)))
        if isinstance(stream.progress, Heartbeat) and stream.unit != "time":
            rule = "must be a timestamp where a heartbeat says how far the stream is"
            raise SpecificationError(complaint("event_time", rule, stream.event_time))
        return stream
    if stream.unit == "value":
        return _behind(stream, length(slack, "slack", "value"))
    micros = parse_duration(slack, "slack")
    if micros % 1000:
        rule = "must be whole milliseconds"
        raise SpecificationError(complaint("slack", rule, slack, "Spark's watermark has no finer"))
    return _behind(stream, micros)


def _behind(stream: Stream, slack: int) -> Stream:
    assert isinstance(stream.node, Source)  # noqa: S101 - it has just been opened
    return replace(stream, slack=slack, node=replace(stream.node, slack=slack))
