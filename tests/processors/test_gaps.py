"""Sessions by the processor, against the evaluator that keeps every row."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.processors.gaps import GapWindows
from penstock.processors.rows import FOREVER, NEVER
from penstock.processors.session import Layout, Session
from penstock.windows import SessionSpec
from tests.processors.naive import NaiveSessions, assert_same
from tests.processors.test_sessions import (
    AGGREGATES,
    ORDERS,
    SCHEMA,
    WAYS,
    _arrival,
    _got,
    _plain,
    _plan,
    streams,
)


def _session(gap: int, progress: Any, by: tuple[str, ...]) -> Session:
    layout = Layout(
        partials=tuple(partial for partial, _, _ in AGGREGATES.values()),
        values=tuple(column for _, _, column in AGGREGATES.values()),
        groups=("g0",),
        order=("at",),
        by=by,
        promised=True,
    )
    return Session(GapWindows(SessionSpec(gap, "at", "value"), layout.partials), layout, progress)


@pytest.mark.parametrize("way", [way for way in WAYS if way != "consistent"])
@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=15)
@given(data=st.data(), gap=st.integers(1, 6))
def test_sessions_of_every_aggregate(order: str, way: str, gap: int, data: st.DataObject) -> None:
    batches = data.draw(streams(order))
    progress, by, overs = _plan(way, batches)
    session = _session(gap, progress, by)
    naive = NaiveSessions(gap, {n: (fold, column) for n, (_, fold, column) in AGGREGATES.items()})
    lost = 0
    for batch, over in [*zip(batches, overs, strict=True), ([], None)]:
        kept = pickle.dumps(session.learnt())
        session = _session(gap, None, by)  # as after a restart
        session.recall(pickle.loads(kept))
        watermark = FOREVER if over is None else over if progress is None else NEVER
        result = session.advance(pa.Table.from_pylist(batch, SCHEMA), watermark)
        lost += result.accounts["late_lost"]
        rows = sorted((row for row in batch if row["promise"] is None), key=_arrival)
        want = [
            (r["end"], r["g0"], float(r["begin"]), *(_plain(r[name]) for name in AGGREGATES))
            for r in naive.advance(rows, over)
        ]
        assert_same(_got(result), want)
        assert lost == naive.lost


def test_a_row_between_two_sessions_makes_one_of_them() -> None:
    session = _session(5, None, ())

    def take(*times: int, watermark: int) -> list[tuple[Any, ...]]:
        rows = [{**dict.fromkeys(SCHEMA.names), "at": at, "g0": "a"} for at in times]
        return _got(session.advance(pa.Table.from_pylist(rows, SCHEMA), watermark))

    assert take(3, 6, 13, watermark=5) == []
    state: Any = session.learnt()
    assert state["windows"]["open"].place.tolist() == [3, 13]
    assert take(10, watermark=11) == []
    state = session.learnt()
    assert state["windows"]["open"].place.tolist() == [3]
    assert state["windows"]["last"].tolist() == [13]
    [(end, key, begin, count, *_)] = take(30, watermark=18)
    assert (end, key, begin, count) == (18, "a", 3.0, 4.0)
