"""The twin that the stateful kinds are measured against gives the same answers."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.bench.buffering import BufferedWindows
from penstock.processors.partials import CountRows, Extreme, Partial, SumOfWhole, Values
from penstock.processors.rows import FOREVER, Rows, Step
from penstock.windows import Kind, WindowSpec
from penstock.windows.aggregates import COUNT_ALL, MAX, MIN, SUM
from penstock.windows.kinds import TUPLE_KINDS
from tests.processors.naive import Naive
from tests.strategies import specs, streams

AGGS = {
    "n": (COUNT_ALL, None),
    "s": (SUM, "value"),
    "lo": (MIN, "value"),
    "hi": (MAX, "value"),
}
PARTIALS: list[Partial] = [CountRows(), SumOfWhole(), Extreme(np.fmin), Extreme(np.maximum)]
KEYS = ["a", "b", None]
BUFFERED = set(Kind) - {Kind.CUMULATIVE, Kind.SESSION}

complete = streams.map(lambda rows: [{**row, "value": row["value"] or 0} for row in rows])


def _rows(batch: list[dict[str, Any]], spec: WindowSpec, before: int, grouped: bool) -> Rows:
    counted = spec.kind in TUPLE_KINDS
    numbered = [(i, r) for i, r in enumerate(batch) if counted or r["ts"] is not None]
    key = np.array([KEYS.index(r["key"]) for _, r in numbered], np.int64)
    one = np.zeros(len(key), np.int64)
    value = Values(np.array([r["value"] for _, r in numbered], np.int64))
    return Rows(
        part=key if spec.pattr else one,
        group=key if grouped or spec.pattr else one,
        at=np.array([r["ts"] or 0 for _, r in numbered], np.int64),
        number=np.array([before + i for i, _ in numbered], np.int64),
        values=[value] * len(AGGS),
    )


def _answers(step: Step, grouped: bool) -> list[tuple[Any, ...]]:
    answers = step.answers
    keys = [KEYS[number] if grouped else None for number in answers.group]
    columns = [answers.wid.tolist(), keys, *(v.data.tolist() for v in answers.values)]
    return sorted(zip(*columns, strict=True), key=repr)


def _expected(results: list[dict[str, Any]], spec: WindowSpec) -> list[tuple[Any, ...]]:
    found = []
    for r in results:
        wid = r["wid"] if "wid" in r else (r["window_end"] - spec.origin) // spec.slide - 1
        found.append((wid, r.get("key"), *(r[name] for name in AGGS)))
    return sorted(found, key=repr)


@given(
    spec=specs(*BUFFERED),
    batches=st.lists(st.tuples(complete, st.integers(-40, 60)), min_size=1, max_size=4),
    late=st.sampled_from(["generous", "consistent"]),
    grouped=st.booleans(),
)
def test_buffered_windows_equal_the_naive_evaluator(spec, batches, late, grouped) -> None:
    grouped = grouped or bool(spec.pattr)
    windows = BufferedWindows(spec, PARTIALS, late)
    naive = Naive(spec, ["key"] if grouped else [], AGGS, late)
    parts = 3 if spec.pattr else 1
    over: int | None = -40
    number = 0
    lost = partial = outside = 0
    for batch, moved in [*batches, ([], None)]:
        over = None if moved is None or over is None else max(over, moved)
        rows = _rows(batch, spec, number, grouped)
        number += len(batch)
        step = windows.advance(rows, np.full(parts, FOREVER if over is None else over))
        assert _answers(step, grouped) == _expected(naive.advance(batch, over), spec)
        lost, partial = lost + step.late_lost, partial + step.late_partial
        outside += step.in_no_window
    assert (lost, partial, outside) == tuple(
        naive.accounts[name] for name in ("late_lost", "late_partial", "in_no_window")
    )
