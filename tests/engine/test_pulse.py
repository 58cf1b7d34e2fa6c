"""When a batch began is known before Spark tells: from when its rows were first worked on."""

from __future__ import annotations

import pytest

from penstock.engine.pulse import Beat, Pulse


class Clock:
    """Says what it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def entered(*times: float) -> Pulse:
    clock = Clock()
    pulse = Pulse(clock=clock)
    for clock.now in times:
        pulse.enter()
    return pulse


def test_a_batch_that_follows_at_once_begins_where_the_last_one_ended():
    # began 10 ├─ reports 0.2 s, reads orders 0.7 s ─┤ 10.9 rows … │ 14 ├─ 0.9 s ─┤ 14.9 rows
    last = Beat(4, began=10.0, ended=14.0, lead=0.2)
    assert entered(10.9, 14.9).began(last) == pytest.approx(14.0)


def test_a_batch_that_waited_for_rows_begins_when_they_came():
    last = Beat(4, began=10.0, ended=14.0, lead=0.2)
    assert entered(10.9, 20.9).began(last) == pytest.approx(20.0)


def test_of_a_batch_that_was_not_seen_to_begin_it_is_as_spark_tells():
    last = Beat(4, began=10.0, ended=14.0, lead=0.2)
    assert entered(20.9).began(last) == pytest.approx(20.7)
    # What was entered before belongs to an earlier batch.
    assert entered(3.0, 20.9).began(last) == pytest.approx(20.7)
