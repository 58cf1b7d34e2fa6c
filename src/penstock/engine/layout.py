"""A query as a stateful processor has it: which columns it is handed, and what it makes of them.

at      the value of RATTR           g0, g1 …   the columns of a group, PATTR first
promise what punctuation says        b0, b1 …   the key for which progress is known
v0, v1 … the values of aggregates    o0, o1 …   the order of arrival
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from penstock.engine.aggregates import arrow_of, partial_of, result_type, value_of
from penstock.engine.domain import at_of, promise_of
from penstock.engine.schema import column_type
from penstock.engine.step import quoted
from penstock.network.aggregates import Aggregate
from penstock.network.progress import OrderedBy, Punctuation, RowSlack
from penstock.network.query import Query
from penstock.processors import progress as told
from penstock.processors.bins import BinWindows
from penstock.processors.gaps import GapWindows
from penstock.processors.panes import PaneWindows
from penstock.processors.partials import Partial
from penstock.processors.rows import Windows
from penstock.processors.session import AT, PROMISE, Layout, Session
from penstock.windows import Kind, Late, SessionSpec, WindowSpec
from penstock.windows.kinds import DOMAIN_KINDS, SLIDE_BY_KINDS, TUPLE_KINDS

BUCKETS = 8
"""State is kept by bucket, so their number is not a setting: it must stay what it was."""

Processor = Callable[[Any, Sequence[Partial], Late], Windows]
"""What computes windows: given a specification, aggregates, and what becomes of late rows."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All that is needed to run a query with a processor.

    Args:
        session: the processor before the first row.
        columns: what it is handed of the rows, by name.
        bucket: to which bucket a row goes.
        buckets: how many there are.
        groups: the group columns, as the user calls them.
        results: the schema of its results: groups, wid, aggregates.
        empty: a table without rows, for batches that have none.
        watermarked: whether Spark's watermark says how far the stream is.
    """

    session: Session
    columns: dict[str, Column]
    bucket: Column
    buckets: int
    groups: tuple[str, ...]
    results: StructType
    empty: pa.Table
    watermarked: bool

    @property
    def arrow(self) -> pa.Schema:
        """The schema of the results; messages call an aggregate by what was asked."""
        return pa.schema(
            pa.field(f.name, arrow_of(f.dataType), metadata=f.metadata or None)
            for f in self.results.fields
        )


def needs_processor(query: Query) -> bool:
    """Whether Python has to compute the windows, because Spark has no operator for them."""
    native = {Kind.SLIDING, Kind.TUMBLING, Kind.CUMULATIVE, Kind.SESSION}
    return query.window.kind not in native or query.user_defined or tells_itself(query)


def tells_itself(query: Query) -> bool:
    """Whether the rows tell how far the stream is in a way that Spark's watermark cannot."""
    match query.progress:
        case Punctuation(by=by):
            return bool(by)
        case OrderedBy() | RowSlack():
            return True
    return False


def processor(spec: WindowSpec | SessionSpec, partials: Sequence[Partial], late: Late) -> Windows:
    """What computes windows of this kind."""
    if isinstance(spec, SessionSpec):
        return GapWindows(spec, partials, late)
    kind = BinWindows if spec.kind in SLIDE_BY_KINDS else PaneWindows
    return kind(spec, partials, late)


def plan_of(rows: DataFrame, query: Query, make: Processor = processor) -> Plan:
    """How a query is run with a processor.

    Args:
        rows: batch or stream.
        query: any kind of window.
        make: what computes the windows.
    """
    spec, own = query.window, tells_itself(query)
    pattr = query.pattr
    groups = (*pattr, *(key for key in query.keys if key not in pattr))
    by = query.progress.by if isinstance(query.progress, Punctuation | OrderedBy) else ()
    # Keys that close by themselves, and partitions, can be computed apart; so can the groups of
    # windows that follow Spark's watermark, which is the same for all of them.
    by_group = spec.kind in DOMAIN_KINDS | {Kind.SESSION}
    per_part = bool(own and by and set(by) <= set(groups) and by_group)
    apart = by if per_part else groups if by_group and not own else pattr
    layout, columns = _layout(rows, query, groups, by, per_part=per_part)
    hashed = F.xxhash64(*(F.col(quoted(key)) for key in apart)) if apart else F.lit(0)
    buckets = BUCKETS if apart else 1
    handed = rows.select(*(column.alias(name) for name, column in columns.items())).schema
    return Plan(
        Session(make(spec, layout.partials, query.late), layout, _progress(query)),
        columns,
        F.pmod(hashed, F.lit(buckets)).cast("int"),
        buckets,
        groups,
        _results(rows, query, groups),
        pa.schema([(f.name, arrow_of(f.dataType)) for f in handed.fields]).empty_table(),
        layout.timed and not own,
    )


def _layout(
    rows: DataFrame, query: Query, groups: tuple[str, ...], by: tuple[str, ...], *, per_part: bool
) -> tuple[Layout, dict[str, Column]]:
    spec, timed = query.window, query.window.kind not in TUPLE_KINDS
    columns: dict[str, Column] = {}
    known: dict[str, str] = {}
    if timed:
        columns[AT], known[spec.rattr] = at_of(spec), AT
    if tells_itself(query) and isinstance(query.progress, Punctuation):
        columns[PROMISE] = promise_of(query)

    def name(column: str, otherwise: str) -> str:
        """What the processor calls a column; one that it has already is not handed over twice."""
        if column not in known:
            known[column] = otherwise
            columns[otherwise] = F.col(quoted(column))
        return known[column]

    # The key of a result has to have the column's own type, so the time may be there twice.
    known_time = known.pop(spec.rattr, None)
    group_names = tuple(name(key, f"g{i}") for i, key in enumerate(groups))
    by_names = tuple(name(key, f"b{i}") for i, key in enumerate(by))
    if known_time is not None:
        known[spec.rattr] = known_time
    ordered = query.order if query.counts_rows else ()
    order = tuple(name(column, f"o{i}") for i, column in enumerate(ordered))
    asked, values = query.aggregates, dict[tuple[str, str], str]()

    def value(aggregate: Aggregate) -> str | None:
        """What the processor calls the values of an aggregate; some share theirs."""
        if aggregate.column is None:
            return None
        column = value_of(rows, aggregate)
        called = values.setdefault((aggregate.column, str(column)), f"v{len(values)}")
        columns.setdefault(called, column)
        return called

    layout = Layout(
        partials=tuple(partial_of(rows, result, a) for result, a in asked.items()),
        values=tuple(map(value, asked.values())),
        groups=group_names,
        parts=len(query.pattr),
        order=order,
        by=by_names,
        timed=timed,
        per_part=per_part,
        promised=query.progress is not None and timed,
    )
    return layout, columns


def _results(rows: DataFrame, query: Query, groups: tuple[str, ...]) -> StructType:
    schema = StructType()
    for i, key in enumerate(groups):
        schema.add(f"g{i}", column_type(rows, quoted(key), key))
    schema.add("wid", "long")
    if query.window.kind is Kind.SESSION:
        schema.add("begin", "long", metadata={"name": "begin"})
    for i, (name, aggregate) in enumerate(query.aggregates.items()):
        asked = {"name": f"{name} = {aggregate}"}
        schema.add(f"a{i}", result_type(rows, name, aggregate), metadata=asked)
    return schema


def _progress(query: Query) -> told.Progress | None:
    if not tells_itself(query):
        return None
    match query.progress:
        case OrderedBy():
            return told.KeyOrder()
        case RowSlack(rows=rows):
            return told.RowSlack(rows)
    return told.Punctuated()
