"""How a query stands: what dropping all of its open windows would do, and when one must stay."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.drops.advance import advance
from penstock.drops.arrays import Flags
from penstock.drops.decisions import Decisions, Run, ordered
from penstock.drops.plan import Arc, Plan, WindowDrop
from penstock.drops.standing import standing
from penstock.drops.targets import Target, last_of
from penstock.windows import Kind, first_wid, tumbling
from tests.drops.naive_decisions import dropped_ids
from tests.strategies import specs

ARC = Arc("packets", "all")


@st.composite
def moments(draw):
    """A query, what was dropped before, and a moment."""
    window = draw(specs(Kind.SLIDING, Kind.TUMBLING))
    gap = draw(st.integers(0, 7))
    newest, ahead = draw(st.integers(0, 120)), draw(st.integers(1, 60))
    first = first_wid(newest, window)
    some = draw(st.sets(st.integers(first - 8, first + 3), max_size=gap))
    state = Decisions(dropped={"n": ordered(Run(w, w) for w in some)})
    return Target("n", window, gap), state, newest, ahead


def planned(target, p):
    slide = target.window.slide
    return Plan(windows=(WindowDrop(ARC, slide, slide, p, max(1, target.max_gap), ("n",)),))


def after(target, state, newest, ahead, p):
    plan = planned(target, p) if p else Plan()
    arguments = {"seed": 0, "watermark": None, "newest": newest, "ahead": ahead, "by": 1}
    return advance(state, plan, {"n": target}, **arguments)


@given(moments())
def test_one_that_is_held_keeps_a_window_when_all_are_to_be_dropped(moment):
    target, state, newest, ahead = moment
    found = standing(state, target, newest=newest, until=newest + ahead)
    first, last = first_wid(newest, target.window), last_of(newest + ahead, target)
    dropped = dropped_ids(after(target, state, newest, ahead, 1.0), target)
    assert found.held == any(w not in dropped for w in range(first, last + 1))


@given(moments())
def test_so_many_more_may_be_missing_as_it_says(moment):
    target, state, newest, ahead = moment
    found = standing(state, target, newest=newest, until=newest + ahead)
    last = last_of(newest + ahead, target)
    dropped = dropped_ids(after(target, state, newest, ahead, 1.0), target)
    missing = 0
    while last - missing in dropped:
        missing += 1
    if first_wid(newest, target.window) <= last:
        assert found.left == max(0, target.max_gap - missing)
    assert found.deadline == (0 if found.held else found.left * target.window.slide / 1e6)


@given(moments())
def test_what_begins_later_than_rows_can_come_is_not_decided(moment):
    """So a query is open again from there on, as soon as nothing more is to be dropped."""
    target, state, newest, ahead = moment
    before = dropped_ids(state, target)
    for p in (1.0, 0.0):
        state = after(target, state, newest, ahead, p)
        new = dropped_ids(state, target) - before
        assert all(w <= last_of(newest + ahead, target) for w in new)


@given(
    st.integers(-50, 50),
    st.integers(1, 9),
    st.lists(st.booleans(), max_size=9),
    st.integers(-60, 120),
    st.integers(1, 40),
)
def test_the_share_of_a_stretch_that_is_dropped(base, step, marks, since, length):
    flags = Flags(base, step, tuple(marks))
    naive = sum(flags.at(t) for t in range(since, since + length)) / length
    assert abs(flags.share(since, since + length) - naive) < 1e-9


def test_time_may_leap():
    target = Target("n", tumbling(10, on="ts"), 5)
    found = standing(Decisions(), target, newest=0, until=10**15)
    assert found.held
