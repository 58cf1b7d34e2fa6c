"""The naive evaluator, by hand and against the ways in which an engine computes the same."""

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import SchemaError
from penstock.windows import (
    Kind,
    cumulative,
    evaluate,
    landmark,
    rows,
    slide_by_tuple,
    sliding,
    tumbling,
    wids,
)
from penstock.windows.aggregates import AVG, COUNT, COUNT_ALL, MAX, SUM
from penstock.windows.oracle import Accounts, Aggregates, account, label
from penstock.windows.panes import pane_start, windows_of_pane
from tests.strategies import KINDS, specs, streams

N: Aggregates = {"n": (COUNT_ALL, None)}
AGGS: Aggregates = {"n": (COUNT_ALL, None), "total": (SUM, "value"), "mean": (AVG, "value")}


def stream(*pairs):
    return [{"ts": t, "key": key, "value": 1} for t, key in pairs]


def counts(results, *columns):
    return [tuple(result[c] for c in columns) for result in results]


def test_sliding_by_hand():
    #   0   2   4   6   8       RANGE 4, SLIDE 2
    #     a   b a
    # --0-|                     [-2, 2)   a
    #   |---1---|               [0, 4)    a b
    #       |---2---|           [2, 6)    b a
    #           |---3---|       [4, 8)    a
    arrived = stream((1, "a"), (4, "a"), (3, "b"))
    results = evaluate(arrived, sliding(4, 2, on="ts"), ["key"], N)
    assert counts(results, "window_start", "window_end", "key", "n") == [
        (-2, 2, "a", 1),
        (0, 4, "a", 1),
        (0, 4, "b", 1),
        (2, 6, "a", 1),
        (2, 6, "b", 1),
        (4, 8, "a", 1),
    ]


def test_partial_extents_begin_with_the_stream():
    arrived = stream((1, "a"), (4, "a"))
    results = evaluate(arrived, sliding(4, 2, on="ts", start=1), [], N)
    assert counts(results, "window_start", "window_end", "n") == [
        (1, 2, 1),
        (1, 4, 1),
        (2, 6, 1),
        (4, 8, 1),
    ]


def test_a_window_without_rows_has_no_result():
    results = evaluate(stream((1, "a"), (21, "a")), tumbling(5, on="ts"), [], N)
    assert counts(results, "window_start") == [(0,), (20,)]
    assert evaluate([], tumbling(5, on="ts"), [], N) == []


def test_landmark_and_cumulative_by_hand():
    # 0    5    10   15   20      rows at 1, 6, 12
    # |-1--|
    # |----2----|-1--|            cumulative: period 10, every 5
    # |-1--|
    # |----2----|
    # |-------3------|            landmark: every 5
    arrived = stream((1, "a"), (6, "a"), (12, "a"))
    growing = evaluate(arrived, cumulative(10, 5, on="ts"), [], N)
    assert counts(growing, "window_start", "window_end", "n") == [
        (0, 5, 1),
        (0, 10, 2),
        (10, 15, 1),
        (10, 20, 1),
    ]
    since_ever = evaluate(arrived, landmark(5, on="ts"), [], N)
    assert counts(since_ever, "window_start", "window_end", "n") == [
        (None, 5, 1),
        (None, 10, 2),
        (None, 15, 3),
    ]
    assert counts(evaluate(arrived, landmark(5, on="ts"), [], N, until=20), "n")[-1] == (3,)


def test_windows_that_rows_drive_are_known_by_their_id():
    arrived = stream((10, "a"), (30, "b"), (20, "a"))
    assert counts(evaluate(arrived, rows(2, 2), [], N), "wid", "n") == [(0, 2), (1, 1)]
    by_key = evaluate(arrived, rows(2, 1, by=["key"]), [], N)
    assert counts(by_key, "wid", "key", "n") == [
        (0, "a", 1),
        (1, "a", 2),
        (2, "a", 1),
        (0, "b", 1),
        (1, "b", 1),
    ]
    assert counts(evaluate(arrived, slide_by_tuple(11, on="ts"), [], N), "wid", "n") == [
        (10, 1),
        (20, 2),
        (30, 2),
    ]


def test_missing_keys_are_a_group_and_missing_values_are_skipped():
    arrived = [{"ts": 1, "key": key, "value": v} for key, v in (("a", 1), (None, None), (None, 4))]
    aggs = {"n": (COUNT, "value"), "most": (MAX, "value")}
    results = evaluate(arrived, tumbling(5, on="ts"), ["key"], aggs)
    assert counts(results, "key", "n", "most") == [(None, 1, 4), ("a", 1, 1)]


def test_nan_is_one_group():
    arrived = [{"ts": 1, "key": float("nan")}, {"ts": 2, "key": float("nan")}]
    assert counts(evaluate(arrived, tumbling(5, on="ts"), ["key"], N), "n") == [(2,)]


def test_rows_without_a_time_or_in_a_gap_are_accounted_for():
    # 0     3 5     8 10      RANGE 2, SLIDE 5, stream from 2
    # ......|0|.....|1|
    arrived = stream((4, "a"), (None, "a"), (6, "a"), (-2, "a"), (8, "a"))
    spec = sliding(2, 5, on="ts", start=2)
    assert account(arrived, spec) == Accounts(rows_in=5, counted=2, no_time=1, in_no_window=2)
    assert counts(evaluate(arrived, spec, [], N), "window_end", "n") == [(5, 1), (10, 1)]


def test_a_column_that_is_not_there_is_refused():
    with pytest.raises(SchemaError, match="got 'kye'; did you mean 'key'"):
        evaluate(stream((1, "a")), tumbling(5, on="ts"), ["kye"], N)
    with pytest.raises(SchemaError, match=r"column 'ts' must hold whole numbers, got 1\.5"):
        evaluate(stream((1.5, "a")), tumbling(5, on="ts"), [], N)


def by_group(results, spec):
    names = {"window_start", "window_end", "wid", "key", *spec.pattr}
    return {
        tuple((name, result[name]) for name in sorted(names & result.keys())): {
            name: value for name, value in result.items() if name not in names
        }
        for result in results
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.lower())
@given(data=st.data(), arrived=streams)
def test_grouping_rows_tagged_with_window_ids_gives_the_same(kind, data, arrived):
    spec = data.draw(specs(kind))
    tagged = defaultdict(list)
    for i, row in enumerate(arrived):
        for w in wids(i, arrived, spec):
            tagged[w, row["key"]].append(row)
    expected = [
        {**label(w, spec), "key": key}
        | {name: fold.of(r["value"] for r in members) for name, (fold, _) in AGGS.items()}
        for (w, key), members in tagged.items()
    ]
    assert by_group(evaluate(arrived, spec, ["key"], AGGS), spec) == by_group(expected, spec)


PANED = specs(Kind.SLIDING, Kind.TUMBLING, Kind.CUMULATIVE)


@given(spec=PANED, arrived=streams)
def test_merging_panes_gives_the_same(spec, arrived):
    panes = defaultdict(list)
    for row in arrived:
        if row["ts"] is not None and (spec.start is None or row["ts"] >= spec.start):
            panes[pane_start(row["ts"], spec)].append(row["value"])
    merged: dict[int, Any] = {}
    for pane, values in panes.items():
        for w in windows_of_pane(pane, spec):
            before = merged.get(w, SUM.init())
            merged[w] = SUM.merge(before, SUM.partial(values))
    expected = {label(w, spec)["window_end"]: SUM.final(state) for w, state in merged.items()}
    results = evaluate(arrived, spec, [], {"total": (SUM, "value")})
    assert dict(counts(results, "window_end", "total")) == expected
