"""The rules for one window drop before several aggregates, and what it lets through."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.planning.analysis import Overhead, Pipeline, fake, normal
from penstock.planning.spans import Span, fan_out, pipeline

A0, A1, A2 = Span(4, 1), Span(3, 2, batch=6), Span(3, 3, batch=4)


def test_figure_4_a_pipeline():
    assert pipeline(Span(3, 2), Span(3, 3)) == Span(5, 3)


def test_figure_5_a_fan_out():
    both = fan_out([Span(3, 2), Span(3, 3)])
    assert both == Span(7, 6)


def test_the_composite_example_is_the_same_both_ways():
    first = fan_out([A1, A2])
    assert first is not None
    second = [pipeline(A0, A1), pipeline(A0, A2)]
    assert second == [Span(6, 2, 6), Span(6, 3, 4)]
    assert pipeline(A0, first) == fan_out([s for s in second if s]) == Span(10, 6, 2)


def test_windows_of_another_kind_are_not_dropped_together():
    by_host = Span(4, 1, kind="host")
    assert pipeline(A0, by_host) is None
    assert fan_out([A0, by_host]) is None


def test_a_gap_smaller_than_the_common_slide_allows_no_common_drop():
    assert fan_out([Span(3, 2, batch=2), Span(3, 3)]) is None
    assert fan_out([Span(3, 2, batch=3), Span(3, 3)]) == Span(7, 6, 1)


windows = st.tuples(st.integers(1, 6), st.integers(1, 4)).map(lambda w: Span(max(w), min(w)))


@given(windows, st.lists(windows, min_size=1, max_size=3), st.integers(0, 2**32))
def test_what_a_drop_keeps_is_all_that_kept_windows_need(first, branches, seed):
    #  drop ─► first ─┬─► branch      the windows that begin in a kept slide are whole,
    #                 └─► branch      through both levels
    then = fan_out(branches)
    assert then is not None
    span = pipeline(first, then)
    assert span is not None
    rng = random.Random(seed)
    kept = [n for n in range(6) if rng.random() < 0.5]
    rows = {t for n in kept for t in range(n * span.slide, n * span.slide + span.range)}
    for branch, n in itertools.product(branches, kept):
        for start in range(n * span.slide, (n + 1) * span.slide, branch.slide):
            inner = [t for t in range(start, start + branch.range) if t % first.slide == 0]
            needed = {t for begin in inner for t in range(begin, begin + first.range)}
            assert needed <= rows


@given(windows, st.integers(1, 8), st.lists(st.integers(1, 4), min_size=3, max_size=8))
def test_the_share_of_rows_that_stays_is_that_of_a_simulation(span, batch, between):
    #  kept ----- kept kept ----- kept …      runs of B dropped windows, each between kept ones
    dropped = [keep for gap in between for keep in [False] * gap + [True] * batch] + [False] * 12
    length = len(dropped) * span.slide
    alive = {
        t
        for n, gone in enumerate(dropped)
        if not gone
        for t in range(n * span.slide, n * span.slide + span.range)
    }
    lost = length - len([t for t in range(length) if t in alive])
    p = sum(dropped) / len(dropped)
    assert lost / length == pytest.approx(1 - span.kept(p, run=batch * span.slide))
    assert (lost > 0) == Span(span.range, span.slide, batch).drops_early


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("span", [Span(4, 1, 7), Span(12, 1, 24), Span(2, 2, 3), Span(10, 2, 7)])
def test_so_it_is_with_a_coin_for_each_batch_and_two_drops_in_a_row_compensated(span, p):
    rng, batch = random.Random(3), span.batch
    dropped: list[bool] = []
    debt = run = 0
    for _ in range(4000):
        falls = rng.random() < p
        for _ in range(batch):
            gone = (falls or debt > 0) and run < batch
            debt += falls - gone
            run = run + 1 if gone else 0
            dropped.append(gone)
    runs = [len(list(same)) for gone, same in itertools.groupby(dropped) if gone]
    lost = sum(max(0, run * span.slide - span.extent) for run in runs)
    assert max(runs) <= batch
    assert sum(dropped) / len(dropped) == pytest.approx(min(p, batch / (batch + 1)), rel=0.05)
    kept = span.kept(min(p, batch / (batch + 1)), run=batch * span.slide)
    assert 1 - lost / (len(dropped) * span.slide) == pytest.approx(kept, rel=0.03)


@given(windows, st.integers(1, 20))
def test_at_least_o_of_b_plus_1_rows_stay(span, batch):
    most = batch / (batch + 1)
    overlap = span.range / span.slide
    least = min(1.0, overlap / (batch + 1))
    assert span.kept(most, run=batch * span.slide) == pytest.approx(least)


# §3.6: R = 100 rows/s; 1 ms before the aggregate, 2 ms in it, 3 ms after it; half of the rows pass
# what is before, and the aggregate gives an answer for every tenth.
QUERY = Pipeline(100.0, (0.001, 0.002, 0.003), (0.5, 0.1))


def test_the_loads_of_section_3_6():
    assert QUERY.load == pytest.approx(100 * (0.001 + 0.5 * (0.002 + 0.1 * 0.003)))
    assert QUERY.saved_by_random_drop(0.4, drop=0.0001) == pytest.approx(
        100 * (0.5 * 0.1 * 0.4 * 0.003 - 0.5 * 0.1 * 0.0001)
    )
    tumbling = Span(10, 10, batch=4)
    assert (normal(0.4, tumbling), fake(0.4, tumbling)) == pytest.approx((0.6, 0.04))
    cost = Overhead(drop=1e-5, flag=2e-5, copy=3e-5, check=4e-5)
    assert QUERY.saved_by_window_drop(0.4, tumbling, cost) == pytest.approx(
        100
        * (
            0.5 * 0.1 * 0.4 * 0.003
            + 0.4 * 0.001
            + 0.4 * 0.5 * 0.002
            - 1e-5
            - 2e-5
            - 0.04 * 3e-5
            - (0.6 / 10 + 0.04) * 4e-5
        )
    )


def test_the_selectivities_of_section_3_6():
    sliding = Span(10, 2, batch=7)  # (B+1)δ - ω = 6 of (B-1)δ + ω = 22 rows
    assert normal(0.5, sliding) == pytest.approx(1 - 0.5 * 6 / 22)
    assert fake(0.5, sliding) == pytest.approx(0.5 * (8 - 5) / 6)
    # A simulation divides by Bδ = 14; for tumbling windows the two are the same.
    assert sliding.kept(0.5, run=14) == pytest.approx(1 - 0.5 * 6 / 14)
    assert Span(10, 10, 4).kept(0.5, run=40) == normal(0.5, Span(10, 10, 4))


def test_without_early_drops_the_window_drop_saves_no_more_than_the_random_drop():
    slow = Span(100, 1, batch=10)
    assert (normal(0.5, slow), fake(0.5, slow)) == (1.0, 0.0)
    same = QUERY.saved_by_window_drop(0.5, slow, Overhead())
    assert same == pytest.approx(QUERY.saved_by_random_drop(0.5))
