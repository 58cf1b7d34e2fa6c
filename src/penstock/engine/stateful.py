"""Windows that Spark has no operator for, computed by a stateful processor in Python.

    rows ─► pack ─► group by bucket, with state ─► accounts ─► unpack ─► windows
            Arrow   penstock.processors                        Arrow

Rows travel as Arrow tables in a binary column, many rows in each, so that no type is lost and no
row is touched by itself. Windows over the whole stream are computed by one task; those of
partitions, or of keys that close by themselves, by as many as there are buckets.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupStateTimeout
from pyspark.sql.types import StructType

from penstock.engine import columns
from penstock.engine.aggregates import (
    arrow_of,
    collated,
    in_arrow,
    partial_of,
    result_type,
    typed,
    value_of,
)
from penstock.engine.domain import at_of, from_watermark, promise_of
from penstock.engine.packing import deserialise, pack, serialise, unpack
from penstock.engine.run import ACCOUNTS
from penstock.engine.schema import column_type, lower_all
from penstock.engine.step import quoted
from penstock.errors import SchemaError, SpecificationError, complaint
from penstock.network.progress import OrderedBy, Punctuation, RowSlack
from penstock.network.query import Query
from penstock.processors import progress as told
from penstock.processors.bins import BinWindows
from penstock.processors.panes import PaneWindows
from penstock.processors.partials import Partial
from penstock.processors.rows import FOREVER, NEVER, Windows
from penstock.processors.session import AT, PROMISE, Layout, Session
from penstock.windows import Kind, Late, WindowSpec
from penstock.windows.kinds import DOMAIN_KINDS, SLIDE_BY_KINDS, TUPLE_KINDS

if TYPE_CHECKING:
    from pyspark.sql.streaming.state import GroupState

Processor = Callable[[WindowSpec, Sequence[Partial], Late], Windows]

BUCKET, PAYLOAD, CLOSE = "penstock_bucket", "penstock_payload", "penstock_close"
BUCKETS = 8
"""State is kept by bucket, so their number is not a setting: it must stay what it was."""

_MESSAGE = f"{BUCKET} int, {PAYLOAD} binary"
_ANSWER = f"{PAYLOAD} binary, " + ", ".join(f"{name} bigint" for name in ACCOUNTS)


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


def check(rows: DataFrame, query: Query) -> None:
    """What the query needs of columns and types, before anything starts."""
    if query.window.kind is Kind.SESSION:
        rule = "must be Spark's own for session windows"
        raise SpecificationError(complaint("the aggregates", rule, str(query)))
    for key in query.keys:
        of = column_type(rows, quoted(key), key)
        if not in_arrow(of) or collated(of):
            rule = "needs keys that Python can be handed, and plain text"
            raise SchemaError(complaint("by()", rule, f"{key}: {of.simpleString()}"))
    others = {name: a for name, a in query.aggregates.items() if a.fold is None}
    if others:
        lower_all(rows, replace(query, aggregates=others))
    _ = _Plan.of(rows, query)


def processor(spec: WindowSpec, partials: Sequence[Partial], late: Late) -> Windows:
    """What computes windows of this kind."""
    kind = BinWindows if spec.kind in SLIDE_BY_KINDS else PaneWindows
    return kind(spec, partials, late)


def windows(
    rows: DataFrame, query: Query, accounts: str | None, make: Processor = processor
) -> DataFrame:
    """The windows of the rows, which have a watermark if they are a stream that needs one.

    Args:
        rows: batch or stream.
        query: any kind of window.
        accounts: under which name the rows that do not count are reported; None for no report.
        make: what computes the windows; the benchmark has another one.
    """
    plan = _Plan.of(rows, query, make)
    packed = rows.select(*plan.columns).mapInArrow(pack(BUCKET, plan.buckets), _MESSAGE)
    worker = _Worker(query.spec, plan.session, plan.arrow, plan.empty)
    if not rows.isStreaming:
        one = lambda key, frame: worker.whole(frame)  # noqa: E731, ARG005 - Spark counts arguments
        answers = packed.groupBy(BUCKET).applyInPandas(one, _ANSWER)
        return _labelled(answers, query, plan)
    timeout = GroupStateTimeout.NoTimeout
    if plan.watermarked:
        # Spark must drop none of the messages as late: which rows are, the processor knows.
        never = F.lit(None).cast("timestamp").alias(CLOSE, metadata=columns.EVENT_TIME)
        packed = packed.select("*", never)
        timeout = GroupStateTimeout.EventTimeTimeout
    step = worker.advance if plan.watermarked else worker.advance_untimed
    answers = packed.groupBy(BUCKET).applyInPandasWithState(
        step, _ANSWER, f"{PAYLOAD} binary", "append", timeout
    )
    if accounts is not None:
        sums = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ACCOUNTS]
        answers = answers.observe(accounts, *sums)
    return _labelled(answers, query, plan)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The query as the processor has it.

    Args:
        session: the processor before the first row.
        columns: what it needs of the rows.
        schema: of the results: group columns, wid, aggregates.
        groups: the group columns.
        empty: a table without rows, for batches that have none.
        watermarked: whether Spark's watermark says how far the stream is.
        buckets: how many there are.
    """

    session: Session
    columns: list[Column]
    schema: StructType
    groups: tuple[str, ...]
    empty: pa.Table
    watermarked: bool
    buckets: int

    @property
    def arrow(self) -> pa.Schema:
        """The schema of the results; messages call an aggregate by what was asked."""
        return pa.schema(
            pa.field(f.name, arrow_of(f.dataType), metadata=f.metadata or None)
            for f in self.schema.fields
        )

    @staticmethod
    def of(rows: DataFrame, query: Query, make: Processor = processor) -> _Plan:
        spec, timed = query.spec, query.spec.kind not in TUPLE_KINDS
        groups = (*spec.pattr, *(key for key in query.keys if key not in spec.pattr))
        own = tells_itself(query)
        by = query.progress.by if isinstance(query.progress, Punctuation | OrderedBy) else ()
        per_part = bool(own and by and set(by) <= set(groups) and spec.kind in DOMAIN_KINDS)
        named: dict[str, Column] = {}
        if timed:
            named[AT] = at_of(spec)
        if own and isinstance(query.progress, Punctuation):
            named[PROMISE] = promise_of(query)
        group_names = {key: f"g{i}" for i, key in enumerate(groups)}
        named |= {name: F.col(quoted(key)) for key, name in group_names.items()}
        by_names = {key: group_names.get(key, f"b{i}") for i, key in enumerate(by)}
        named |= {name: F.col(quoted(key)) for key, name in by_names.items()}
        order = []
        for i, column in enumerate(query.order if query.counts_rows else ()):
            if timed and column == spec.rattr:
                order.append(AT)
                continue
            order.append(group_names.get(column, f"o{i}"))
            named.setdefault(order[-1], F.col(quoted(column)))
        values, partials = [], []
        for i, (name, aggregate) in enumerate(query.aggregates.items()):
            partials.append(partial_of(rows, name, aggregate))
            values.append(None if aggregate.column is None else f"v{i}")
            if aggregate.column is not None:
                named[f"v{i}"] = value_of(rows, aggregate)
        layout = Layout(
            tuple(partials),
            tuple(values),
            tuple(group_names.values()),
            len(spec.pattr),
            tuple(order),
            tuple(by_names.values()),
            timed,
            per_part,
            promised=query.progress is not None and timed,
        )
        session = Session(make(spec, layout.partials, query.late), layout, _progress(query))
        alone = groups if spec.kind in DOMAIN_KINDS and not own else spec.pattr
        parted = [group_names[key] for key in (by if per_part else alone)]
        buckets = BUCKETS if parted else 1
        bucket = F.pmod(F.xxhash64(*(named[p] for p in parted)), buckets) if parted else F.lit(0)
        chosen = [column.alias(name) for name, column in named.items()]
        selected = rows.select(*chosen).schema
        schema = StructType()
        for i, key in enumerate(groups):
            schema.add(f"g{i}", column_type(rows, quoted(key), key))
        schema.add("wid", "long")
        for i, (name, aggregate) in enumerate(query.aggregates.items()):
            asked = {"name": f"{name} = {aggregate}"}
            schema.add(f"a{i}", result_type(rows, name, aggregate), metadata=asked)
        empty = pa.schema([(f.name, arrow_of(f.dataType)) for f in selected.fields]).empty_table()
        return _Plan(
            session,
            [*chosen, bucket.cast("int").alias(BUCKET)],
            schema,
            groups,
            empty,
            timed and not own,
            buckets,
        )


