"""Aggregates over aggregates, against windows that are looked at one by one."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.drops.arrays import early
from penstock.drops.decisions import Decisions, Run, ordered
from penstock.drops.nested import droppable_below, suppressed_above
from penstock.drops.targets import Target
from penstock.windows import Kind, sliding, tumbling, wids_at, window_end
from tests.strategies import specs

windows = specs(Kind.SLIDING, Kind.TUMBLING, Kind.CUMULATIVE)
dropped = st.sets(st.integers(-10, 30), max_size=35).map(lambda s: ordered(Run(w, w) for w in s))


def ids(runs):
    return {w for run in runs for w in range(run.first, run.last + 1)}


@given(windows, st.lists(st.tuples(windows, dropped), min_size=1, max_size=2), st.none() | dropped)
def test_below_a_window_may_be_dropped_if_every_window_above_that_needs_it_is(lower, uppers, own):
    found = ids(droppable_below(lower, uppers, own))
    above, mine = [(upper, ids(runs)) for upper, runs in uppers], ids(own or ())
    for w in range(-100, 200):
        gone = [u in missing for upper, missing in above for u in _above(w, lower, upper)]
        free = bool(gone) and all(gone) and (own is None or w in mine)
        assert (w in found) == free


@given(windows, dropped, windows)
def test_above_every_window_with_a_missing_answer_is_suppressed(lower, runs, upper):
    wrong = {u for w in ids(runs) for u in _above(w, lower, upper)}
    assert ids(suppressed_above((lower, runs), upper)) == wrong


@given(windows, windows, dropped)
def test_what_may_go_below_makes_nothing_wrong_above_but_what_is_dropped(lower, upper, runs):
    below = droppable_below(lower, [(upper, runs)])
    assert ids(suppressed_above((lower, below), upper)) <= ids(runs)


def test_rows_of_three_levels_are_dropped_early():
    #  minutes of seconds, five minutes by minute, hours: the hour from 3600 on is dropped
    minute, five, hour = tumbling(60, on="ts"), sliding(300, 60, on="ts"), tumbling(3600, on="ts")
    fives = droppable_below(five, [(hour, (Run(1, 1),))])
    minutes = droppable_below(minute, [(five, fives)])
    flags = early(Decisions(dropped={"m": minutes}), [Target("m", minute, 99)])
    # Answers of five minutes that end in the hour have rows from up to 4 minutes before it; what
    # is in the last 4 minutes of the hour is also in answers that end in the next one.
    assert (flags.base, flags.base + len(flags.flags) * 60) == (3600, 7200 - 240)


def _above(w, lower, upper):
    return wids_at(window_end(w, lower) - 1, upper)
