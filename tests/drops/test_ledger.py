"""Every window that is closed is in the ledger, once, with what became of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.drops.advance import advance
from penstock.drops.decisions import Decisions, Level, Run
from penstock.drops.ledger import Fate, entries, interpolate
from penstock.drops.plan import Arc, Plan, WindowDrop
from penstock.drops.targets import Target
from penstock.windows import Kind, tumbling, wids_at, window_end
from tests.strategies import specs

TARGET = Target("n", tumbling(10, on="ts"), 3)


def fates(state, target=TARGET, delivered=(10, 60), closed=(0, 60)):
    found = entries(target, state, delivered=delivered, closed=closed, batch=9)
    return {entry.window_end: (entry.fate, entry.decision) for entry in found}


def test_each_fate_has_its_name():
    state = Decisions(dropped={"n": (Run(2, 2, by=4), Run(3, 4, by=5, revoked=True))})
    assert fates(state) == {
        10: (Fate.DELIVERED, None),
        20: (Fate.EMPTY, None),
        30: (Fate.DROPPED, 4),
        40: (Fate.REVOKED, 5),
        50: (Fate.REVOKED, 5),
        60: (Fate.DELIVERED, None),
    }
    assert fates(Decisions(suppress_until=15), delivered=(), closed=(0, 40)) == {
        10: (Fate.LOST, None),
        20: (Fate.LOST, None),
        30: (Fate.EMPTY, None),
        40: (Fate.EMPTY, None),
    }


def test_where_nobody_was_told_what_was_delivered_a_window_is_said_to_be_kept():
    state = Decisions(dropped={"n": (Run(1, 1, by=4),)}, suppress_until=25)
    assert fates(state, delivered=None, closed=(0, 40)) == {
        10: (Fate.LOST, None),
        20: (Fate.DROPPED, 4),
        30: (Fate.LOST, None),
        40: (Fate.KEPT, None),
    }


def test_a_window_without_rows_that_stayed_may_have_had_some():
    found = entries(
        TARGET,
        Decisions(),
        delivered=[10],
        closed=(0, 40),
        batch=9,
        thinned=lambda start, end: start < 25 < end,
    )
    assert [entry.fate for entry in found] == ["delivered", "empty", "unseen", "empty"]


def test_where_time_leaps_only_windows_are_entered_that_were_delivered_or_dropped():
    state = Decisions(dropped={"n": (Run(-5, 1, by=4), Run(10**9, 10**9 + 5, by=5))})
    leap = 10 * (10**9 + 2)
    assert fates(state, delivered=(30, leap - 20), closed=(0, leap)) == {
        10: (Fate.DROPPED, 4),
        20: (Fate.DROPPED, 4),
        30: (Fate.DELIVERED, None),
        leap - 20: (Fate.DELIVERED, None),
        leap - 10: (Fate.DROPPED, 5),
        leap: (Fate.DROPPED, 5),
    }


def test_an_entry_is_a_plain_row():
    (entry,) = entries(TARGET, Decisions(), delivered=[10], closed=(0, 10), batch=9)
    assert entry.row() == {
        "query": "n",
        "window_start": 0,
        "window_end": 10,
        "fate": "delivered",
        "decision": None,
        "batch": 9,
    }


def test_a_window_without_an_answer_of_any_group_may_have_been_dropped_for_all():
    target = Target("n", TARGET.window, 3, per_group=True)
    state = Decisions(levels={"n": (Level(0, 0, 2**61, 4),)})
    assert fates(state, target, delivered=(20,), closed=(0, 50)) == {
        10: (Fate.EMPTY, None),  # the first of its batch is kept for every group
        20: (Fate.PARTLY, None),
        30: (Fate.DROPPED, None),
        40: (Fate.DROPPED, None),
        50: (Fate.EMPTY, None),
    }
    assert fates(state, target, delivered=(10,), closed=(0, 10)) == {10: (Fate.DELIVERED, None)}


def test_windows_from_before_the_stream_are_not_entered():
    target = Target("n", tumbling(10, on="ts", start=25), 3)
    assert list(fates(Decisions(), target)) == [30, 40, 50, 60]


@given(
    st.builds(
        Target,
        st.just("n"),
        specs(Kind.SLIDING, Kind.TUMBLING, Kind.CUMULATIVE),
        st.integers(0, 5),
    ),
    st.lists(
        st.tuples(st.integers(0, 30), st.sampled_from([0, 0.4, 1]), st.sets(st.integers(-9, 9))),
        max_size=8,
    ),
)
def test_every_closed_window_is_entered_once_and_is_delivered_if_kept_and_not_empty(target, script):
    """A run with a watermark of 10 behind: what each batch delivers is what it must enter."""
    state, newest, mark, seen = Decisions(), 0, -10, {}
    rows: set[int] = set()
    for batch, (move, p, offsets) in enumerate(script):
        newest += move
        rows |= {newest + offset for offset in offsets}
        before, mark = mark, max(mark, newest - 10)
        kept = {w for t in rows for w in wids_at(t, target.window)}
        kept = {w for w in kept if not state.is_dropped("n", w)}
        delivered = {window_end(w, target.window) for w in kept}
        for entry in entries(
            target, state, delivered=delivered, closed=(before, mark), batch=batch
        ):
            assert entry.window_end not in seen
            seen[entry.window_end] = entry.fate
            w = (entry.window_end - target.window.origin) // target.window.slide - 1
            dropped = entry.fate in {Fate.DROPPED, Fate.REVOKED}
            assert dropped == state.is_dropped("n", w)
            assert (entry.fate == Fate.DELIVERED) == (w in kept)
        drop = WindowDrop(Arc("a", "n"), 1, target.window.slide, p, 3, ("n",))
        state = advance(
            state,
            Plan(windows=(drop,)),
            {"n": target},
            seed=1,
            watermark=mark,
            newest=newest,
            ahead=30,
            by=batch + 1,
        )
    ends = sorted(seen)
    assert ends == list(range(min(ends, default=0), max(ends, default=-1) + 1, target.window.slide))


@given(st.lists(st.none() | st.floats(-1e6, 1e6), max_size=20))
def test_gaps_are_filled_on_a_line_and_marked(values):
    ends = [10 * i for i in range(len(values))]
    filled = interpolate(list(zip(ends, values, strict=True)))
    known = [i for i, value in enumerate(values) if value is not None]
    for i, (value, (end, found, marked)) in enumerate(zip(values, filled, strict=True)):
        assert end == 10 * i
        if value is not None:
            assert (found, marked) == (value, False)
        elif not known or i < known[0] or i > known[-1]:
            assert (found, marked) == (None, False)
        else:
            left, right = max(k for k in known if k < i), min(k for k in known if k > i)
            share = (i - left) / (right - left)
            assert found == pytest.approx(values[left] * (1 - share) + values[right] * share)
            assert marked
