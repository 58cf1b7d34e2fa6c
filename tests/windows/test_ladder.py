"""A ladder gives every value to each of its windows once, whatever its rungs are."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from penstock.errors import SpecificationError
from penstock.windows import (
    Kind,
    Ladder,
    WindowSpec,
    cumulative,
    sliding,
    tumbling,
    wids_at,
    window_bounds,
    window_end,
)
from penstock.windows.ladder import MOST_RUNGS, Block, longest_rung, overlap
from tests.strategies import specs, starts, times

far_times = times | st.integers(-(10**17), 10**17)
NO_START = st.none()


@st.composite
def rungs_of(draw: st.DrawFn, spec: WindowSpec) -> tuple[int, ...]:
    """Any rungs that the specification allows, uneven steps between them included."""
    rungs: tuple[int, ...] = (1,)
    while len(rungs) < MOST_RUNGS and rungs[-1] * 2 <= longest_rung(spec):
        factor = draw(st.integers(1, longest_rung(spec) // rungs[-1]))
        if factor == 1:
            break
        rungs = (*rungs, rungs[-1] * factor)
    return rungs


@st.composite
def ladders(draw: st.DrawFn, start: st.SearchStrategy[int | None] = NO_START) -> Ladder:
    """Windows of up to 40 slides; RANGE is no multiple of SLIDE as often as it is one."""
    slide, origin, begin = draw(st.integers(1, 7)), draw(far_times), draw(start)
    slides = draw(st.integers(1, 40))
    if draw(st.booleans()):
        spec = cumulative(slide * slides, slide, on="ts", origin=origin, start=begin)
    else:
        more = draw(st.integers(0, slide - 1))
        spec = sliding(slide * slides + more, slide, on="ts", origin=origin, start=begin)
    return Ladder(spec, draw(rungs_of(spec)))


def ends_over_blocks(ladder: Ladder, t: int) -> Counter[int]:
    return Counter(end for block in ladder.blocks(t) for end in ladder.ends(block))


def covered(ladder: Ladder, block: Block) -> range:
    """The values that are put into the block, by asking each one around it."""
    longest = ladder.rungs[-1] * ladder.spec.slide
    around = range(block.start - longest, block.start + 2 * longest + 1)
    inside = [t for t in around if block in ladder.blocks(t)]
    assert inside == list(range(inside[0], inside[-1] + 1))
    return range(inside[0], inside[-1] + 1)


@given(ladder=ladders(), t=far_times)
@example(Ladder(sliding(11, 4, on="ts")), -1)
@example(Ladder(sliding(29, 3, on="ts", origin=-7), (1, 2, 8)), -1)
@example(Ladder(cumulative(35, 5, on="ts", origin=3), (1, 3, 6)), -17)
def test_the_windows_of_a_value_are_those_of_its_blocks_each_once(ladder, t):
    spec = ladder.spec
    expected = Counter(window_end(w, spec) for w in wids_at(t, spec))
    assert expected
    assert ends_over_blocks(ladder, t) == expected


@given(ladder=ladders(start=starts), t=times)
def test_values_after_the_start_of_the_stream_are_in_their_windows_once(ladder, t):
    spec = ladder.spec
    assume(spec.start is None or t >= spec.start)
    expected = Counter(window_end(w, spec) for w in wids_at(t, spec))
    assert ends_over_blocks(ladder, t) == expected


@given(spec=specs(Kind.SLIDING, Kind.TUMBLING, Kind.CUMULATIVE), t=times)
def test_panes_alone_are_a_ladder_of_any_window_gaps_included(spec, t):
    assume(spec.start is None or t >= spec.start)
    ladder = Ladder(spec)
    assert ends_over_blocks(ladder, t) == Counter(window_end(w, spec) for w in wids_at(t, spec))


@given(ladder=ladders(), t=times)
def test_the_blocks_of_a_window_cover_it_without_overlap(ladder, t):
    spec = ladder.spec
    w = wids_at(t, spec)[0]
    begin, end = window_bounds(w, spec)
    assert begin is not None
    taken = {
        block
        for value in range(begin, end)
        for block in ladder.blocks(value)
        if end in ladder.ends(block)
    }
    values = Counter(value for block in taken for value in covered(ladder, block))
    assert values == Counter(range(begin, end))


@given(ladder=ladders(), t=far_times)
def test_a_block_is_taken_by_windows_that_contain_all_of_it(ladder, t):
    for block in ladder.blocks(t):
        first, last = ladder.span(block)
        inside = covered(ladder, block)
        assert t in inside
        for end in ladder.ends(block):
            assert first <= end <= last
            begin, _ = window_bounds(
                (end - ladder.spec.origin) // ladder.spec.slide - 1, ladder.spec
            )
            assert begin is not None
            assert begin <= inside[0]
            assert inside[-1] < end


@given(ladder=ladders(), t=far_times)
def test_no_window_that_takes_a_block_ends_before_the_block_is_complete(ladder, t):
    """Or a stream would close the window first."""
    for block in ladder.blocks(t):
        ends = list(ladder.ends(block))
        assert ends == sorted(ends)
        assert all(end >= ladder.span(block)[0] for end in ends)
        assert ladder.span(block)[0] > covered(ladder, block)[-1]


def test_more_rungs_spread_a_day_by_ten_seconds_over_few_windows():
    spec = sliding("1 day", "10 s", on="ts")
    plain, tall = Ladder(spec), Ladder(spec, (1, 20, 400))
    t = 1_700_000_003_000_000
    assert len(list(plain.ends(next(plain.blocks(t))))) == overlap(spec) == 8640
    taken = [len(list(tall.ends(block))) for block in tall.blocks(t)]
    assert taken[0] == 19
    assert sum(taken) == 8640


def test_a_period_that_is_no_multiple_of_a_rung_ends_within_its_last_block():
    ladder = Ladder(cumulative(7, 1, on="ts"), (1, 3))
    assert list(ladder.blocks(6)) == [Block(0, 6), Block(1, 6)]
    assert list(ladder.ends(Block(1, 6))) == [7]
    assert list(ladder.ends(Block(0, 6))) == []
    assert list(ladder.ends(Block(1, 3))) == [6, 7]


@pytest.mark.parametrize(
    ("rungs", "rule"),
    [
        ((), "must be 1 and at most 15 longer ones"),
        ((2,), "must be 1 and at most 15 longer ones"),
        ((0, 4), "must be 1 and at most 15 longer ones"),
        (tuple(range(1, 18)), "must be 1 and at most 15 longer ones"),
        ((1, 4, 6), "must each be longer than the one before, and a multiple of it"),
        ((1, 4, 2), "must each be longer than the one before, and a multiple of it"),
        ((1, 4, 4), "must each be longer than the one before, and a multiple of it"),
        ((1, 10), "must be at most 9 slides for RANGE 10 us SLIDE 1 us WATTR ts"),
        ((1, 3, 12), "must be at most 9 slides"),
    ],
)
def test_bad_rungs_are_refused_by_name_rule_and_value(rungs, rule):
    with pytest.raises(SpecificationError) as caught:
        Ladder(sliding(10, 1, on="ts"), rungs)
    message = str(caught.value)
    assert message.startswith("rungs must")
    assert rule in message
    assert message.endswith(f"got {rungs!r}")
    assert "\n" not in message


@pytest.mark.parametrize("rungs", [(1, 1), (1, 0), (1, -2), (1, 2, -4)])
def test_rungs_that_do_not_grow_are_refused(rungs):
    with pytest.raises(SpecificationError, match="rungs must"):
        Ladder(sliding(10, 1, on="ts"), rungs)


@pytest.mark.parametrize(
    ("spec", "windows", "longest"),
    [
        (sliding(10, 1, on="ts"), 10, 9),
        (sliding(10, 4, on="ts"), 3, 1),
        (sliding(2, 5, on="ts"), 1, 1),
        (tumbling(5, on="ts"), 1, 1),
        (cumulative(20, 5, on="ts"), 4, 4),
        (cumulative(5, 5, on="ts"), 1, 1),
    ],
    ids=str,
)
def test_overlap_and_longest_rung(spec, windows, longest):
    assert (overlap(spec), longest_rung(spec)) == (windows, longest)
