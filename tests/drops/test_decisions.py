"""Window drops: no gap above B whatever p does, nothing comes back, no answer is wrong."""

from dataclasses import dataclass
from itertools import count, pairwise
from math import lcm

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.drops.advance import advance, shut
from penstock.drops.arrays import early, suppressed
from penstock.drops.cells import MOST
from penstock.drops.coins import coin
from penstock.drops.decisions import Decisions, Run, ordered
from penstock.drops.plan import Arc, Plan, WindowDrop
from penstock.drops.targets import Target, Units
from penstock.errors import SpecificationError, UsageError
from penstock.windows import (
    Kind,
    landmark,
    last_closed,
    rows,
    sliding,
    tumbling,
    wids_at,
    window_bounds,
    window_end,
)
from tests.drops.naive_decisions import dropped_ids, longest_gap, may_be_dropped
from tests.strategies import specs

ARC = Arc("packets", "all")


@dataclass(frozen=True)
class Step:
    newest: int
    lag: int
    ahead: int
    p: float
    closed: bool = False


steps = st.builds(
    Step,
    newest=st.integers(0, 40),  # how far the newest row moves
    lag=st.integers(0, 30),
    ahead=st.integers(0, 60),
    p=st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]),
)
windows = specs(Kind.SLIDING, Kind.TUMBLING, Kind.CUMULATIVE)


@st.composite
def several(draw):
    found = draw(st.lists(windows, min_size=1, max_size=3))
    gaps = draw(st.lists(st.integers(0, 7), min_size=len(found), max_size=len(found)))
    return [
        Target(f"q{i}", window, gap)
        for i, (window, gap) in enumerate(zip(found, gaps, strict=True))
    ]


