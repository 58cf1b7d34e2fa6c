"""How far the rows of the next batch go: by the clock in a live stream, by rows in a replay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.planning.reach import Came, Reach
from penstock.planning.regulator import Ended

amounts = st.lists(
    st.tuples(st.floats(1e3, 1e6), st.floats(0.5, 30.0)), min_size=12, max_size=12, unique=True
)


def learnt(came, span):
    reach = Reach()
    for one in came:
        reach.note(one, span(one))
    return reach


@given(amounts, st.floats(1e3, 1e7), st.floats(0.5, 60.0))
def test_a_live_stream_goes_as_far_as_the_clock_whatever_comes(before, rows, seconds):
    reach = learnt([Came(*one) for one in before], lambda one: one.seconds)
    assert reach.ahead(Came(rows, seconds)) == pytest.approx(1.25 * seconds)


@given(amounts, st.floats(1e3, 1e7), st.floats(0.5, 60.0))
def test_a_replay_goes_as_far_as_its_rows(before, rows, seconds):
    reach = learnt([Came(*one) for one in before], lambda one: one.rows / 1e4)
    assert reach.ahead(Came(rows, seconds)) == pytest.approx(1.25 * rows / 1e4)


def test_at_first_it_is_the_farther_of_both():
    reach = learnt([Came(100.0, 2.0)], lambda one: one.seconds)
    assert reach.ahead(Came(1000.0, 4.0)) == pytest.approx(1.25 * 20.0)
    assert Reach().ahead(Came(1000.0, 4.0)) is None


def test_what_is_not_known_yet_are_the_last_batch_and_the_next():
    # 300 rows in 3 s, and as many a second come while they are worked on for 5 s and 1 s passes
    ended = Ended(rows={"a": 300.0}, collected=3.0, seconds=5.0, overhead=1.0)
    assert ended.unknown == Came(900.0, 9.0)
    assert Ended(rows={"a": 300.0}, collected=None, seconds=5.0).unknown == Came(600.0, 10.0)
