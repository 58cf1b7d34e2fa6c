"""Windows that Spark has no operator for, computed by a stateful processor in Python.

    rows ─► pack ─► group by bucket, with state ─► accounts ─► unpack ─► windows
            Arrow   penstock.processors                        Arrow

Rows travel as Arrow tables in a binary column, many rows in each, so that no type is lost and no
row is touched by itself. Windows over the whole stream are computed by one task; those of
partitions, or of keys that close by themselves, by as many as there are buckets.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupStateTimeout

from penstock.engine import columns
from penstock.engine.aggregates import collated, in_arrow, typed
from penstock.engine.domain import from_watermark
from penstock.engine.layout import Plan, Processor, plan_of, processor
from penstock.engine.packing import deserialise, freeze, in_parts, pack, serialise, thaw, unpack
from penstock.engine.run import ACCOUNTS
from penstock.engine.schema import column_type, lower_all
from penstock.engine.step import quoted
from penstock.errors import SchemaError, complaint
from penstock.network.query import Query
from penstock.processors.rows import FOREVER, NEVER
from penstock.processors.session import Result, Session
from penstock.windows import SessionSpec, WindowSpec
from penstock.windows.kinds import DOMAIN_KINDS, SLIDE_BY_KINDS

if TYPE_CHECKING:
    from pyspark.sql.streaming.state import GroupState

BUCKET, PAYLOAD, CLOSE = "penstock_bucket", "penstock_payload", "penstock_close"
_MESSAGE = f"{BUCKET} int, {PAYLOAD} binary"
_KEPT = 31 << 20
"""glibc hands memory back to the system as soon as twice the largest block that was ever freed is
unused, and a block that is taken again costs more than the windows in it: one of this size, which
is never touched, is the largest that it looks at."""
_ANSWER = f"{PAYLOAD} binary, " + ", ".join(f"{name} bigint" for name in ACCOUNTS)


def check(rows: DataFrame, query: Query) -> None:
    """What the query needs of columns and types, before anything starts."""
    for key in query.keys:
        of = column_type(rows, quoted(key), key)
        if not in_arrow(of) or collated(of):
            rule = "needs keys that Python can be handed, and plain text"
            raise SchemaError(complaint("by()", rule, f"{key}: {of.simpleString()}"))
    others = {name: a for name, a in query.aggregates.items() if a.fold is None}
    if others:
        lower_all(rows, replace(query, aggregates=others))
    plan_of(rows, query)


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
    plan = plan_of(rows, query, make)
    packed = _packed(rows, plan)
    worker = _Worker(query.window, plan.session, plan.arrow, plan.empty)
    if not rows.isStreaming:
        return _labelled(_whole(packed, worker), query, plan)
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


def count_lost(rows: DataFrame, query: Query) -> dict[str, int]:
    """Rows of a batch that count in no window, by reason; the windows are computed for it."""
    plan = plan_of(rows, query)
    worker = _Worker(query.window, plan.session, plan.arrow, plan.empty)
    sums = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ACCOUNTS]
    counted = _whole(_packed(rows, plan), worker).agg(*sums).first()
    return counted.asDict() if counted is not None else {}


def _packed(rows: DataFrame, plan: Plan) -> DataFrame:
    handed = [column.alias(name) for name, column in plan.columns.items()]
    if plan.buckets > 1:
        handed.append(plan.bucket.alias(BUCKET))
    return rows.select(*handed).mapInArrow(pack(BUCKET, plan.buckets), _MESSAGE)


def _whole(packed: DataFrame, worker: _Worker) -> DataFrame:
    """The answers of a batch."""
    one = lambda key, frame: worker.whole(frame)  # noqa: E731, ARG005 - Spark counts arguments
    return packed.groupBy(BUCKET).applyInPandas(one, _ANSWER)


@dataclass(frozen=True, slots=True)
class _Worker:
    """What runs on Spark's workers: a session for each bucket, kept as state between batches."""

    spec: WindowSpec | SessionSpec
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
            session.recall(thaw(kept[0]))
        messages = [message for frame in frames for message in frame[PAYLOAD]]
        answer = self._answer(session, messages, watermark)
        state.update((freeze(session.learnt()),))
        return answer

    def _answer(self, session: Session, messages: Iterable[bytes], watermark: int) -> pd.DataFrame:
        np.empty(_KEPT, np.uint8)
        tables = [deserialise(message) for message in messages if message is not None]
        rows = pa.concat_tables(tables) if tables else self.empty
        payloads: list[bytes] = []
        accounts: Counter[str] = Counter()
        for result in session.steps(rows, watermark):
            accounts.update(result.accounts)
            payloads.extend(self._payloads(result))
        return _messages(payloads or [None], accounts)

    def _payloads(self, result: Result) -> Iterator[bytes]:
        if not len(result.wid):
            return
        fields = list(self.types)
        arrays = [a.cast(f.type) for a, f in zip(result.keys, fields, strict=False)]
        arrays.append(pa.array(result.wid))
        for values, field in zip(result.values, fields[len(arrays) :], strict=True):
            arrays.append(typed(values, field.type, field.metadata[b"name"].decode()))
        table = pa.Table.from_arrays(arrays, names=self.types.names)
        yield from (serialise(part) for part in in_parts(table))


def _messages(payloads: Sequence[bytes | None], accounts: Mapping[str, int]) -> pd.DataFrame:
    """Answers of a bucket; the first of them has its accounts."""
    rest = [0] * (len(payloads) - 1)
    return pd.DataFrame({PAYLOAD: payloads, **{name: [accounts[name], *rest] for name in ACCOUNTS}})


def _labelled(answers: DataFrame, query: Query, plan: Plan) -> DataFrame:
    """The results with the columns that tell which window each is of."""
    spec, wid = query.window, F.col("wid")
    rows = answers.select(PAYLOAD).mapInArrow(unpack(0), plan.results)
    as_time = F.timestamp_micros if spec.unit == "time" else lambda column: column
    if isinstance(spec, SessionSpec):
        bounds = {"window_start": F.col("begin"), "window_end": wid}
        label = [as_time(bound).alias(name) for name, bound in bounds.items()]
    elif spec.kind in DOMAIN_KINDS:
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
