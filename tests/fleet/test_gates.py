"""Gates: whatever shares they are given, a window downstream is whole or is said to be dropped."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.drops.coins import HASH_BITS
from penstock.drops.decisions import Decisions, Run
from penstock.drops.targets import Target
from penstock.drops.upstream import missing
from penstock.fleet.dropped import Withheld, announced
from penstock.fleet.gates import Gate, Seen, decided, keeps_of
from penstock.nodes.splits import Location
from penstock.windows import sliding, tumbling
from penstock.windows.arithmetic import wids_at

SECOND = 1_000_000
SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def batches(shares: list[float], seed: int) -> list[list[int]]:
    """Times of rows, of which some come late."""
    of = random.Random(seed)
    found = []
    for number in range(len(shares)):
        begin = number * 5 * SECOND
        found.append([begin + of.randrange(-SECOND, 5 * SECOND) for _ in range(60)])
    return found


def run(gates: list[Gate], shares: list[float], seed: int):
    """Which rows pass each gate, and what is said of windows."""
    state, seen, said = Decisions(), Seen(), Withheld()
    orders = decided(state, gates, [1.0] * len(gates), seen, 0)[1]
    names = {target.name for gate in gates for target in gate.targets}
    passed: list[list[tuple[int, bool]]] = [[] for _ in gates]
    of = random.Random(seed)
    for number, (share, rows) in enumerate(zip(shares, batches(shares, seed), strict=True)):
        for t in rows:
            u = of.randrange(1 << HASH_BITS)
            for place, order in enumerate(orders):
                passed[place].append((t, order.stays(u, t)))
        seen = seen.after(max(rows))
        keeps = [share] * len(gates)
        state, orders = decided(state, gates, keeps, seen, number + 1)
        said.take(announced(state, names))
    return passed, said


@given(SHARES, st.integers(0, 99), st.integers(1, 4), st.integers(1, 5))
def test_a_window_is_whole_or_said_to_be_dropped(shares, seed, overlap, gap):
    window = sliding(overlap * SECOND, SECOND, on="ts")
    gate = Gate("a1", "left", "subset", (Target("b1", window, gap),))
    (passed,), said = run([gate], shares, seed)
    for t, stayed in passed:
        if not stayed:
            assert all(said.has("b1", w) for w in wids_at(t, window))


@given(SHARES, st.integers(0, 99))
def test_gates_that_feed_one_query_agree(shares, seed):
    target = Target("b1", tumbling(2 * SECOND, on="ts"), 2)
    other = Target("b2", sliding(3 * SECOND, SECOND, on="ts"), 4)
    gates = [
        Gate("a1", "left", "subset", (target,)),
        Gate("a1", "right", "subset", (target, other)),
    ]
    (left, right), said = run(gates, shares, seed)
    for t, stayed in left:
        assert stayed or all(said.has("b1", w) for w in wids_at(t, target.window))
    for t, stayed in right:
        if not stayed:
            for one in (target, other):
                assert all(said.has(one.name, w) for w in wids_at(t, one.window))


@pytest.mark.parametrize("keep", [0.3, 0.5, 0.8])
def test_the_share_of_rows_that_is_asked_for_stays(keep):
    shares = [keep] * 400
    target = Target("b1", tumbling(SECOND, on="ts"), 4)
    (passed,), _ = run([Gate("a1", "left", "subset", (target,))], shares, 1)
    stayed = [one for _, one in passed[600:]]
    assert sum(stayed) / len(stayed) == pytest.approx(keep, abs=0.06)
    (sampled,), said = run([Gate("a1", "left", "approximate")], shares, 1)
    stayed = [one for _, one in sampled[600:]]
    assert sum(stayed) / len(stayed) == pytest.approx(keep, abs=0.02)
    assert said.runs("b1") == ()


def test_a_plan_and_what_the_node_can_bear_go_together():
    gates = [Gate("a1", "left", "subset"), Gate("a2", "left", "subset")]
    planned = {Location("left", ("a1",)): 0.5, Location("right", ("a2",)): 0.1}
    assert keeps_of(gates, planned, 0.4) == (0.2, 0.4)
    assert keeps_of(gates, {}, 1.0) == (1.0, 1.0)


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), max_size=6),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), max_size=3),
    st.integers(0, 30),
)
def test_what_others_have_dropped_is_missing_here_as_well(told, own, watermark):
    target = Target("b1", tumbling(SECOND, on="ts"), 3)
    runs = Withheld()
    runs.take({"windows": {"b1": [[first, first + more] for first, more in own]}})
    mine = tuple(Run(first, last) for first, last in runs.runs("b1"))
    state = Decisions(watermark * SECOND, {"b1": mine})
    after = missing(
        state,
        {"b1": target},
        {"b1": [(first, first + more) for first, more in told]},
        newest=20 * SECOND,
        by=7,
    )
    for w in range(50):
        others = any(first <= w <= first + more for first, more in told)
        was = state.is_dropped("b1", w)
        assert after.is_dropped("b1", w) == (was or (others and w >= watermark))
