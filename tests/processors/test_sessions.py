"""One matrix: every kind, every aggregate, every order, every way to tell how far the stream is.

Sessions on Arrow tables against the evaluator that keeps every row, batch by batch.
"""

from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.processors import progress as told
from penstock.processors.bins import BinWindows
from penstock.processors.panes import PaneWindows
from penstock.processors.partials import (
    CountRows,
    CountValues,
    Extreme,
    Folded,
    Mean,
    Spread,
    SumOfFloats,
    SumOfWhole,
    Values,
)
from penstock.processors.rows import FOREVER, NEVER
from penstock.processors.session import Layout, Session
from penstock.processors.sketches import distinct, quantile
from penstock.windows import Fold, Kind, Late, WindowSpec
from penstock.windows.aggregates import AVG, COUNT, COUNT_ALL, MAX, MIN, SUM
from penstock.windows.kinds import SLIDE_BY_KINDS, TUPLE_KINDS
from penstock.windows.spread import STDDEV_POP, STDDEV_SAMP, VAR_POP, VAR_SAMP
from tests.processors.naive import Naive, assert_same
from tests.strategies import KINDS, specs

LONGEST = Fold("longest", int, lambda n, s: max(n, len(s or "")), max, lambda n: n)
EXACT = Fold("distinct", set, lambda s, x: s | ({x} - {None}), lambda a, b: a | b, len)
SCHEMA = pa.schema(
    [
        ("at", pa.int64()),
        ("g0", pa.string()),
        ("whole", pa.int64()),
        ("number", pa.float64()),
        ("exact", pa.decimal128(12, 2)),
        ("text", pa.string()),
        ("flag", pa.bool_()),
        ("promise", pa.int64()),
    ]
)
# name: how a processor computes it, what the naive evaluator folds, over which column
AGGREGATES: dict[str, tuple[Any, Fold[Any], str | None]] = {
    "count(*)": (CountRows(), COUNT_ALL, None),
    "count": (CountValues(), COUNT, "whole"),
    "sum of whole numbers": (SumOfWhole(), SUM, "whole"),
    "sum of floats": (SumOfFloats(), SUM, "number"),
    "sum of decimals": (Folded(SUM), SUM, "exact"),
    "avg": (Mean(), AVG, "number"),
    "avg of decimals": (Folded(AVG), AVG, "exact"),
    "min": (Extreme(np.fmin), MIN, "number"),
    "max": (Extreme(np.maximum), MAX, "whole"),
    "min of text": (Folded(MIN), MIN, "text"),
    "max of flags": (Extreme(np.maximum), MAX, "flag"),
    "var_samp": (Spread(1, root=False), VAR_SAMP, "number"),
    "var_pop": (Spread(0, root=False), VAR_POP, "number"),
    "stddev_samp": (Spread(1, root=True), STDDEV_SAMP, "number"),
    "stddev_pop": (Spread(0, root=True), STDDEV_POP, "number"),
    "approx_count_distinct": (distinct(), EXACT, "text"),
    "user-defined": (Folded(LONGEST, pickle.dumps), LONGEST, "text"),
}
ORDERS = ("ordered", "bounded", "block-sorted")
WAYS = ("generous", "consistent", "punctuation", "punctuation by key", "order per key", "row slack")


@st.composite
def streams(draw: st.DrawFn, order: str) -> list[list[dict[str, Any]]]:
    """Batches of rows; a block-sorted one has the keys one after the other, each in order."""
    batches = []
    for number in range(draw(st.integers(1, 4))):
        begin = number * 10
        late = 0 if order == "ordered" else 8
        times = draw(st.lists(st.integers(begin - late, begin + 9), max_size=8))
        if order != "bounded":
            times.sort()
        rows = [draw(_row(t)) for t in times]
        if order == "block-sorted":
            rows.sort(key=lambda row: row["g0"])
        batches.append(rows)
    return batches


@st.composite
def _row(draw: st.DrawFn, at: int) -> dict[str, Any]:
    whole = draw(st.none() | st.integers(-50, 50))
    text = draw(st.none() | st.sampled_from(["", "pen", "stock", "é"]))
    return {
        "at": at,
        "g0": draw(st.sampled_from(["a", "b"])),
        "whole": whole,
        "number": None if whole is None else whole / 4,
        "exact": None if whole is None else (Decimal(whole) / 4).quantize(Decimal("0.01")),
        "text": text,
        "flag": draw(st.none() | st.booleans()),
        "promise": None,
    }


def _session(spec: WindowSpec, late: Late, progress: Any, by: tuple[str, ...]) -> Session:
    names = list(AGGREGATES.values())
    layout = Layout(
        partials=tuple(partial for partial, _, _ in names),
        values=tuple(column for _, _, column in names),
        groups=("g0",),
        parts=len(spec.pattr),
        order=("at",),
        by=by,
        timed=spec.kind not in TUPLE_KINDS,
        promised=True,
    )
    kind = BinWindows if spec.kind in SLIDE_BY_KINDS else PaneWindows
    return Session(kind(spec, layout.partials, late), layout, progress)


