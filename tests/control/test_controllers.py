"""Controllers, by themselves: their laws, their limits, and what they do with nonsense."""

import math
from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control import (
    Aurora,
    Batch,
    Ctrl,
    InBatches,
    Period,
    ResponseTimes,
    Seamless,
    SeamlessBatches,
    WorkDone,
    coefficients,
    queued_load,
)
from penstock.control.feedback import Feedback
from penstock.control.pace import Pace
from penstock.control.period import FLOOR, PeriodController

TARGET = 2.0
PERIODS: dict[str, Callable[[], PeriodController]] = {
    "aurora": lambda: Aurora(0.9),
    "ctrl": lambda: Ctrl(TARGET, cost=0.01),
    "seamless": lambda: Seamless(TARGET),
    "seamless as in the paper": lambda: Seamless(TARGET, ResponseTimes()),
}
BATCHES = {
    "aurora": lambda: InBatches(Aurora(0.9)),
    "ctrl": lambda: InBatches(Ctrl(TARGET, cost=1e-5)),
    "seamless": lambda: SeamlessBatches(TARGET),
}
PERIOD = Period(seconds=0.5, demand=1.5, admitted=0.5, queued=1.0, rows_in=50, rows_out=50)
BATCH = Batch(rows=1e5, collected=1.0, seconds=1.0, nominal=1.0, fixed=0.5, cost=1e-5, dropped=1e-6)
anything = st.floats() | st.sampled_from([0.0, -1.0, 1.0, 1e300])
usual = st.floats(1e-3, 1e3)


def of(kind, numbers):
    """Observations with such numbers in every field, and None where that may be."""
    values = {
        field.name: st.booleans()
        if field.type == "bool"
        else (st.none() | numbers if "None" in str(field.type) else numbers)
        for field in fields(kind)
    }
    return st.builds(kind, **values)


@pytest.mark.parametrize("make", PERIODS.values(), ids=PERIODS)
@given(seen=st.lists(of(Period, usual) | of(Period, anything), max_size=6))
def test_whatever_a_period_says_a_controller_answers_within_its_limits(make, seen):
    check(make(), seen)


@pytest.mark.parametrize("make", BATCHES.values(), ids=BATCHES)
@given(seen=st.lists(of(Batch, usual) | of(Batch, anything), max_size=6))
def test_whatever_a_batch_says_a_controller_answers_within_its_limits(make, seen):
    check(make(), seen)


def check(controller, seen):
    last = None
    for each in seen:
        answer = controller.step(each)
        assert FLOOR <= answer.keep <= 1
        assert answer.load >= 0
        assert answer.headroom > 0
        assert answer.good == (each.nonsense is None)
        assert answer.reason
        assert "\n" not in answer.reason
        if not answer.good and last is not None:
            assert replace(answer, good=True, reason="") == replace(last, good=True, reason="")
        last = answer


