"""Orders say what decisions say, and a lost record delivers nothing that had begun."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from penstock.drops.arrays import Flags, early, suppressed
from penstock.drops.coins import threshold
from penstock.drops.decisions import Decisions, Level, Run
from penstock.drops.group_orders import GroupOrder, group_order
from penstock.drops.orders import (
    ALL_STAY,
    EVERYTHING,
    NOTHING,
    Orders,
    at_random,
    before,
    by_window,
    suppress_all,
    undelivered,
)
from penstock.drops.targets import Target
from penstock.windows import sliding, tumbling, window_bounds, window_end

WINDOW = sliding(30, 10, on="ts")
TARGET = Target("n", WINDOW, 3)

shares = st.floats(0, 1)
chances = st.floats(0, 1, exclude_max=True)  # what a coin shows is below 1
times = st.integers(-50, 400)


@st.composite
def decisions(draw: st.DrawFn) -> Decisions:
    first, runs = draw(st.integers(0, 5)), []
    for _ in range(draw(st.integers(0, 3))):
        last = first + draw(st.integers(0, 3))
        runs.append(Run(first, last))
        first = last + 1 + draw(st.integers(1, 3))
    return Decisions(dropped={"n": tuple(runs)})


@given(decisions(), shares, shares, times, chances)
def test_a_row_that_some_place_needs_stays_before_all_of_them(
    state: Decisions, keep: float, other: float, t: int, chance: float
) -> None:
    u, panes = threshold(chance), early(state, [TARGET])
    orders = [at_random(keep), at_random(other), by_window(panes)]
    for some in (orders, orders[:2], orders[2:]):
        stays = before(some, panes).stays(u, t)
        assert stays == any(order.stays(u, t) for order in some)
    assert ALL_STAY.stays(u, t)


@given(decisions(), st.tuples(shares, shares), times, times, chances)
def test_after_a_jump_rows_before_it_go_and_no_row_that_is_needed_does(
    state: Decisions, keeps: tuple[float, float], t: int, since: int, chance: float
) -> None:
    (keep, other), u, panes = keeps, threshold(chance), early(state, [TARGET])
    jumped = at_random(keep, since)
    assert jumped.stays(u, t) == (t >= since and at_random(keep).stays(u, t))
    for rest in ([], [at_random(other, since + 7)], [by_window(panes)], [at_random(other)]):
        some = [jumped, *rest]
        first = before(some, panes)
        assert first.stays(u, t) or not any(order.stays(u, t) for order in some)
        assert first.drops or first.stays(u, t)
    assert Orders.from_json(Orders(0, (jumped,), (), ()).to_json()).streams == (jumped,)


@given(decisions(), shares, st.integers(0, 9))
def test_they_can_be_written_and_read(state: Decisions, keep: float, batch: int) -> None:
    panes = early(state, [TARGET])
    orders = Orders(
        batch, (ALL_STAY,), (at_random(keep), by_window(panes)), (suppressed(state, TARGET),)
    )
    assert Orders.from_json(orders.to_json()) == orders
    harmless = orders.harmless(batch + 1)
    assert set(harmless.folds) == {ALL_STAY}
    assert harmless.windows == orders.windows


@given(decisions(), st.one_of(st.none(), st.integers(0, 300)), st.integers(-20, 300))
def test_of_a_lost_record_no_window_that_had_begun_is_delivered(
    state: Decisions, until: int | None, watermark: int
) -> None:
    state = replace(state, suppress_until=until, watermark=watermark)
    found = undelivered(state, TARGET)
    for w in range(-3, 45):
        start, end = window_bounds(w, WINDOW)
        assert start is not None
        lost = until is not None and start <= until
        if end > watermark:  # others were emitted before
            assert found.at(end) == (state.is_dropped("n", w) or lost)


def test_everything_is_every_window() -> None:
    assert undelivered(Decisions(suppress_until=5), TARGET) == EVERYTHING
    orders = suppress_all(3, 1, 2, 2)
    for w in (-(10**9), 0, 10**9):
        assert all(flags.at(window_end(w, WINDOW)) for flags in orders.windows)
    assert orders.folds == (ALL_STAY, ALL_STAY)
    assert not Flags(0, 1, ()).at(0)


def test_orders_for_groups_survive_a_record_and_without_it_only_suppress() -> None:
    target = Target("n", tumbling(10, on="ts"), 3, per_group=True)
    state = Decisions(levels={"n": (Level(0, 2, threshold(0.4), 4),)})
    order = group_order(target, state, state)
    made = Orders(7, (ALL_STAY,), (ALL_STAY,), (NOTHING,), groups=(order,), floors=((1, 2),))
    assert made.drops
    assert Orders.from_json(json.loads(json.dumps(made.to_json()))) == made
    left = made.harmless(8)
    assert not left.drops
    assert left.groups == (GroupOrder("n", ends=order.ends),)
    # An older record has neither.
    old = {name: of for name, of in made.to_json().items() if name not in ("groups", "floors")}
    assert Orders.from_json(old) == replace(made, groups=(), floors=())


@given(decisions(), st.booleans())
def test_rows_may_go_where_they_enter_though_the_stream_needs_some_of_the_same_time(
    state: Decisions, large: bool
) -> None:
    panes = early(state, [TARGET])
    asked = ((by_window(panes), ALL_STAY),)
    made = Orders(3, (by_window(NOTHING),), (ALL_STAY,), (NOTHING,), large=large, asked=asked)
    assert made.at_streams == (any(panes.flags),)
    assert made.drops == any(panes.flags)
    assert made.early == (large and any(panes.flags))
    assert Orders.from_json(json.loads(json.dumps(made.to_json()))) == made
    # Also at random: one that keeps all rows asks for some of them.
    sampled = replace(made, streams=(ALL_STAY,), asked=((at_random(0.1), ALL_STAY),))
    assert sampled.at_streams == (True,)
    old = {name: of for name, of in made.to_json().items() if name != "asked"}
    assert Orders.from_json(old).at_streams == (False,)
    assert not made.harmless(4).drops