def plan_of(targets, p, batch=None):
    slide = lcm(*(target.window.slide for target in targets))
    fits = min(target.max_gap // (slide // target.window.slide) for target in targets)
    names = tuple(target.name for target in targets)
    return Plan(windows=(WindowDrop(ARC, slide, slide, p, batch or max(fits, 1), names),))


def run(targets, script, *, seed=0, state=None, groups=None):
    """The states after each step, and the watermark of each."""
    state, newest, mark = state or Decisions(), 0, None
    by_name = {target.name: target for target in targets}
    found = []
    for number, step in enumerate(script):
        newest += step.newest
        mark = max(mark, newest - step.lag) if mark is not None else newest - step.lag
        parts = groups(number) if groups else [targets]
        plan = Plan(windows=tuple(plan_of(part, step.p).windows[0] for part in parts))
        state = advance(
            state,
            plan,
            by_name,
            seed=seed,
            watermark=mark,
            newest=newest,
            ahead=step.ahead,
            by=number,
        )
        found.append((state, newest))
    return found


def ever_dropped(states, target):
    """What is suppressed when its watermark comes: the decision in force while it was open."""
    found = set()
    for state, _ in states:
        mark = state.watermark
        found |= {
            w
            for w in dropped_ids(state, target)
            if mark is None or window_end(w, target.window) > mark
        }
    return found


@given(several(), st.lists(steps, max_size=12), st.integers(0, 5))
def test_no_gap_is_longer_than_tolerated_whatever_p_does(targets, script, seed):
    states = run(targets, script, seed=seed)
    for target in targets:
        assert longest_gap(ever_dropped(states, target)) <= target.max_gap


@given(several(), st.lists(steps, max_size=12), st.integers(0, 5))
def test_gaps_hold_when_queries_are_put_together_anew_for_every_batch(targets, script, seed):
    def groups(number):
        cut = number % (len(targets) + 1)
        return [part for part in (targets[:cut], targets[cut:]) if part]

    states = run(targets, script, seed=seed, groups=groups)
    for target in targets:
        assert longest_gap(ever_dropped(states, target)) <= target.max_gap


@given(several(), st.lists(steps, min_size=2, max_size=12))
def test_a_dropped_window_stays_dropped_until_it_is_closed(targets, script):
    for (before, _), (after, _) in pairwise(run(targets, script)):
        for target in targets:
            kept = dropped_ids(before, target) - dropped_ids(after, target)
            assert all(window_end(w, target.window) <= after.watermark for w in kept)


@given(several(), st.lists(steps, min_size=1, max_size=12))
def test_rows_are_dropped_early_if_and_only_if_all_of_their_windows_are_dropped(targets, script):
    for state, newest in run(targets, script):
        flags = early(state, targets)
        times = range(newest - 60, newest + 120)
        assert [flags.at(t) for t in times] == may_be_dropped(times, state, targets)


@given(several(), st.lists(steps, min_size=1, max_size=12))
def test_no_window_that_is_delivered_has_lost_a_row(targets, script):
    """A stream with a row at every instant, in any order: whatever was dropped is suppressed."""
    states = run(targets, script)
    lost: dict[str, set[int]] = {target.name: set() for target in targets}
    for state, newest in states:
        flags = early(state, targets)
        for t in range(newest - 60, newest + 120):
            for target in targets if flags.at(t) else ():
                lost[target.name] |= set(wids_at(t, target.window))
    for target in targets:
        for w in lost[target.name]:
            end = window_end(w, target.window)
            last = [state for state, _ in states if state.watermark < end][-1]
            assert suppressed(last, target).at(end)


@given(several(), st.lists(steps, max_size=8), st.integers(0, 5))
def test_a_replay_and_a_restart_decide_the_same(targets, script, seed):
    states = run(targets, script, seed=seed)
    assert states == run(targets, script, seed=seed)
    for state, _ in states:
        assert Decisions.from_json(state.to_json()) == state


@given(several(), st.lists(steps, max_size=8))
def test_suppressed_windows_are_those_that_are_dropped_and_open(targets, script):
    for state, _ in run(targets, script):
        for target in targets:
            flags = suppressed(state, target)
            for w in range(-30, 80):
                end = window_end(w, target.window)
                wanted = w in dropped_ids(state, target) and end > state.watermark
                assert flags.at(end) == wanted


@pytest.mark.parametrize("p", [0.1, 0.3, 0.6, 0.95])
@pytest.mark.parametrize("batch", [1, 2, 6])
def test_in_the_long_run_the_share_of_p_is_dropped_as_far_as_the_gap_allows(p, batch):
    target = Target("n", sliding(30, 10, on="ts"), batch)
    states = run([target], [Step(3000, 40, 3000, p)] * 120)
    stop = last_closed(states[-1][0].watermark, target.window)
    share = len({w for w in ever_dropped(states, target) if 0 <= w < stop}) / stop
    assert share == pytest.approx(min(p, batch / (batch + 1)), abs=0.015)


def test_after_two_dropped_batches_one_window_is_opened_and_made_up_for_later():
    # Coins that are known to fall drop, drop, keep, keep: seed found by trying.
    key = "10: n"
    seed = next(
        s
        for s in count()
        if [coin(s, key, k) < 0.5 for k in range(4)] == [True, True, False, False]
    )
    target = Target("n", tumbling(10, on="ts"), 3)
    ((state, _),) = run([target], [Step(0, 0, 119, 0.5)], seed=seed)
    #  0  1  2  3  4  5  6  7  8  9 10 11
    #  x  x  x  o  x  x  x? -> 6 is the one that makes up for 3: then 7 stays open
    assert sorted(dropped_ids(state, target)) == [0, 1, 2, 4, 5, 6]
    assert state.frontiers[key].debt == 0


def test_when_p_rises_an_open_window_is_revoked_and_a_future_one_only_dropped():
    target = Target("n", sliding(60, 10, on="ts"), 100)
    calm, hot = Step(100, 20, 50, 0.0), Step(0, 20, 50, 1.0)
    state, newest = run([target], [calm, hot])[-1]
    assert newest == 100
    for w in dropped_ids(state, target):
        start, end = window_bounds(w, target.window)
        assert end > newest
        assert state.run_of("n", w).revoked == (start <= newest)
    assert {run.by for run in state.runs("n")} == {1}


def test_p_of_zero_drops_nothing_further():
    target = Target("n", tumbling(10, on="ts"), 3)
    states = run([target], [Step(100, 0, 100, 1.0)] + [Step(100, 0, 100, 0.0)] * 5)
    assert dropped_ids(states[0][0], target)
    assert early(states[-1][0], [target]).flags == suppressed(states[-1][0], target).flags == ()


def test_a_row_that_is_in_no_window_of_one_query_is_up_to_the_other():
    #  a |-|  |-|  |-|        b |----|----|
    a, b = Target("a", sliding(2, 5, on="ts"), 9), Target("b", tumbling(5, on="ts"), 9)
    flags = early(Decisions(dropped={"b": (Run(1, 1),)}), [a, b])
    assert [t for t in range(20) if flags.at(t)] == [5, 6, 7]
    assert early(Decisions(dropped={"a": (Run(1, 1),)}), [a, b]).flags == ()


def test_a_window_that_is_closed_is_not_dropped_any_more():
    # Heartbeats may bring the watermark ahead of the newest row.
    slow, fast = Target("slow", tumbling(30, on="ts"), 9), Target("fast", tumbling(10, on="ts"), 9)
    state, newest = run([slow, fast], [Step(95, -15, 100, 1.0)])[-1]
    assert (newest, state.watermark) == (95, 110)
    assert min(dropped_ids(state, slow)) == 3  # [90, 120)
    assert min(dropped_ids(state, fast)) == 11  # [110, 120): those before it are closed


def test_decisions_stay_small_when_time_leaps_by_years():
    target = Target("n", sliding(3_600_000_000, 1_000_000, on="ts"), 10)
    year = 365 * 86_400_000_000
    state, _ = run([target], [Step(0, 0, 10**7, 0.5), Step(50 * year, 10**7, 10**7, 0.5)])[-1]
    assert len(state.runs("n")) < 1000
    # The watermark has not followed yet: what is dropped stays so, and nothing more is.
    first, second = run([target], [Step(0, 0, 10**7, 0.5), Step(50 * year, 50 * year, 10**7, 0.5)])
    assert second[0].dropped == first[0].dropped
    assert len(suppressed(second[0], target).flags) < 5000
    flags = early(Decisions(dropped={"n": (Run(0, 200_000),)}), [target])
    assert len(flags.flags) <= MOST
    assert flags.at(10_000_000_000)


def test_a_wider_cell_is_dropped_only_if_all_windows_in_it_are(monkeypatch):
    monkeypatch.setattr("penstock.drops.cells.MOST", 4)
    target = Target("n", sliding(6, 2, on="ts"), 100)
    state = Decisions(dropped={"n": (Run(5, 15), Run(17, 40))})
    flags = early(state, [target])
    assert len(flags.flags) <= 4
    assert any(flags.flags)
    for t, allowed in enumerate(may_be_dropped(range(120), state, [target])):
        assert not flags.at(t) or allowed


def test_a_closed_query_loses_every_window_and_those_that_began_stay_lost():
    target = Target("n", sliding(60, 10, on="ts"), 1)
    arguments = {"seed": 0, "newest": 100, "ahead": 50, "watermark": 80}
    state = advance(Decisions(), Plan(closed=("n",)), {"n": target}, by=3, **arguments)
    assert early(state, [target]).at(149)
    assert all(suppressed(state, target).at(end) for end in range(90, 210, 10))
    assert not suppressed(state, target).at(220)
    again = advance(state, Plan(), {"n": target}, by=4, **arguments)
    assert again.dropped == state.dropped
    assert shut(again, target, newest=100, until=150, by=5).dropped == state.dropped


def test_the_tolerance_may_change_between_batches():
    window = tumbling(10, on="ts")
    wide, narrow = (Target("n", window, gap) for gap in (6, 2))
    first, _ = run([wide], [Step(100, 0, 50, 1.0)])[-1]
    states = run([narrow], [Step(step, 0, 50, 1.0) for step in (150, 50, 50, 50)], state=first)
    beyond = {w for w in ever_dropped(states, narrow) if w >= 18}
    assert beyond
    assert longest_gap(beyond) <= 2


@given(windows, st.integers(1, 6), st.integers(-50, 50))
def test_each_window_belongs_to_one_unit(window, times, w):
    units = Units(window, window.slide * times)
    assert w in units.windows(units.unit(w))
    assert len(units.windows(7)) == times
    if window.period is None:
        begin = window_end(w, window) - window.range
        assert units.unit(w) == begin // units.slide


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), unique_by=lambda pair: pair[0]))
def test_runs_are_put_in_order_and_together(pairs):
    runs = ordered(Run(w, w, 1, revoked) for w, revoked in pairs)
    assert sorted((w, r.revoked) for r in runs for w in range(r.first, r.last + 1)) == sorted(pairs)
    for a, b in pairwise(runs):
        assert a.last + 1 < b.first or a.revoked != b.revoked