@pytest.mark.parametrize("field", ["rows", "seconds", "nominal", "fixed", "cost", "dropped"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_a_number_that_cannot_be_is_named_and_changes_nothing(field, value):
    control = SeamlessBatches(TARGET, warmup=0)
    good = control.step(replace(BATCH, rows=9e5))
    bad = control.step(replace(BATCH, **{field: value}))
    assert good.sheds
    assert (bad.keep, bad.load, bad.good) == (good.keep, good.load, False)
    assert f"{field} = {value}" in bad.reason
    assert control.step(replace(BATCH, rows=9e5)).good


def test_the_law_puts_both_poles_where_it_says():
    law = Feedback()
    assert (law.a, law.b0, law.b1) == pytest.approx((-0.8, 0.4, -0.31))
    # (z - 1)(z + a) + b0 z + b1
    poles = np.roots([1, law.a - 1 + law.b0, law.b1 - law.a])
    assert poles == pytest.approx([0.7, 0.7], abs=1e-6)


def test_the_delay_comes_to_the_target_as_the_poles_say():
    law, delay = Feedback(), 0.0
    delays = []
    for _ in range(30):
        growth = law.ask(TARGET - delay)
        law.got(growth, delay)
        delay += growth
        delays.append(delay)
    assert delays[-1] == pytest.approx(TARGET, abs=1e-3)
    assert max(delays) < TARGET * 1.25


@pytest.mark.parametrize("name", ["ctrl", "seamless"])
def test_an_hour_without_load_is_not_wound_up(name):
    """Were it, the queue could grow for as long again before anything is shed."""
    control = PERIODS[name]()
    for _ in range(7200):
        assert not control.step(Period(seconds=0.5, demand=0.1, admitted=0.1, queued=0.0)).sheds
    queued = 2 * TARGET
    answer = control.step(
        Period(seconds=0.5, demand=5, admitted=queued, queued=queued, rows_in=queued / 0.01)
    )
    assert answer.keep == FLOOR


def test_aurora_does_not_look_at_what_waits():
    short, long = (Aurora(0.9).step(replace(PERIOD, queued=queued)) for queued in (0.0, 1e6))
    assert short == long
    assert short.keep == pytest.approx(0.9 * 0.5 / 1.5)


def test_the_paper_divides_the_headroom_by_how_far_response_times_are_off():
    headroom = ResponseTimes(initial=0.8, every=3)
    shedding = replace(PERIOD, shed=True, response=4.0)
    for _ in range(10):  # periods without shedding do not count
        assert headroom.learn(replace(PERIOD, response=9.0), TARGET) == 0.8
    assert [headroom.learn(shedding, TARGET) for _ in range(3)] == [0.8, 0.8, 0.4]


def test_work_done_is_counted_only_while_there_is_work():
    headroom = WorkDone(initial=0.8)
    busy = Period(seconds=1, demand=1, admitted=0.5, queued=5.0)
    headroom.learn(replace(busy, queued=0.0), TARGET)
    assert headroom.learn(replace(busy, queued=0.0), TARGET) == 0.8
    headroom.learn(busy, TARGET)
    assert headroom.learn(busy, TARGET) == 0.5


@st.composite
def networks(draw):
    names = [f"o{i}" for i in range(draw(st.integers(1, 7)))]
    numbers = st.floats(0, 3)
    feeds = {
        name: draw(st.lists(st.sampled_from(names[i + 1 :]), unique=True, max_size=3))
        for i, name in enumerate(names[:-1])
    }
    return (
        {name: draw(numbers) for name in names},
        {name: draw(numbers) for name in names},
        feeds,
    )


@given(networks())
def test_coefficients_follow_a_row_down_every_path(network):
    costs, selectivities, feeds = network

    def work(name, rows):  # naive: each path by itself
        below = (work(child, rows * selectivities[name]) for child in feeds.get(name, ()))
        return rows * costs[name] + sum(below)

    found = coefficients(costs, selectivities, feeds)
    assert found == pytest.approx({name: work(name, 1.0) for name in costs})
    assert queued_load(dict.fromkeys(costs, 2.0), found) == pytest.approx(2 * sum(found.values()))


loads = st.floats(0.01, 10)


@given(load=loads, rows=st.floats(1e3, 1e7), dropped=st.floats(0, 0.9))
def test_what_is_kept_brings_the_load_that_is_allowed(load, rows, dropped):
    batch = replace(BATCH, dropped=dropped * BATCH.cost)
    keep = batch.keep(load, rows)
    if FLOOR < keep < 1:
        assert batch.load(keep, rows) == pytest.approx(load)
    elif keep == 1:
        assert rows * batch.cost <= load * (1 + 1e-9)
    else:
        assert batch.load(FLOOR, rows) >= load * (1 - 1e-9)


def test_one_slow_batch_is_an_accident_and_two_are_a_slower_machine():
    pace, even = Pace(), replace(BATCH, nominal=1.0, seconds=1.0)
    for _ in range(9):
        pace.learn(even)
    pace.learn(replace(even, seconds=3.0))
    assert pace.value == 1.0
    pace.learn(even)
    pace.learn(replace(even, seconds=2.0))
    pace.learn(replace(even, seconds=2.0))
    assert pace.value == 0.5


def test_what_the_cost_model_has_learnt_is_not_corrected_twice():
    pace = Pace()
    for _ in range(9):  # the model believes half of the truth
        pace.learn(replace(BATCH, nominal=0.5, seconds=1.0, fixed=0.25, cost=5e-6))
    assert pace.value == 0.5
    pace.learn(replace(BATCH, nominal=1.0, seconds=1.0, fixed=0.5, cost=1e-5))
    assert pace.value == pytest.approx(1.0)


def test_a_batch_is_told_how_many_rows_wait_or_reckons_from_the_rate():
    assert BATCH.coming(0.0) == 1e5
    assert replace(BATCH, overhead=0.5).coming(0.0) == 1.5e5
    assert replace(BATCH, waiting=7e5).coming(0.0) == 7e5
    assert replace(BATCH, waiting=7e5, overhead=0.5).coming(0.0) == 7.5e5
    assert replace(BATCH, waiting=7e5).coming(3.0) == 9e5
    assert replace(BATCH, collected=None).rate is None
    assert replace(BATCH, collected=None, waiting=7e5).rate == 7e5


def test_the_next_batch_may_do_what_fits_into_half_the_target():
    control = SeamlessBatches(1.95, warmup=0)
    answer = control.step(replace(BATCH, rows=3e5))
    # Rows were collected for one second and may take one, or three hundredths less, which costs one
    # and a half of the work: about half a second is left for it.
    best = 1 / 1.03
    load = best + 0.475 * (best - 1) - 0.5
    assert answer.load == pytest.approx(load)
    assert answer.demand == pytest.approx(3.0)
    assert answer.share == pytest.approx(load / 3)
    assert answer.keep == pytest.approx((load / 3e5 - 1e-6) / 9e-6)
    assert answer.overload == pytest.approx(3 / (1 - 0.5 / best))
    for number in ("300,000 rows", "headroom 1", "0.957 s may be", "1.95 s", "6.19 times"):
        assert number in answer.reason


def test_a_batch_that_is_far_too_long_does_not_fit_and_nor_does_one_of_several_late_ones():
    far, long = replace(BATCH, seconds=2.0, response=3.0), replace(BATCH, seconds=1.2, response=2.1)
    control = SeamlessBatches(1.95, warmup=0)
    control.step(far)
    assert control.fits(far) < 0.5
    control = SeamlessBatches(1.95, warmup=0)
    found = []
    for batch in (long, long, long, replace(long, response=1.9), *[long] * 5):
        control.step(batch)
        found.append(control.fits(batch))
    # One in time is enough for it to be an accident; and what has gone has time to show.
    assert [fits < 1 for fits in found] == [False] * 7 + [True, False]
    assert 0.5 < min(found) < 0.95


@pytest.mark.parametrize(
    ("rates", "times"),
    [
        ((1, 1, 1), 1.0),
        ((1, 1, 4), 1.0),  # a jump
        ((1, 1.5, 2.25), 1.5),
        ((1, 3, 9), 2.0),  # nobody believes that it goes on like this
        ((1, 2, 1), 1.0),
        ((1, 1.05, 1.1), 1.0),  # it varies
    ],
)
def test_what_has_risen_twice_rises_on(rates, times):
    control, fixed = SeamlessBatches(1e3, warmup=0), SeamlessBatches(1e3, warmup=0, steepest=1.0)
    for rate in rates:
        batch = replace(BATCH, rows=1e5 * rate)
        answer, plain = control.step(batch), fixed.step(batch)
    assert answer.demand == pytest.approx(times * plain.demand)
    assert answer.overload == plain.overload  # that is of now


def test_where_rows_cost_most_of_the_time_one_aims_below_the_target():
    def planned(fixed: float) -> float:
        answer = SeamlessBatches(1.95, warmup=0).step(replace(BATCH, rows=3e5, fixed=fixed))
        return answer.load + fixed

    assert planned(0.0) == pytest.approx(0.8 - 0.475 * 0.2)
    assert planned(0.5) > planned(0.1) > planned(0.01) >= planned(0.0)


@given(
    seconds=st.floats(0.5, 20.0),
    overload=st.floats(1.1, 10.0),
    fixed=st.floats(0.0, 0.8),
)
def test_what_lasts_has_batches_in_time_again_in_three(seconds, overload, fixed):
    """
    collected  8 s │ 3 s │ 2 s │        with the share that is found the third is in time,
    takes      3 s │ 2 s │ 1.5 s        and with a little more it is not
    """
    target, cost = 4.0, 1e-6
    rate = overload / cost
    batch = Batch(
        rows=rate * seconds,
        collected=seconds,
        seconds=seconds,
        nominal=seconds,
        fixed=fixed,
        cost=cost,
    )
    control = SeamlessBatches(target, warmup=100)  # headroom stays 1

    def third(share):
        period, times = seconds, []
        for _ in range(3):
            takes = fixed + rate * period * share * cost
            times.append(0.95 * period + takes)
            period = takes
        return min(times)

    soon = control.step(batch).soon
    if soon < 1:
        assert third(soon + 1e-3) > target
    if soon > 0:
        assert third(soon) <= target


def test_a_target_below_what_an_empty_batch_takes_does_not_stop_the_stream():
    answer = SeamlessBatches(0.2, warmup=0).step(replace(BATCH, rows=3e5))
    assert answer.good
    assert FLOOR <= answer.keep < 0.1


def test_a_trigger_that_is_slower_than_the_target_does_not_stop_the_stream():
    control = SeamlessBatches(1.0, interval=5.0, warmup=0)
    answer = control.step(replace(BATCH, fixed=0.0, rows=3e5))
    assert answer.good
    assert FLOOR <= answer.keep < 0.1


@pytest.mark.parametrize("wrong", [{"target": 0}, {"target": -1.0}, {"target": math.nan}])
def test_a_target_must_be_a_time(wrong):
    for make in (SeamlessBatches, Seamless):
        with pytest.raises(ValueError, match="target must be a finite number above 0"):
            make(**wrong)
