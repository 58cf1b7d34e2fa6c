"""Sums over sums: which of them are sums over rows, and how often a row is in one."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import penstock as ps
from penstock.drops.linear import estimated_keys, is_linear, over_answers, reach_back, summed, times
from penstock.network.operators import Aggregate, Expression, Map, Operator, Union
from penstock.network.query import Query
from penstock.windows import cumulative
from penstock.windows.durations import SECOND
from tests.network.workload import source, where, windows

SUMS = {"bytes": ps.sum("size"), "n": ps.count(), "mean": ps.avg("size")}
TOTAL = {"total": ps.sum("n")}


def inner(length: str = "10 s", slide: str = "10 s", stream: str = "packets") -> Aggregate:
    return windows(source(stream), length, slide, "host", asked=SUMS)


def outer(below: Operator, length: str = "60 s", slide: str = "60 s", *keys: str) -> Aggregate:
    return windows(below, length, slide, *keys, on="window_time", asked=TOTAL)


def renamed(below: Operator, only: bool = False, **columns: str) -> Map:
    return Map(below, tuple((n, Expression(e)) for n, e in columns.items()), only)


@pytest.mark.parametrize(
    ("length", "slide", "above", "most"),
    [
        ("10 s", "10 s", "60 s", 1),
        ("10 s", "5 s", "60 s", 2),
        ("10 s", "4 s", "60 s", 3),
        ("5 s", "10 s", "60 s", 1),  # windows with gaps between them
        ("60 s", "10 s", "20 s", 2),  # no more of them end in a window above
    ],
)
def test_how_many_answers_of_a_window_have_the_same_row(length, slide, above, most):
    assert times(outer(inner(length, slide), above, above)) == most


def test_rows_of_two_streams_are_no_rows_of_both():
    one, other = inner("10 s", "5 s"), inner("10 s", "5 s", "others")
    assert times(outer(Union((one, other)))) == 2
    assert times(outer(Union((one, inner("30 s", "10 s"))))) == 2 + 3
    assert times(outer(Union((one, one)))) == 4


def test_windows_that_accumulate():
    window = cumulative("60 s", "10 s", on="ts")
    below = Aggregate(source(), Query(window, ("host",), SUMS, order=("ts",)))
    assert times(outer(below, "2 min", "2 min")) == 6
    assert reach_back(outer(below)) == 60 * SECOND - 1


def test_rows_of_a_window_begin_before_it():
    assert reach_back(inner("30 s", "10 s")) == 0
    middle = outer(inner("30 s", "10 s"), "20 s", "20 s")
    top = windows(middle, "60 s", "60 s", on="window_time", asked={"x": ps.sum("total")})
    assert reach_back(middle) == 30 * SECOND - 1
    assert reach_back(top) == 50 * SECOND - 2
    assert is_linear(top)


def test_rows_of_windows_over_windows_over_windows():
    """A row is in six windows of a minute, and these in three windows of 20 s or four."""
    middle = outer(inner("60 s", "10 s"), "20 s", "20 s")
    assert times(middle) == 2

    def top(length: str, below: Aggregate) -> int:
        asked = {"x": ps.sum("total")}
        return times(windows(below, length, length, on="window_time", asked=asked))

    assert top("2 min", middle) == 6
    assert top("40 s", middle) == 4
    # Each of the six is in two that overlap.
    assert top("2 min", outer(inner("60 s", "10 s"), "40 s", "20 s")) == 12


@pytest.mark.parametrize("seed", range(20))
def test_no_row_is_in_a_window_more_often(seed):
    of = random.Random(seed)
    specs = [(of.randint(1, 12), of.randint(1, 6)) for _ in range(3)]
    below: Operator = source()
    for i, (length, slide) in enumerate(specs):
        asked = {"n": ps.count()} if i == 0 else {"n": ps.sum("n")}
        on = "ts" if i == 0 else "window_time"
        below = windows(below, f"{length} s", f"{slide} s", on=on, asked=asked)
    assert isinstance(below, Aggregate)
    most = times(below)
    for second in range(60):
        ends = Counter({second: 1})  # time of an answer → how often the row is in it
        for length, slide in specs:
            above: Counter[int] = Counter()
            for at, ways in ends.items():
                first = (at // slide + 1) * slide
                for end in range(first, at + length + 1, slide):
                    above[end - 1] += ways  # it comes at the end of its window
            ends = above
        assert max(ends.values(), default=0) <= most


def test_what_a_sum_sums_by_whatever_name():
    below = renamed(renamed(inner(), seen="N"), only=True, all="`seen`", host="host")
    (feed,) = over_answers(outer(below))
    assert summed(ps.sum("ALL"), feed) == "n"
    assert summed(ps.sum("all * 2"), feed) is None
    assert summed(ps.avg("all"), feed) is None
    (feed,) = over_answers(outer(inner()))
    assert summed(ps.sum("mean"), feed) is None
    assert summed(ps.sum("host"), feed) is None


def test_groups_by_an_estimate_are_none():
    below = renamed(renamed(inner(), large="bytes > 1000", site="upper(host)"), size_class="large")
    for key, estimated in (("host", []), ("site", []), ("size_class", ["size_class"])):
        above = outer(below, "60 s", "60 s", key)
        (feed,) = over_answers(above)
        assert estimated_keys(above, feed) == estimated
        assert is_linear(above) == (not estimated)


def test_a_filter_between_is_not_linear_and_one_below_is():
    assert not is_linear(outer(where(inner(), "host = 'a'")))
    below = windows(where(source(), "size > 9"), "10 s", "10 s", asked=SUMS)
    assert is_linear(outer(below))
