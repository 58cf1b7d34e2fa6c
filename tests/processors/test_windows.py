"""Panes and bins on arrays against the naive evaluator, batch by batch."""

import pickle
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.processors.bins import BinWindows
from penstock.processors.panes import PaneWindows
from penstock.processors.partials import (
    CountRows,
    CountValues,
    Extreme,
    Folded,
    Mean,
    Spread,
    SumOfWhole,
    Values,
)
from penstock.processors.rows import FOREVER, Rows
from penstock.windows import WindowSpec
from penstock.windows.aggregates import AVG, COUNT, COUNT_ALL, MAX, MIN, SUM
from penstock.windows.kinds import SLIDE_BY_KINDS, TUPLE_KINDS
from penstock.windows.spread import STDDEV_POP, VAR_SAMP
from tests.processors.naive import Naive, assert_same
from tests.strategies import specs, streams

AGGS = {
    "n": (COUNT_ALL, None),
    "c": (COUNT, "value"),
    "s": (SUM, "value"),
    "m": (AVG, "value"),
    "lo": (MIN, "value"),
    "hi": (MAX, "value"),
    "v": (VAR_SAMP, "value"),
    "d": (STDDEV_POP, "value"),
    "f": (SUM, "value"),
}
PARTIALS: list[Any] = [
    CountRows(),
    CountValues(),
    SumOfWhole(),
    Mean(),
    Extreme(np.fmin),
    Extreme(np.maximum),
    Spread(1, root=False),
    Spread(0, root=True),
    Folded(SUM, pickle.dumps),
]
KEYS = ["a", "b", None]


def _rows(batch: list[dict[str, Any]], spec: WindowSpec, before: int) -> Rows:
    numbered = [
        (i, r) for i, r in enumerate(batch) if r["ts"] is not None or spec.kind in TUPLE_KINDS
    ]
    key = np.array([KEYS.index(r["key"]) for _, r in numbered], np.int64)
    value = Values(
        np.array([r["value"] or 0 for _, r in numbered], np.int64),
        np.array([r["value"] is not None for _, r in numbered], bool),
    )
    return Rows(
        part=key if spec.pattr else np.zeros(len(key), np.int64),
        group=key,
        at=np.array([r["ts"] or 0 for _, r in numbered], np.int64),
        number=np.array([before + i for i, _ in numbered], np.int64),
        values=[value] * len(AGGS),
    )


def _answers(step: Any) -> list[tuple[Any, ...]]:
    found = []
    for i in range(len(step.answers)):
        values = []
        for v in step.answers.values:
            known = v.known is None or v.known[i]
            values.append(v.data[i] if known else None)
        values = [None if v is None else float(v) for v in values]
        found.append((int(step.answers.wid[i]), KEYS[step.answers.group[i]], *values))
    return found


def _expected(results: list[dict[str, Any]], spec: WindowSpec) -> list[tuple[Any, ...]]:
    found = []
    for r in results:
        wid = r["wid"] if "wid" in r else (r["window_end"] - spec.origin) // spec.slide - 1
        values = [None if r[a] is None else float(r[a]) for a in AGGS]
        found.append((wid, r["key"], *values))
    return found


@given(
    spec=specs(),
    batches=st.lists(st.tuples(streams, st.integers(-40, 60)), min_size=1, max_size=4),
    late=st.sampled_from(["generous", "consistent"]),
)
def test_windows_equal_the_naive_evaluator_batch_by_batch(spec, batches, late) -> None:
    kind = BinWindows if spec.kind in SLIDE_BY_KINDS else PaneWindows
    windows = kind(spec, PARTIALS, late)
    naive = Naive(spec, ["key"], AGGS, late)
    parts = 3 if spec.pattr else 1
    over: int | None = -40
    number = 0
    lost = partial = outside = 0
    for batch, moved in [*batches, ([], None)]:
        over = None if moved is None or over is None else max(over, moved)
        rows = _rows(batch, spec, number)
        number += len(batch)
        bound = np.full(parts, FOREVER if over is None else over)
        step = windows.advance(rows, bound)
        assert_same(_answers(step), _expected(naive.advance(batch, over), spec))
        lost, partial = lost + step.late_lost, partial + step.late_partial
        outside += step.in_no_window
    assert (lost, partial, outside) == tuple(
        naive.accounts[name] for name in ("late_lost", "late_partial", "in_no_window")
    )