def _plan(way: str, batches: list[list[dict[str, Any]]]) -> tuple[Any, tuple[str, ...], list[int]]:
    """The progress, its key, and what is over at the end of each batch."""
    if way in ("generous", "consistent"):
        return None, (), [number * 10 - 6 for number in range(len(batches))]
    if way == "row slack":
        seen, overs = [], []
        for batch in batches:
            seen += [row["at"] for row in sorted(batch, key=_arrival)]
            overs.append(max(seen[: max(0, len(seen) - 5)], default=NEVER))
        return told.RowSlack(5), (), overs
    if way == "order per key":
        newest: dict[str, int] = {}
        overs = []
        for batch in batches:
            for row in batch:
                newest[row["g0"]] = max(newest.get(row["g0"], NEVER), row["at"])
            overs.append(min(newest.values(), default=NEVER))
        return told.KeyOrder(), ("g0",), overs
    by = ("g0",) if way == "punctuation by key" else ()
    overs = []
    for number, batch in enumerate(batches):
        for key in ("a", "b"):
            mark = dict.fromkeys(SCHEMA.names) | {"g0": key, "promise": number * 10 + 2}
            batch.append(mark)
        overs.append(number * 10 + 2)
    return told.Punctuated(), by, overs


def _arrival(row: dict[str, Any]) -> list[tuple[bool, Any]]:
    return [
        (row[name] is None, 0 if row[name] is None else row[name]) for name in SCHEMA.names[:-1]
    ]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12)
@given(data=st.data())
def test_every_kind_and_aggregate(kind: Kind, order: str, way: str, data: st.DataObject) -> None:
    spec = data.draw(specs(kind))
    if spec.pattr:
        spec = WindowSpec(
            **{f: getattr(spec, f) for f in ("range", "slide", "rattr", "sattr", "start", "unit")},
            pattr=("g0",),
        )
    spec = spec if spec.rattr != "ts" else _on_at(spec)
    batches = data.draw(streams(order))
    progress, by, overs = _plan(way, batches)
    late: Late = "consistent" if way == "consistent" else "generous"
    session = _session(spec, late, progress, by)
    aggs = {name: (fold, column) for name, (_, fold, column) in AGGREGATES.items()}
    naive = Naive(spec, ["g0"], aggs, late)
    for batch, over in [*zip(batches, overs, strict=True), ([], None)]:
        kept = pickle.dumps(session.learnt())
        session = _session(spec, late, None, by)  # as after a restart
        session.recall(pickle.loads(kept))
        table = pa.Table.from_pylist(batch, SCHEMA)
        watermark = FOREVER if over is None else over if progress is None else NEVER
        got = [row for result in session.steps(table, watermark, 3) for row in _got(result)]
        rows = sorted((row for row in batch if row["promise"] is None), key=_arrival)
        want = naive.advance([{**row, "ts": row["at"]} for row in rows], over)
        assert_same(got, _want(want, spec))


def _on_at(spec: WindowSpec) -> WindowSpec:
    fields = {f: getattr(spec, f) for f in spec.__slots__} if hasattr(spec, "__slots__") else {}
    return WindowSpec(
        **{**fields, "rattr": "at", "sattr": "at" if spec.sattr == "ts" else spec.sattr}
    )


def _got(result: Any) -> list[tuple[Any, ...]]:
    found = []
    for i, wid in enumerate(result.wid.tolist()):
        values = [v.data[i] if v.known is None or v.known[i] else None for v in result.values]
        found.append((wid, result.keys[0][i].as_py(), *map(_plain, values)))
    return found


def _want(results: list[dict[str, Any]], spec: WindowSpec) -> list[tuple[Any, ...]]:
    found = []
    for r in results:
        wid = r["wid"] if "wid" in r else (r["window_end"] - spec.origin) // spec.slide - 1
        found.append((wid, r["g0"], *(_plain(r[name]) for name in AGGREGATES)))
    return found


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    return float(value) + 0.0


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.floats(0, 1))
def test_a_quantile_is_one_of_few_values(values: list[float], share: float) -> None:
    """So few values a sketch keeps as they are."""
    partial = quantile(share)
    half = len(values) // 2

    def state(some: list[float]) -> Any:
        return partial.fold(Values(np.array(some)), np.zeros(len(some), np.int64), 1)

    whole = state(values) if not half else partial.merge(state(values[:half]), state(values[half:]))
    answer = partial.final(whole).data[0]
    below = sum(v < answer for v in values) / len(values)
    upto = sum(v <= answer for v in values) / len(values)
    assert below - 0.03 <= share <= upto + 0.03


def test_state_holds_partials_and_no_rows() -> None:
    """A hundred rows of one value and key are one partial; their text is nowhere."""
    spec = WindowSpec(range=50, slide=1, rattr="at", sattr="row-num", unit="value")
    session = _session(spec, "generous", None, ())
    rows = [
        {
            **dict.fromkeys(SCHEMA.names),
            "at": i % 4,
            "g0": "a",
            "whole": 123_456_789,
            "text": "secret",
        }
        for i in range(400)
    ]
    session.advance(pa.Table.from_pylist(rows, SCHEMA), 2)
    state: Any = session.learnt()
    assert len(state["windows"]["bins"]) == 4
    assert b"secret" not in pickle.dumps({k: v for k, v in state["windows"].items() if k != "bins"})
    for component in state["windows"]["bins"].states:
        assert all(len(array) == 4 for array in component)
