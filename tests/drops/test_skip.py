"""A jump drops exactly the open windows that begin before its end, and rows that only they have."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.drops.advance import advance
from penstock.drops.arrays import early
from penstock.drops.decisions import Decisions, Run
from penstock.drops.ledger import Fate, entries
from penstock.drops.orders import undelivered
from penstock.drops.plan import Arc, Plan, WindowDrop
from penstock.drops.skip import skip
from penstock.drops.targets import Target
from penstock.windows import Kind, tumbling, wids_at, window_bounds, window_end
from tests.drops.naive_decisions import dropped_ids, may_be_dropped
from tests.strategies import specs, times

targets = st.builds(
    Target,
    st.just("n"),
    specs(Kind.SLIDING, Kind.TUMBLING, Kind.CUMULATIVE),
    st.integers(0, 5),
)


def begins(w: int, target: Target) -> int:
    """Where a window begins, as if the stream had no beginning of its own."""
    window = target.window
    if window.period is not None:
        return window.origin + w // (window.period // window.slide) * window.period
    return window_end(w, window) - (window.range or 0)


def naive(state: Decisions, target: Target, until: int, seen: int) -> set[int]:
    """Each window for itself: it was dropped, or is not closed and begins before the end."""
    mark = state.watermark if state.watermark is not None else seen
    near = range(-400, 400)
    jumped = {w for w in near if window_end(w, target.window) > mark and begins(w, target) < until}
    return dropped_ids(state, target) | jumped


@given(targets, times, st.integers(0, 30), times, st.integers(0, 9))
def test_the_windows_that_a_jump_drops(target, mark, behind, until, p):
    newest = mark + behind
    drop = WindowDrop(Arc("a", "n"), 1, target.window.slide, p / 9, 3, ("n",))
    terms = {"seed": 1, "newest": newest, "ahead": 20, "watermark": mark}
    before = advance(Decisions(), Plan(windows=(drop,)), {"n": target}, by=1, **terms)
    state = skip(before, {"n": target}, until=until, newest=newest, by=2)
    assert dropped_ids(state, target) == naive(before, target, until, newest)
    # What was dropped before stays as it was decided; what is new is skipped.
    for w in dropped_ids(state, target):
        run, old = state.run_of("n", w), before.run_of("n", w)
        assert run is not None
        if old is not None:
            assert (run.by, run.revoked, run.skipped) == (old.by, old.revoked, False)
        else:
            assert (run.by, run.revoked) == (2, begins(w, target) <= min(newest, until - 1))
            assert run.skipped
    # To ask twice changes nothing, and a record repeats it.
    assert skip(state, {"n": target}, until=until, newest=newest, by=3) == state
    assert Decisions.from_json(state.to_json()) == state


@given(targets, times, st.integers(0, 30), times)
def test_no_row_before_the_end_is_needed_and_no_later_one_is_dropped(target, mark, behind, until):
    state = Decisions(watermark=mark)
    state = skip(state, {"n": target}, until=until, newest=mark + behind, by=2)
    rows = range(mark - 5, until + 40)
    flags = early(state, [target])
    assert [flags.at(t) for t in rows] == may_be_dropped(rows, state, [target])
    for t in rows:
        windows = wids_at(t, target.window)
        if mark <= t < until and windows:
            assert flags.at(t)  # no window of it is closed, and all begin before the end
        if t >= until:
            assert not flags.at(t) or all(begins(w, target) < until for w in windows)


@given(targets, times, times)
def test_what_was_jumped_over_is_not_delivered_and_stands_in_the_ledger(target, mark, until):
    state = skip(Decisions(watermark=mark), {"n": target}, until=until, newest=mark, by=2)
    unseen = undelivered(state, target)
    for entry in entries(target, state, delivered=(), closed=(mark, mark + 60), batch=9):
        w = (entry.window_end - target.window.origin) // target.window.slide - 1
        skipped = begins(w, target) < until
        assert (entry.fate is Fate.SKIPPED) == skipped == unseen.at(entry.window_end)
        assert entry.decision == (2 if skipped else None)
        assert window_bounds(w, target.window)[1] == entry.window_end


def test_windows_after_a_jump_are_kept_until_the_gap_has_ended():
    target = Target("n", tumbling(10, on="ts"), 2)
    state = skip(Decisions(watermark=0), {"n": target}, until=100, newest=5, by=1)
    assert state.runs("n") == (Run(0, 0, 1, True, True), Run(1, 9, 1, False, True))
    drop = WindowDrop(Arc("a", "n"), 10, 10, 1.0, 2, ("n",))
    terms = {"seed": 1, "watermark": 90, "newest": 105, "ahead": 60, "by": 2}
    state = advance(state, Plan(windows=(drop,)), {"n": target}, **terms)
    assert not state.is_dropped("n", 10)
    assert state.is_dropped("n", 11)


def test_before_anything_is_read_there_is_nothing_to_jump_from():
    target = Target("n", tumbling(10, on="ts"), 2)
    assert skip(Decisions(), {"n": target}, until=95, newest=None, by=1) == Decisions()


def test_a_jump_of_centuries_is_made_in_steps():
    target = Target("n", tumbling(10, on="ts"), 2)
    state = skip(Decisions(watermark=0), {"n": target}, until=10**10, newest=5, by=1)
    assert state.runs("n")[-1].last == 200_000
    state = skip(state, {"n": target}, until=10**10, newest=5, by=2)
    assert state.runs("n")[-1].last == 200_000
