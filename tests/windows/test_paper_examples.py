"""The examples of Li et al., SIGMOD 2005, and small ones of the kinds that it only names."""

from datetime import UTC, datetime

import pytest

from penstock.windows import (
    cumulative,
    extent,
    first_wid,
    landmark,
    last_closed,
    last_wid,
    rows,
    slide_by_rank,
    slide_by_rows,
    slide_by_tuple,
    sliding,
    wids,
    wids_at,
    window_bounds,
    windows,
)
from penstock.windows.durations import MINUTE, SECOND, parse_instant

NOON = parse_instant(datetime(2005, 6, 14, 12, 0, tzinfo=UTC))
Q1 = sliding("300 seconds", "60 seconds", on="ts", origin=NOON, start=NOON)


def minutes(*values):
    return [NOON + value * MINUTE for value in values]


def test_window_10_of_q1_is_from_6_to_11_minutes_past_noon():
    assert window_bounds(10, Q1) == tuple(minutes(6, 11))
    assert window_bounds(11, Q1) == tuple(minutes(7, 12))


def test_a_reading_of_12_10_is_in_windows_10_to_14_of_q1():
    # 12:06       :10 :11                :15
    #   |---- 10 ----x-|
    #       |---- 11 x-----|          t in minute 10 is in the five windows
    #               ...               that end with minutes 10, 11, 12, 13, 14
    #              |-x-- 14 -----------|
    t1 = NOON + 10 * MINUTE + 31 * SECOND
    assert list(wids_at(t1, Q1)) == [10, 11, 12, 13, 14]
    assert (first_wid(t1, Q1), last_wid(t1, Q1)) == (10, 14)


def test_the_punctuation_p1_of_12_11_closes_window_10_of_q1():
    assert last_closed(minutes(11)[0], Q1) == 10
    assert last_closed(minutes(11)[0] - 1, Q1) == 9


def test_the_first_four_windows_of_q1_are_partial():
    # 12:00  1   2   3   4   5   6
    #   |-0-|
    #   |---1---|
    #   |-----2-----|
    #   |-------3-------|
    #   |---------4---------|         the first whole one
    #       |---------5---------|
    starts = [0, 0, 0, 0, 0, 1]
    expected = [tuple(minutes(start, w + 1)) for w, start in enumerate(starts)]
    assert [window_bounds(w, Q1) for w in range(6)] == expected
    assert windows([{"ts": NOON}], Q1)[0] == 0


def test_a_stream_without_a_beginning_has_no_partial_extents():
    q1 = sliding("300 seconds", "60 seconds", on="ts", origin=NOON)
    assert window_bounds(0, q1) == tuple(minutes(-4, 1))
    assert list(wids_at(NOON - 1, q1)) == [-1, 0, 1, 2, 3]


def test_a_row_before_the_start_is_in_no_window():
    assert list(wids_at(NOON - 1, Q1)) == []
    assert wids(0, [{"ts": NOON - 1}], Q1) == []
    assert list(windows([{"ts": NOON - 1}], Q1)) == []


def test_q2_counts_rows_of_the_stream():
    # row-num   0 1 2 3 4 5 6       RANGE 4 rows, SLIDE 2 rows
    #           |-0-|
    #           |---1---|
    #               |---2---|
    #                   |---3---|   and the last one
    stream = [{"seg": s} for s in "aabbabb"]
    q2 = rows(4, 2)
    assert [extent(w, stream, q2) for w in windows(stream, q2)] == [
        [0, 1],
        [0, 1, 2, 3],
        [2, 3, 4, 5],
        [4, 5, 6],
        [6],
    ]


def test_q4_counts_rows_of_each_partition():
    # row-num        0 1 2 3 4 5 6
    # a, rank        0 1     2           RANGE 2 rows, SLIDE 1 row
    # b, rank            0 1   2 3
    stream = [{"seg": s} for s in "aabbabb"]
    q4 = rows(2, 1, by=["seg"])
    assert extent((1, ("a",)), stream, q4) == [0, 1]
    assert extent((2, ("a",)), stream, q4) == [1, 4]
    assert extent((0, ("b",)), stream, q4) == [2]
    assert extent((3, ("b",)), stream, q4) == [5, 6]
    assert wids(4, stream, q4) == [(2, ("a",)), (3, ("a",))]


STREAM = [{"ts": t} for t in (10, 30, 20, 25, 40, 25)]


