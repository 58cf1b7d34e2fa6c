"""What batches take of which nothing is shed, and what follows from that."""

import random

import pytest

from penstock.control.batch import Batch
from penstock.control.batches import SeamlessBatches
from penstock.control.whole import Whole

FIXED, SLOPE = 0.9, 0.4e-6


def known(count: int = 20, seed: int = 1, times: float = 1.0) -> Whole:
    """After batches with up to two million rows, some of which were held up."""
    whole, of = Whole(), random.Random(seed)
    for number in range(count):
        rows = of.uniform(0.5e6, 2e6)
        held_up = 2.0 if number % 7 == 3 else of.uniform(0.95, 1.05)
        whole.learn(rows, times * held_up * (FIXED + SLOPE * rows))
    return whole


def test_batches_that_were_held_up_are_no_rule():
    for rows in (0.5e6, 1e6, 2e6):
        assert known().seconds(rows) == pytest.approx(FIXED + SLOPE * rows, rel=0.05)


def test_of_few_batches_and_of_more_rows_than_ever_came_nothing_is_said():
    assert known(count=7).seconds(1e6) is None
    assert known().seconds(4e6) is None
    assert Whole().seconds(0.0) is None


def test_a_machine_that_has_become_slower_is_known_when_it_has_been_seen():
    whole = known()
    for rows in (1.0e6, 1.1e6, 1.2e6):
        assert whole.seconds(1e6) is not None
        whole.learn(rows, 2 * (FIXED + SLOPE * rows))
    assert whole.seconds(1e6) is None
    for rows in (1.0e6, 1.3e6, 1.5e6, 1.6e6, 1.8e6):
        whole.learn(rows, 2 * (FIXED + SLOPE * rows))
    assert whole.seconds(1.5e6) == pytest.approx(2 * (FIXED + SLOPE * 1.5e6))


def test_after_late_batches_it_is_not_tried_for_longer_and_longer():
    whole, waited = known(), []
    for _ in range(6):
        for _ in range(3):
            whole.learn(1e6, FIXED + SLOPE * 1e6, late=True)
        batches = 0
        while whole.seconds(1e6) is None:
            whole.passes()
            batches += 1
        waited.append(batches)
    assert waited == [10, 20, 40, 80, 160, 160]
    for _ in range(20):
        whole.learn(1e6, FIXED + SLOPE * 1e6)
    for _ in range(3):
        whole.learn(1e6, FIXED + SLOPE * 1e6, late=True)
    for _ in range(10):
        whole.passes()
    assert whole.seconds(1e6) is not None


def looped(load: float, noise: float, *, tells: bool) -> float:
    """The share of rows that is shed in the end, where shedding makes rows twice as dear.

    By the cost model that is what rows cost at any time: it is fitted to batches that shed.
    """
    of, target = random.Random(5), 4 * FIXED
    best = target / 1.95
    rate = load * (best - FIXED) / (best * SLOPE)
    control, period, keep = SeamlessBatches(target), 1.3, 1.0
    shed, came = 0.0, 0.0
    for number in range(150):
        rows = rate * period * min(1.0, (number + 10) / 40)
        dear = 1.0 if keep == 1 else 2.0
        seconds = (FIXED + dear * SLOPE * keep * rows) * of.lognormvariate(0, noise)
        if 60 <= number < 65:
            seconds += target  # more than an accident, which nothing is shed for
        batch = Batch(
            rows=rows,
            collected=period,
            seconds=seconds,
            nominal=FIXED + (2 if shed else 1) * SLOPE * keep * rows,
            fixed=FIXED,
            cost=(2 if shed else 1) * SLOPE,
            response=0.95 * period + seconds,
            whole=keep == 1,
        )
        if not tells:
            batch = Batch(**{n: getattr(batch, n) for n in batch.__slots__ if n != "whole"})
        shed, came = shed + (1 - keep) * rows, came + rows
        if number == 100:
            shed, came = 1e-9, 0.0
        admitted = control.step(batch)
        if admitted.keep == 1 and "it will pass" in admitted.reason and tells and number > 100:
            assert (admitted.overload or 0.0) <= 1  # nobody need be told to add machines
        keep, period = admitted.keep, seconds
    return shed / came


def test_what_can_all_be_done_is_done_again_after_an_accident():
    assert looped(0.8, 0.1, tells=False) > 0.05  # the model alone would shed for ever
    assert looped(0.8, 0.1, tells=True) < 0.001


def test_what_cannot_be_done_is_not_tried():
    assert looped(2.0, 0.05, tells=True) == pytest.approx(looped(2.0, 0.05, tells=False))
