"""Each group drops windows for itself, and no list of groups is kept."""

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.drops.advance import advance
from penstock.drops.arrays import ALL, early_per_group, suppressed_per_group
from penstock.drops.coins import HASH_BITS, threshold
from penstock.drops.decisions import Decisions
from penstock.drops.per_group import is_dropped
from penstock.drops.plan import Arc, Plan, WindowDrop
from penstock.drops.targets import Target
from penstock.errors import SpecificationError
from penstock.windows import Kind, tumbling, wids_at, window_end
from tests.drops.naive_decisions import longest_gap
from tests.strategies import specs

GROUPS = "abcd"
windows = specs(Kind.SLIDING, Kind.TUMBLING, Kind.CUMULATIVE)
targets = st.builds(Target, st.just("n"), windows, st.integers(0, 6), st.just(True))
scripts = st.lists(
    st.tuples(
        st.integers(0, 40),
        st.integers(0, 30),
        st.integers(0, 60),
        st.sampled_from([0, 0.3, 0.7, 1]),
    ),
    min_size=1,
    max_size=6,
)


def hash_of(group, batch):
    digest = blake2b(f"{group} {batch}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> (64 - HASH_BITS)


def run(target, script, closed=()):
    state, newest, found = Decisions(), 0, []
    for number, (move, lag, ahead, p) in enumerate(script):
        newest += move
        drop = WindowDrop(Arc("a", "n"), 1, target.window.slide, p, 3, ("n",))
        state = advance(
            state,
            Plan(windows=(drop,), closed=closed if number == len(script) - 1 else ()),
            {"n": target},
            seed=0,
            watermark=newest - lag,
            newest=newest,
            ahead=ahead,
            by=number,
        )
        found.append((state, newest))
    return found


def dropped(state, target, group):
    """The windows of a group that are open and dropped, one by one."""
    stride = target.max_gap + 1
    return {
        w
        for w in range(-90, 400)
        if window_end(w, target.window) > state.watermark
        and is_dropped(state, target, w, hash_of(group, w // stride))
    }


@given(targets, scripts)
def test_no_group_has_a_longer_gap_than_tolerated_and_nothing_comes_back(target, script):
    states = run(target, script)
    for group in GROUPS:
        ever: set[int] = set()
        for state, _ in states:
            now = dropped(state, target, group)
            assert all(window_end(w, target.window) <= state.watermark for w in ever - now)
            ever |= now
        assert longest_gap(ever) <= target.max_gap


@given(targets, scripts, st.booleans())
def test_the_arrays_say_the_same_as_window_by_window(target, script, closed):
    state, newest = run(target, script, ("n",) if closed else ())[-1]
    panes, ends = early_per_group(state, target), suppressed_per_group(state, target)
    for group in GROUPS[:2]:
        now = dropped(state, target, group)
        for w in range(-60, 120):
            batch, least = ends.at(window_end(w, target.window))
            assert (hash_of(group, batch) < least) == (w in now)
        for t in range(newest - 30, newest + 60):
            batch, least = panes.at(t)
            windows = wids_at(t, target.window)
            if hash_of(group, batch) < least:
                assert windows
                assert set(windows) <= now
            elif not closed:
                assert not windows or not set(windows) <= now


def test_the_wanted_share_is_dropped_over_all_groups():
    target = Target("n", tumbling(10, on="ts"), 3, per_group=True)
    state, _ = run(target, [(1000, 0, 4000, 0.5)])[-1]
    ids = range(104, 404)
    share = sum(
        is_dropped(state, target, w, hash_of(group, w // 4)) for group in range(200) for w in ids
    ) / (200 * len(ids))
    assert share == pytest.approx(0.5, abs=0.01)
    assert len(state.to_json()["levels"]["n"]) == 1  # whatever the number of groups


def test_above_what_the_tolerance_allows_all_but_the_first_of_each_batch_are_dropped():
    target = Target("n", tumbling(10, on="ts"), 3, per_group=True)
    state, _ = run(target, [(1000, 0, 400, 0.9)])[-1]
    assert suppressed_per_group(state, target).thresholds[:8] == (ALL, ALL, ALL, 0) * 2


def test_a_threshold_only_rises():
    target = Target("n", tumbling(10, on="ts"), 3, per_group=True)
    states = run(target, [(100, 50, 100, 0.3), (0, 50, 0, 0.6), (0, 50, 100, 0.1)])
    seen = [state.threshold("n", 2) for state, _ in states]
    assert seen == [threshold(0.3 * 4 / 3), threshold(0.6 * 4 / 3), threshold(0.6 * 4 / 3)]


def test_the_tolerance_cannot_change_while_windows_are_dropped_by_it():
    target = Target("n", tumbling(10, on="ts"), 3, per_group=True)
    state, _ = run(target, [(100, 0, 100, 0.5)])[-1]
    drop = WindowDrop(Arc("a", "n"), 1, 10, 0.5, 3, ("n",))
    other = {"n": Target("n", tumbling(10, on="ts"), 4, per_group=True)}
    arguments = {"seed": 0, "ahead": 100, "by": 2}
    with pytest.raises(SpecificationError, match="max_gap of 'n'"):
        advance(state, Plan(windows=(drop,)), other, watermark=110, newest=110, **arguments)
    later = advance(state, Plan(), other, watermark=900, newest=900, **arguments)
    assert later.levels == {"n": ()}
    advance(later, Plan(windows=(drop,)), other, watermark=900, newest=900, **arguments)