@dataclass(frozen=True, slots=True)
class _Worker:
    """What runs on Spark's workers: a session for each bucket, kept as state between batches."""

    spec: WindowSpec
    session: Session
    types: pa.Schema
    empty: pa.Table

    def whole(self, frame: pd.DataFrame) -> pd.DataFrame:
        """All windows of a bucket, of a batch."""
        return self._answer(copy.deepcopy(self.session), frame[PAYLOAD], FOREVER)

    def advance(
        self, _key: tuple[Any, ...], frames: Iterable[pd.DataFrame], state: GroupState
    ) -> Iterator[pd.DataFrame]:
        """The windows of a bucket that the watermark has passed."""
        milliseconds = state.getCurrentWatermarkMs()
        yield self._step(frames, state, from_watermark(milliseconds, self.spec))
        # To be called again as soon as the watermark moves, also if no rows come.
        state.setTimeoutTimestamp(max(milliseconds, 1))

    def advance_untimed(
        self, _key: tuple[Any, ...], frames: Iterable[pd.DataFrame], state: GroupState
    ) -> Iterator[pd.DataFrame]:
        """The windows of a bucket that its own rows close."""
        yield self._step(frames, state, NEVER)

    def _step(
        self, frames: Iterable[pd.DataFrame], state: GroupState, watermark: int
    ) -> pd.DataFrame:
        kept = state.getOption
        # The state is what was learnt; what was asked is in this class, and may be a function.
        session = copy.deepcopy(self.session)
        if kept is not None:
            session.recall(pickle.loads(kept[0]))  # noqa: S301 - from the checkpoint
        messages = [message for frame in frames for message in frame[PAYLOAD]]
        answer = self._answer(session, messages, watermark)
        state.update((pickle.dumps(session.learnt()),))
        return answer

    def _answer(self, session: Session, messages: Iterable[bytes], watermark: int) -> pd.DataFrame:
        tables = [deserialise(message) for message in messages if message is not None]
        result = session.advance(pa.concat_tables(tables) if tables else self.empty, watermark)
        counts = {name: [result.accounts[name]] for name in ACCOUNTS}
        if not len(result.wid):
            return pd.DataFrame({PAYLOAD: [None], **counts})
        fields = list(self.types)
        arrays = [a.cast(f.type) for a, f in zip(result.keys, fields, strict=False)]
        arrays.append(pa.array(result.wid))
        for values, field in zip(result.values, fields[len(arrays) :], strict=True):
            arrays.append(typed(values, field.type, field.metadata[b"name"].decode()))
        table = pa.Table.from_arrays(arrays, names=self.types.names)
        return pd.DataFrame({PAYLOAD: [serialise(table)], **counts})


def _labelled(answers: DataFrame, query: Query, plan: _Plan) -> DataFrame:
    """The results with the columns that tell which window each is of."""
    spec, wid = query.spec, F.col("wid")
    rows = answers.select(PAYLOAD).mapInArrow(unpack(0), plan.schema)
    as_time = F.timestamp_micros if spec.unit == "time" else lambda column: column
    if spec.kind in DOMAIN_KINDS:
        end = wid * spec.slide + (spec.origin + spec.slide)
        label = [
            as_time(columns.window_start(end, spec)).alias("window_start"),
            as_time(end).alias("window_end"),
        ]
    else:
        label = [(as_time(wid) if spec.kind in SLIDE_BY_KINDS else wid).alias("wid")]
    return rows.select(
        *label,
        *(F.col(f"g{i}").alias(key) for i, key in enumerate(plan.groups)),
        *(F.col(f"a{i}").alias(name) for i, name in enumerate(query.aggregates)),
    )


def _progress(query: Query) -> told.Progress | None:
    if not tells_itself(query):
        return None
    match query.progress:
        case OrderedBy():
            return told.KeyOrder()
        case RowSlack(rows=rows):
            return told.RowSlack(rows)
    return told.Punctuated()
