"""Marks in rows give the answers that decisions by window-id give, on ordered input.

    rows ─► WinDrop ─► filter ─► A1 ─► filter ─► A2 ─► …

A window of the last aggregate is delivered if all that it needs lies in a window that the drop has
kept: a decision about a value, which needs neither marks nor order.
"""

from math import lcm

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.simulate import Aggregate, Filter, Marked, WinDrop, answers, through

FILTERS = {
    "all": lambda value: True,
    "even": lambda value: value % 2 == 0,
    "third": lambda value: value % 3 == 0,
    "none": lambda value: False,
}
windows = st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n)))
stages = st.lists(st.tuples(windows, st.sampled_from(sorted(FILTERS))), min_size=1, max_size=3)
# None, one or two rows at each time.
streams = st.lists(st.lists(st.integers(0, 9), max_size=2), max_size=70)
decisions = st.lists(st.booleans(), min_size=1, max_size=9)


def naive(values, until, layers):
    """Every window of the last aggregate, by its start: nothing is dropped."""
    for (length, slide), name in layers:
        kept = [(t, v) for t, v in values if FILTERS[name](v)]
        found = {
            start: [v for t, v in kept if start <= t < start + length]
            for start in range(0, until - length + 1, slide)
        }
        values = [(start, sum(those)) for start, those in found.items() if those]
        until = max(0, -(-(until - length + 1) // slide) * slide)
    return dict(values)


def needs(layers):
    """How long a time a window of the last aggregate needs: the pipeline rule."""
    return sum(length for (length, _), _ in layers) - (len(layers) - 1)


def marked(stream):
    return [Marked(t, v) for t, values in enumerate(stream) for v in values]


def operators(layers, **options):
    return [
        stage
        for (length, slide), name in layers
        for stage in (Filter(FILTERS[name]), Aggregate(length, slide, **options))
    ]


@given(stream=streams, layers=stages, cycle=decisions)
def test_nested_aggregates_deliver_the_windows_that_are_kept(stream, layers, cycle):
    slide = layers[-1][0][1]
    drop = WinDrop(needs(layers), slide, lambda i: cycle[i % len(cycle)])
    found = answers(through([drop, *operators(layers)], marked(stream), len(stream)))
    exact = naive([(row.time, row.value) for row in marked(stream)], len(stream), layers)
    assert found == {t: v for t, v in exact.items() if cycle[t // slide % len(cycle)]}


@given(
    stream=streams, first=stages, branches=st.lists(stages, min_size=2, max_size=3), cycle=decisions
)
def test_shared_aggregates_deliver_what_lies_in_a_window_that_is_kept(
    stream, first, branches, cycle
):
    paths = [[*first, *branch] for branch in branches]
    slides = [path[-1][0][1] for path in paths]
    slide = lcm(*slides)
    length = slide + max(needs(path) - s for path, s in zip(paths, slides, strict=True))
    kept = [i * slide for i in range(len(stream)) if cycle[i % len(cycle)]]
    drop = WinDrop(length, slide, lambda i: cycle[i % len(cycle)])
    top = through([drop], marked(stream), len(stream))
    for path in paths:
        found = answers(through(operators(path), top, len(stream)))
        exact = naive([(row.time, row.value) for row in marked(stream)], len(stream), path)
        assert found == {
            t: v
            for t, v in exact.items()
            if any(start <= t and t + needs(path) <= start + length for start in kept)
        }


def test_the_composition_of_the_paper():
    """A0(4,1) over A1(3,2) and A2(3,3) needs (10, 6): by paths, or by the fan-out first."""
    a0, a1, a2 = ((4, 1), "all"), ((3, 2), "all"), ((3, 3), "all")
    assert lcm(2, 3) + max(needs([a0, a1]) - 2, needs([a0, a2]) - 3) == 10
    assert 4 + (lcm(2, 3) + max(3 - 2, 3 - 3)) - 1 == 10


@pytest.mark.parametrize(("literal", "wrong"), [(True, 67), (False, 0)])
def test_the_papers_keep_until_delivers_wrong_windows(literal, wrong):
    """A1(10,2) and A2(4,2) side by side, one window kept and twenty dropped.

    A2 opens windows within the row range that A1's window needs. By the paper's table each of them
    lengthens that range, so more are opened, until they reach into rows that were dropped.
    """
    rows = [Marked(t, 1 + t % 7) for t in range(1400)]
    top = through([WinDrop(10, 2, lambda i: i % 21 == 0)], rows, len(rows))
    count = 0
    for length in (10, 4):
        found = answers(through([Aggregate(length, 2, literal=literal)], top, len(rows)))
        exact = naive([(row.time, row.value) for row in rows], len(rows), [((length, 2), "all")])
        count += sum(value != exact[start] for start, value in found.items())
    assert count == wrong


def test_rows_of_dropped_windows_only_never_enter_the_plan():
    rows = [Marked(t, 1.0) for t in range(100)]
    out = through([WinDrop(10, 5, lambda i: i % 10 == 0)], rows, 100)
    real = {row.time for row in out if not row.fake}
    assert real == {*range(10), *range(50, 60)}
    assert {row.time for row in out if row.fake} == {*range(10, 50, 5), *range(60, 100, 5)}


def test_a_mark_survives_a_filter_that_drops_its_row():
    row = Marked(4, 3.0, mark=9)
    assert list(Filter(FILTERS["even"]).rows(row)) == [Marked(4, 3.0, mark=9, fake=True)]
    assert list(Filter(FILTERS["even"]).rows(Marked(5, 3.0))) == []


def test_rows_leave_in_order_although_fakes_need_not_wait_for_a_window():
    top = through([WinDrop(9, 3, lambda i: True)], [Marked(t, 1.0) for t in range(60)], 60)
    out = through([Aggregate(5, 4)], top, 60)
    assert [row.time for row in out] == sorted(row.time for row in out)
    assert any(row.fake for row in out)