def test_what_cannot_be_is_refused():
    for window in (landmark(5, on="ts"), rows(5, 5)):
        with pytest.raises(SpecificationError, match="sliding, tumbling or cumulative"):
            Target("n", window, 3)
    with pytest.raises(SpecificationError, match="max_gap must be a whole number"):
        Target("n", tumbling(5, on="ts"), -1)
    with pytest.raises(SpecificationError, match="multiple of the slide"):
        Units(tumbling(5, on="ts"), 7)
    with pytest.raises(SpecificationError, match="in order, and apart"):
        Decisions(dropped={"n": (Run(3, 4), Run(4, 5))})
    with pytest.raises(UsageError, match="may not be dropped"):
        run([], [Step(1, 0, 1, 1.0)], groups=lambda _: [[Target("n", tumbling(5, on="ts"), 2)]])


@pytest.mark.parametrize("window", [sliding(60, 10, on="ts"), tumbling(25, on="ts", origin=3)])
def test_the_windows_that_have_begun_are_those_with_a_row_up_to_the_newest(window):
    newest = 1_000
    state = Decisions(suppress_until=newest + 1)
    for w in range(200):
        start, _ = window_bounds(w, window)
        assert start is not None
        assert state.is_lost(window, w) == (start <= newest)
        assert not Decisions().is_lost(window, w)
