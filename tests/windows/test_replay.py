"""Streams replayed batch by batch: worked by hand, and against a second way to compute them."""

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.errors import SpecificationError, UsageError
from penstock.windows import (
    Kind,
    evaluate,
    landmark,
    replay,
    rows,
    sliding,
    tumbling,
    wids_at,
    window_bounds,
    window_end,
)
from penstock.windows.aggregates import COUNT_ALL, SUM
from penstock.windows.durations import MILLISECOND, SECOND
from penstock.windows.oracle import Accounts, Aggregates
from tests.strategies import batches, time_specs

N: Aggregates = {"n": (COUNT_ALL, None)}
AGGS: Aggregates = {"n": (COUNT_ALL, None), "total": (SUM, "value")}
BOUNDED = [Kind.SLIDING, Kind.TUMBLING, Kind.CUMULATIVE]
TIMED = [*BOUNDED, Kind.LANDMARK]
lates = st.sampled_from(["generous", "consistent"])
slacks = st.integers(0, 20).map(lambda ms: ms * MILLISECOND)


def at(*seconds):
    return [{"ts": None if s is None else int(s * SECOND)} for s in seconds]


def ends(results):
    return [(result["window_end"] // SECOND, result["n"]) for result in results]


def test_a_window_closes_one_batch_after_the_watermark_has_passed_it():
    # batch        0              1             2 (no data)
    # rows         3  12          4  25
    # L(N)         0              12            25
    # emitted                     [0,10): 3, 4  [10,20): 12
    run = replay([at(3, 12), at(4, 25)], tumbling("10 s", on="ts"), [], N)
    assert [batch.watermark // SECOND for batch in run.batches] == [0, 12, 25]
    assert [ends(batch.emitted) for batch in run.batches] == [[], [(10, 2)], [(20, 1)]]
    assert ends(run.open) == [(30, 1)]
    assert run.watermark == 25 * SECOND
    assert run.emitted == [*run.batches[1].emitted, *run.batches[2].emitted]


LATE = [at(1, 12), at(3), at(8, 4, 30)]
# RANGE 10, SLIDE 5               0    5    10   15   20   25   30
#                             |---------|                              ends at 5
#                                  |---------|                         ends at 10
#                                       |---------|                    ends at 15
#                                            |---------|               ends at 20
# batch  L(N-1)  L(N)   rows
#   0      0      0     1 12      nothing is closed
#   1      0      12    3         in time for the windows that end at 5 and 10, which close now
#   2      12     12    8         late for the window that ends at 10, in time for that of 15
#                       4         late for both of its windows
#                       30
#   3      12     30              (no data)


def test_generous_counts_a_late_row_in_the_windows_that_are_open():
    run = replay(LATE, sliding("10 s", "5 s", on="ts"), [], N, late="generous")
    assert [ends(batch.emitted) for batch in run.batches] == [
        [],
        [(5, 2), (10, 2)],
        [],
        [(15, 2), (20, 1)],
    ]
    assert ends(run.open) == [(35, 1), (40, 1)]
    assert run.batches[2].accounts == Accounts(rows_in=3, counted=2, late_lost=1, late_partial=1)


def test_consistent_counts_a_row_in_all_of_its_windows_or_in_none():
    run = replay(LATE, sliding("10 s", "5 s", on="ts"), [], N, late="consistent")
    assert [ends(batch.emitted) for batch in run.batches] == [
        [],
        [(5, 2), (10, 2)],
        [],
        [(15, 1), (20, 1)],
    ]
    assert run.batches[2].accounts == Accounts(rows_in=3, counted=1, late_lost=2)


def test_slack_holds_the_watermark_back():
    # 12 - 3 = 9: the window that ends at 10 stays open
    run = replay([at(3, 12), at(4), at(5)], tumbling("10 s", on="ts"), [], N, slack="3 s")
    assert run.emitted == []
    assert ends(run.open) == [(10, 3), (20, 1)]
    assert run.watermark == 9 * SECOND


def test_the_watermark_is_in_whole_milliseconds():
    # The newest row is at 10.0009 s: the watermark is 10.000 s, and closes what ends there.
    spec = tumbling("10 s", on="ts")
    assert replay([at(3, 10.0009)], spec, [], N).watermark == 10 * SECOND
    assert ends(replay([at(3, 10.0009)], spec, [], N).emitted) == [(10, 1)]
    # At 9.9999 s it is 9.999 s.
    assert replay([at(3, 9.9999)], spec, [], N).watermark == 9_999 * MILLISECOND
    assert replay([at(3, 9.9999)], spec, [], N).emitted == []


def test_before_the_epoch_every_window_is_closed_from_the_start():
    run = replay([at(-15, -5, 5)], tumbling("10 s", on="ts"), [], N)
    assert run.accounts == Accounts(rows_in=3, counted=1, late_lost=2)
    assert ends(run.open) == [(10, 1)]


def test_a_batch_without_data_runs_only_if_the_watermark_has_moved():
    spec = tumbling("10 s", on="ts")
    assert len(replay([at(12)], spec, [], N).batches) == 2
    assert len(replay([at(12), at(11)], spec, [], N).batches) == 2
    assert len(replay([at(12)], spec, [], N, final_no_data=False).batches) == 1
    assert replay([], spec, [], N).batches == ()


def test_a_pause_between_batches_makes_later_rows_late():
    spec = tumbling("10 s", on="ts")
    # Without a pause 4 comes in the batch that closes its window; with one, after it.
    assert replay([at(3, 12), at(4)], spec, [], N).accounts.late_lost == 0
    assert replay([at(3, 12), [], at(4)], spec, [], N).accounts.late_lost == 1


def test_rows_without_a_time_and_in_gaps_are_not_late():
    # RANGE 2, SLIDE 5: [3, 5), [8, 10); stream from 0
    spec = sliding("2 s", "5 s", on="ts", start=0)
    run = replay([at(4, None, 1, -1)], spec, [], N)
    assert run.accounts == Accounts(rows_in=4, counted=1, no_time=1, in_no_window=2)


def test_landmark_windows_go_on_while_the_watermark_does():
    # rows 1, 22 | 2 late for [.., 5) to [.., 20), but not for [.., 25)
    spec = landmark("5 s", on="ts", start=0)
    run = replay([at(1, 22), [], at(2)], spec, [], N, late="generous")
    assert ends(run.emitted) == [(5, 1), (10, 1), (15, 1), (20, 1)]
    assert ends(run.open) == [(25, 3)]
    assert run.accounts.late_partial == 1
    strict = replay([at(1, 22), [], at(2)], spec, [], N, late="consistent")
    assert ends(strict.open) == [(25, 2)]
    assert strict.accounts.late_lost == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slack": "-1 s"}, "slack must not be negative, got '-1 s'"),
        ({"slack": 1_500}, "slack must be whole milliseconds, got 1500"),
        ({"late": "generos"}, "late must be 'generous' or 'consistent', got 'generos'; did you"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(SpecificationError, match=message):
        replay([], tumbling("1 s", on="ts"), [], N, **options)


def test_only_windows_over_time_have_a_watermark():
    with pytest.raises(UsageError, match="needs a window over time"):
        replay([], rows(5), [], N)
    with pytest.raises(UsageError, match="needs a window over time"):
        replay([], tumbling(5, on="n", unit="value"), [], N)


@given(stream=batches(), spec=time_specs(*TIMED), slack=slacks, late=lates)
def test_the_accounts_balance_in_every_batch(stream, spec, slack, late):
    run = replay(stream, spec, ["key"], AGGS, slack=slack, late=late)
    for batch in run.batches:
        a = batch.accounts
        assert a.rows_in == a.counted + a.late_lost + a.no_time + a.in_no_window
        assert 0 <= a.late_partial <= (a.counted if late == "generous" else 0)
    assert run.accounts.rows_in == sum(len(rows) for rows in stream)


@given(stream=batches(), spec=time_specs(*TIMED), slack=slacks, late=lates)
def test_a_window_is_emitted_once_and_in_the_batch_whose_watermark_reaches_it(
    stream, spec, slack, late
):
    run = replay(stream, spec, ["key"], AGGS, slack=slack, late=late)
    before = 0
    for batch in run.batches:
        assert all(before < row["window_end"] <= batch.watermark for row in batch.emitted)
        before = batch.watermark
    assert all(row["window_end"] > before for row in run.open)


@given(stream=batches(), spec=time_specs(*TIMED), late=lates)
def test_with_enough_slack_the_stream_gives_the_exact_answer(stream, spec, late):
    # Rows are at most 30 ms late, and all of them later than the epoch by more than that.
    moved = [
        [row | {"ts": row["ts"] + SECOND} for row in rows if row["ts"] is not None]
        for rows in stream
    ]
    assume(any(moved))
    run = replay(moved, spec, ["key"], AGGS, slack="31 ms", late=late)
    results = [*run.emitted, *run.open]
    until = max((row["window_end"] for row in results), default=0)
    exact = evaluate([row for rows in moved for row in rows], spec, ["key"], AGGS, until)
    assert results == exact
    assert run.accounts.late_lost == run.accounts.late_partial == 0


@given(stream=batches(), spec=time_specs(*BOUNDED), slack=slacks, late=lates)
def test_partial_aggregates_per_window_give_the_same(stream, spec, slack, late):
    """The window-id way: no rows are kept, only a state per window and key."""
    state: dict[tuple[int, str | None], Any] = defaultdict(SUM.init)
    watermark = previous = newest = 0
    emitted = []
    for rows_ in [*stream, []]:
        for row in rows_:
            ids = wids_at(row["ts"], spec) if row["ts"] is not None else range(0)
            first_open = bool(ids) and window_end(ids[0], spec) > previous
            for w in ids:
                if window_end(w, spec) > previous and (late == "generous" or first_open):
                    state[w, row["key"]] = SUM.incr(state[w, row["key"]], row["value"])
        due = [group for group in state if window_end(group[0], spec) <= watermark]
        for w, key in sorted(due, key=lambda group: (group[0], group[1] or "")):
            emitted.append((*window_bounds(w, spec), key, SUM.final(state.pop((w, key)))))
        newest = max([newest, *(row["ts"] or 0 for row in rows_)])
        moved = max(watermark, newest // MILLISECOND * MILLISECOND - slack)
        previous, watermark = watermark, moved
    run = replay(stream, spec, ["key"], {"total": (SUM, "value")}, slack=slack, late=late)
    got = [tuple(result.values()) for result in run.emitted]
    assert got == emitted


@given(stream=batches(), spec=time_specs(*TIMED), slack=slacks)
def test_consistent_never_counts_more_than_generous(stream, spec, slack):
    generous = replay(stream, spec, [], N, slack=slack, late="generous")
    consistent = replay(stream, spec, [], N, slack=slack, late="consistent")
    most = {row["window_end"]: row["n"] for row in generous.emitted}
    assert all(row["n"] <= most[row["window_end"]] for row in consistent.emitted)
    assert consistent.accounts.late_partial == 0