def test_q3_has_a_window_for_each_value():
    # ts     10        20   25   30        40        RANGE 10; rows 3 and 5 are both at 25
    #    (---10]
    #              (---20]
    #                   (---25]
    #                        (---30]
    #                                  (---40]
    q3 = slide_by_tuple(10, on="ts")
    assert windows(STREAM, q3) == [10, 20, 25, 30, 40]
    assert [extent(w, STREAM, q3) for w in windows(STREAM, q3)] == [
        [0],
        [2],
        [2, 3, 5],
        [1, 3, 5],
        [4],
    ]
    assert wids(3, STREAM, q3) == [25, 30]


def test_sliding_by_two_rows_the_second_row_to_arrive_is_the_first_to_end_a_window():
    # arrival  10 [30] 20 [25] 40 [25]
    assert windows(STREAM, slide_by_rows(10, on="ts", every=2)) == [25, 30]


def test_q5_slides_by_the_order_of_ts():
    # in order  10 [20] 25 [25] 30 [40]
    q5 = slide_by_rank(10, on="ts", every=2)
    assert windows(STREAM, q5) == [20, 25, 40]
    assert wids(0, STREAM, q5) == []  # 20 - 10 < 10 is not so


def test_a_row_without_a_time_has_a_row_number_but_no_rank():
    stream = [{"ts": t} for t in (1, None, 2, 3)]
    assert windows(stream, slide_by_rows(10, on="ts", every=2)) == [3]
    assert windows(stream, slide_by_rank(10, on="ts", every=2)) == [2]
    assert wids(1, stream, slide_by_tuple(10, on="ts")) == []


def test_landmark_windows_all_begin_where_the_stream_begins():
    # 0    5    10   15
    # |-0--|
    # |----1----|
    # |-------2------|
    spec = landmark(5, on="ts", start=0)
    assert [window_bounds(w, spec) for w in range(3)] == [(0, 5), (0, 10), (0, 15)]
    assert last_wid(3, spec) is None
    stream = [{"ts": 3}, {"ts": 11}]
    assert list(windows(stream, spec)) == [0, 1, 2]
    assert list(windows(stream, spec, until=25)) == [0, 1, 2, 3, 4]
    assert list(windows(stream, spec, until=24)) == [0, 1, 2, 3]
    assert wids(1, stream, spec, until=25) == [2, 3, 4]


def test_a_landmark_without_a_start_has_every_row_that_ever_came():
    assert window_bounds(0, landmark(5, on="ts")) == (None, 5)
    assert extent(0, [{"ts": -1000}, {"ts": 5}], landmark(5, on="ts")) == [0]


def test_cumulative_windows_start_afresh_with_every_period():
    # -15  -10   -5    0    5   10   15        period 15, every 5
    #  |-3--|         |-0--|
    #  |----2----|    |----1----|
    #  |------1-------|-------2------|         (negative ids on the left)
    spec = cumulative(period=15, every=5, on="ts")
    assert [window_bounds(w, spec) for w in (0, 1, 2, 3)] == [(0, 5), (0, 10), (0, 15), (15, 20)]
    assert [window_bounds(w, spec) for w in (-3, -2, -1)] == [(-15, -10), (-15, -5), (-15, 0)]
    assert list(wids_at(7, spec)) == [1, 2]
    assert list(wids_at(-15, spec)) == [-3, -2, -1]


@pytest.mark.parametrize(
    ("t", "expected"),
    [(0, []), (2, []), (3, [0]), (4, [0]), (5, []), (7, []), (8, [1]), (-2, [-1]), (-3, [])],
)
def test_where_slide_exceeds_range_rows_in_the_gaps_are_in_no_window(t, expected):
    # 0     3 5     8 10      RANGE 2, SLIDE 5
    # ......|0|.....|1|
    assert list(wids_at(t, sliding(2, 5, on="ts"))) == expected


def test_range_need_be_no_multiple_of_slide():
    # 0  1  2  3  4  5  6  7  8        RANGE 5, SLIDE 3: ends at 3, 6, 9
    # |---0---|                        [-2, 3)
    #    |------1-------|              [1, 6)
    #             |------2-------|     [4, 9)
    spec = sliding(5, 3, on="ts")
    assert {t: list(wids_at(t, spec)) for t in range(6)} == {
        0: [0],
        1: [0, 1],
        2: [0, 1],
        3: [1],
        4: [1, 2],
        5: [1, 2],
    }
