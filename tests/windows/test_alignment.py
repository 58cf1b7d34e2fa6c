"""Spark's windows start at multiples of SLIDE, the paper's end there; both are one formula."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.windows import sliding, spark_aligned, tumbling, wids_at, window_bounds
from tests.strategies import lengths, times


def spark_windows(t, length, slide, origin):
    """What Spark's `window()` gives: the windows [start, start + length) around t, by search."""
    near = range(t - length - slide, t + slide + 1)
    starts = [s for s in near if (s - origin) % slide == 0]
    return [(s, s + length) for s in starts if s <= t < s + length]


@given(t=times, length=st.integers(1, 30), slide=lengths, origin=times)
def test_the_windows_of_a_value_are_those_that_spark_gives_it(t, length, slide, origin):
    spec = spark_aligned(length, slide, on="ts", origin=origin)
    assert [window_bounds(w, spec) for w in wids_at(t, spec)] == spark_windows(
        t, length, slide, origin
    )


@given(slide=lengths, times_longer=st.integers(1, 5), origin=times)
def test_where_slide_divides_range_there_is_no_difference(slide, times_longer, origin):
    length = slide * times_longer
    assert spark_aligned(length, slide, on="ts", origin=origin) == sliding(
        length, slide, on="ts", origin=origin
    )


def test_ten_seconds_by_four_start_at_multiples_of_four():
    # 0   4   8   12  16                0   4   8   12  16
    # |---------|        Spark            |---------|        the paper
    #     |---------|                         |---------|
    spec = spark_aligned("10 seconds", "4 seconds", on="ts")
    assert window_bounds(1, spec) == (0, 10_000_000)
    assert window_bounds(2, spec) == (4_000_000, 14_000_000)
    paper = sliding("10 seconds", "4 seconds", on="ts")
    assert window_bounds(2, paper) == (2_000_000, 12_000_000)


@pytest.mark.parametrize("origin", [0, 7, -3, "1 hour"])
def test_tumbling_windows_begin_and_end_at_the_origin(origin):
    spec = tumbling("1 day", on="ts", origin=origin)
    assert window_bounds(0, spec)[0] == spec.origin
