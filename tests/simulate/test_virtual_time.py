"""The simulator itself: what can be reckoned by hand comes out of it."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control import Period, Seamless, SeamlessBatches
from penstock.errors import SpecificationError
from penstock.simulate import (
    Arrivals,
    Box,
    Boxes,
    Engine,
    Machine,
    flat,
    least_loss,
    least_loss_in_batches,
    least_loss_steady,
    run_batches,
    run_fluid,
    run_tuples,
    shared,
    steps,
)
from penstock.simulate.fluid import Fluid
from penstock.simulate.record import weighted_quantile

pieces = st.lists(st.tuples(st.floats(0.5, 20), st.floats(0.1, 3)), min_size=1, max_size=5)


def machine_of(parts):
    starts = np.cumsum([0.0, *(length for length, _ in parts[:-1])])
    return Machine(tuple(zip(starts.tolist(), (speed for _, speed in parts), strict=True)))


@given(parts=pieces, start=st.floats(0, 50), work=st.floats(0.001, 50))
def test_work_ends_when_the_machine_has_done_as_much(parts, start, work):
    machine = machine_of(parts)
    end = machine.end(start, work)
    before, after = machine.capacity(np.array([start, end]))
    assert after - before == pytest.approx(work)


@pytest.mark.parametrize("oldest_first", [False, True])
def test_two_rows_wait_for_each_other(oldest_first):
    """One box that takes a second: the second row waits until the first is done."""
    found = run_tuples(
        flat(1, 1.0),
        np.array([0.0, 0.5, 10.0]),
        None,
        period=1.0,
        machine=Machine(),
        until=20.0,
        oldest_first=oldest_first,
    )
    assert found.response.tolist() == [1.0, 1.5, 1.0]


def test_the_schedulers_differ_where_one_box_gets_more_rows():
    """Two rows come; in a round robin the second is worked on before the first is done.

    source ─► join (2 rows for each) ─► answer
    """
    network = Boxes(
        (Box("source", 1.0), Box("join", 1.0, 2.0, ("source",)), Box("answer", 1.0, 1.0, ("join",)))
    )
    rows = np.array([0.0, 0.0])
    run = partial(run_tuples, network, rows, None, period=1.0, machine=Machine(), until=20.0)
    turns, oldest = run(), run(oldest_first=True)
    assert sorted(turns.response.tolist()) == [3, 6, 7, 8]
    assert sorted(oldest.response.tolist()) == [3, 4, 7, 8]


def test_a_row_through_three_boxes_takes_the_sum():
    found = run_tuples(
        flat(3, 0.6), np.array([1.0]), None, period=1.0, machine=Machine(((0, 0.5),)), until=5.0
    )
    assert found.response.tolist() == pytest.approx([1.2])


@pytest.mark.parametrize("selectivity", [0.3, 1.0, 1.7])
def test_as_many_rows_come_out_as_selectivities_say(selectivity):
    network = Boxes((Box("a", 1e-4, selectivity), Box("b", 1e-4, 1.0, ("a",))))
    found = run_tuples(
        network, np.linspace(0, 10, 5000), None, period=1.0, machine=Machine(), until=11.0
    )
    assert found.weight.sum() == pytest.approx(5000 * selectivity, rel=0.05)


class Recorder:
    """Decides nothing, and remembers what it saw."""

    def __init__(self, keep=1.0):
        self.seen = []
        self.control = Seamless(1e9)

    def step(self, seen):
        self.seen.append(seen)
        return self.control.step(seen)


@pytest.mark.parametrize("network", [flat(3, 0.01), shared(4, 2, 0.01)])
def test_work_is_neither_made_nor_lost(network):
    """What waits is what came in less what was done: as long as there is work, all the time."""
    tuples, fluid, arrivals = Recorder(), Recorder(), steps([(20, 200)], slot=0.05)
    machine = Machine(((0, 0.8),))
    run_tuples(
        network,
        arrivals.times(np.random.default_rng(3)),
        tuples,
        period=0.5,
        machine=machine,
        until=20.0,
    )
    run_fluid(network, arrivals, fluid, machine=machine, every=10)
    for recorder in (tuples, fluid):
        came = sum(seen.admitted for seen in recorder.seen)
        time = sum(seen.seconds for seen in recorder.seen)
        assert recorder.seen[-1].queued == pytest.approx(came - 0.8 * time, rel=0.05)


@given(
    rows=st.lists(st.floats(0, 30), min_size=1, max_size=30),
    seconds=st.floats(0.01, 2),
)
def test_the_fluid_uses_the_time_that_there_is(rows, seconds):
    network = Boxes(
        (
            Box("source", 0.01, 0.9),
            Box("left", 0.02, 0.5, ("source",)),
            Box("right", 0.01, 2.0, ("source",)),
            Box("both", 0.03, 1.0, ("left", "right")),
        )
    )
    fluid = Fluid(network)
    for come in rows:
        before = fluid.queued + come * network.cost
        fluid.work(come, seconds)
        assert np.all(fluid.waiting >= 0)
        done = before - fluid.queued
        assert done == pytest.approx(min(before, seconds), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("times", [0.7, 2, 5])
def test_the_fluid_agrees_with_the_rows(times):
    network, machine = shared(8, 2, 0.01), Machine(((0, 0.97),))
    arrivals = steps([(10, 70), (40, times * 97)], slot=0.05)
    fluid = run_fluid(network, arrivals, Seamless(2.0), machine=machine, every=10)
    rows = run_tuples(
        network,
        arrivals.times(np.random.default_rng(1)),
        Seamless(2.0),
        period=0.5,
        machine=machine,
        until=50.0,
    )
    assert fluid.loss == pytest.approx(rows.loss, abs=0.02)
    assert fluid.mean(15) == pytest.approx(rows.mean(15), abs=0.2)


def test_the_same_seed_gives_the_same_run():
    arrivals = steps([(20, 200)])
    rows = arrivals.times(np.random.default_rng(1))
    engine = Engine(fixed=0.5, cost=0.01, noise=0.1)
    run = partial(run_tuples, flat(3, 0.01, 0.8), rows, period=0.5, machine=Machine(), until=20.0)
    one, same, other = (run(controller=Seamless(2.0), seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.response, same.response)
    assert not np.array_equal(one.response, other.response)
    one, same, other = (
        run_batches(engine, arrivals, SeamlessBatches(2.0), machine=Machine(), seed=seed)
        for seed in (1, 1, 2)
    )
    assert np.array_equal(one.response, same.response)
    assert not np.array_equal(one.response, other.response)


class Once:
    """Halves what is kept after the first batch, and remembers what it was told."""

    def __init__(self):
        self.told = []
        self.control = SeamlessBatches(1e6)

    def step(self, batch):
        self.told.append(batch)
        answer = self.control.step(batch)
        return (
            answer if len(self.told) > 1 else type(answer)(load=0, demand=0, keep=0.5, headroom=1.0)
        )


def test_what_a_batch_decides_is_in_force_in_the_next():
    once = Once()
    engine = Engine(fixed=1.0, cost=0.001, tells_waiting=True)
    found = run_batches(engine, steps([(6, 100)], slot=0.01), once, machine=Machine())
    assert found.keep[:3].tolist() == [1, 0.5, 1]
    first, second = once.told[:2]
    # The first row comes, and its batch takes a second: the next has a second's rows, kept by half.
    assert first.seconds == pytest.approx(1.0, abs=0.01)
    assert second.rows == pytest.approx(100, abs=2)
    assert second.rows == pytest.approx(first.waiting, abs=2)
    assert second.seconds == pytest.approx(1.05, abs=0.01)
    # The oldest came when the first batch began: it waited for that one, and for its own.
    assert found.response[found.arrival < 1].max() == pytest.approx(2.05, abs=0.02)


def test_the_least_loss_of_a_steady_overload():
    arrivals = steps([(100, 300)], slot=0.05)
    # 3 times too much; 2 seconds' worth may wait at the end
    assert least_loss(arrivals, 0.01, Machine(), 2.0) == pytest.approx((300 - 100 - 2) / 300)
    assert least_loss(steps([(100, 90)]), 0.01, Machine(), 2.0) == 0


@pytest.mark.parametrize("times", [0.8, 1.5, 3, 8])
def test_the_best_that_can_be_done_in_batches_is_what_the_formula_says(times):
    engine = Engine(fixed=0.6, cost=5e-6, dropped=2.5e-7)
    target = 2.4
    arrivals = steps([(100, times * engine.capacity(target))], slot=0.02)
    found = least_loss_in_batches(engine, arrivals, target)
    assert found == pytest.approx(least_loss_steady(times, 0.05), abs=0.01)


@given(
    st.lists(st.tuples(st.floats(0, 10), st.integers(0, 5)), min_size=1, max_size=20),
    st.floats(0.01, 1),
)
def test_a_weighted_quantile_is_that_of_the_rows_themselves(weighted, share):
    values, weights = (np.array(part, dtype=float) for part in zip(*weighted, strict=True))
    rows = np.sort(np.repeat(values, weights.astype(int)))
    found = weighted_quantile(values, weights, share)
    if not rows.size:
        assert found == 0
        return
    assert np.sum(rows <= found) >= share * rows.size - 1e-9
    assert np.sum(rows < found) < share * rows.size + 1e-9


@pytest.mark.parametrize(
    ("boxes", "message"),
    [
        ((), "needs a box"),
        ((Box("a", 1.0, above=("b",)),), "must be fed by a box, unless it is the first"),
        ((Box("a", 1.0), Box("b", 1.0)), "must be fed by a box, unless it is the first"),
        ((Box("a", 1.0), Box("b", 1.0, 1.0, ("c",))), "must come before"),
        ((Box("a", 1.0), Box("a", 1.0, 1.0, ("a",))), "must have its own name"),
    ],
)
def test_a_network_that_cannot_be_is_refused(boxes, message):
    with pytest.raises(SpecificationError, match=message):
        Boxes(boxes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Machine(()), "must start at 0"),
        (lambda: Machine(((1.0, 1.0),)), "must start at 0"),
        (lambda: Machine(((0.0, 0.0),)), "speed must be a finite number above 0"),
        (lambda: Arrivals(0.1, np.array([])), "must be a list of numbers"),
        (lambda: Arrivals(0.1, np.array([-1.0])), "must be 0 or more"),
        (lambda: Box("a", -1.0), "cost must be a finite number, 0 or more"),
        (lambda: Engine(fixed=1.0, cost=0.0), "cost must be a finite number above 0"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(SpecificationError, match=message):
        make()


def test_an_observation_that_makes_no_sense_is_said_to():
    assert Period(seconds=0, demand=0, admitted=0, queued=0).nonsense == "seconds = 0"
