"""From one batch to the next: windows that are closed are forgotten, those ahead are decided.

    coins of batches of B = 3        drop     drop     keep     keep
    windows                        x  x  x  o  x  x  x  o  o  o  o  o
                                            ^        ^
            opened, or 6 in a row would be missing   dropped instead

One coin falls for each batch of B windows. It is a function of the seed and the number of the
batch, so a batch whose coin said keep is dropped as soon as p rises above it. A p that falls brings
no dropped window back; but of a batch only those windows are dropped that the next rows can be in,
so the rest of it is kept then. Whatever p does, a window is dropped only if no more than B in a row
are then missing, on both sides of it.

Tatbul and Zdonik, VLDB 2006, §3.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.drops.decisions import Decisions, Frontier, Run, ordered
from penstock.drops.flips import Flips
from penstock.drops.marks import Marks
from penstock.drops.per_group import forget_levels, raise_levels
from penstock.drops.plan import Plan, WindowDrop
from penstock.drops.targets import Target, last_of
from penstock.errors import UsageError, complaint, did_you_mean
from penstock.windows import first_wid, last_closed

SPAN = 200_000
"""Windows of a query from the first that is dropped and open to the last that is decided."""


def advance(
    state: Decisions,
    plan: Plan,
    targets: Mapping[str, Target],
    *,
    seed: int,
    watermark: int | None,
    newest: int | None,
    ahead: int,
    by: int,
) -> Decisions:
    """The decisions for the next batch.

    Args:
        state: those of the batch that is over.
        plan: the window drops, with their p, and the queries that are closed.
        targets: name of each query that may be dropped → its window and gap tolerance.
        seed: of the network's coins.
        watermark: the windows that end at or before it were emitted or suppressed by batches that
            are over (not: will be, by the next one), in microseconds; None if none were.
        newest: the largest event time seen so far, in microseconds; None before the first row.
        ahead: how far beyond it the rows of the next batch may be, in microseconds. What has not
            been decided is kept, so too little costs work; too much decides with a p of the past.
        by: the id of the next batch.

    >>> from penstock.drops.plan import Arc
    >>> from penstock.windows import tumbling
    >>> targets = {"n": Target("n", tumbling(10, on="ts"), max_gap=2)}
    >>> drop = WindowDrop(Arc("packets", "n"), 10, 10, p=1.0, batch=2, queries=("n",))
    >>> state = advance(Decisions(), Plan(windows=(drop,)), targets, seed=0, watermark=None,
    ...                 newest=5, ahead=60, by=1)
    >>> [(run.first, run.last, run.revoked) for run in state.runs("n")]
    [(0, 0, True), (1, 1, False), (3, 4, False), (6, 6, False)]
    """
    state = _forget(state, targets, watermark)
    if newest is None:
        return state
    frontiers: dict[str, Frontier] = {}
    for key, drop in _together(plan).items():
        mine = [_target(name, targets) for name in drop.queries]
        if any(_leaps(state, target, newest + ahead) for target in mine):
            continue
        common = [target for target in mine if not target.per_group]
        if common and drop.p > 0:
            step = Flips(state, drop, common, newest, newest + ahead)
            frontiers[key] = step.flip(seed, key, state.frontiers.get(key, Frontier(step.low)))
            state = step.state(by)
        for target in mine:
            if target.per_group:
                levels = raise_levels(state, target, drop.p, newest, newest + ahead)
                state = replace(state, levels={**state.levels, target.name: levels})
    for name in plan.closed:
        state = shut(state, _target(name, targets), newest=newest, until=newest + ahead, by=by)
    return replace(state, frontiers=frontiers)


def shut(state: Decisions, target: Target, *, newest: int, until: int, by: int) -> Decisions:
    """Every window of a query that is open, or begins by then, is dropped, whatever its tolerance.

    Args:
        state: the decisions so far.
        target: the query.
        newest: the largest event time seen so far, in microseconds.
        until: in microseconds.
        by: the id of the batch for which it is decided.
    """
    begun, last = last_of(newest, target), last_of(until, target)
    first = state.first_open(target.window)
    first = first_wid(newest, target.window) if first is None else max(first, last - SPAN)
    marks = Marks(first, max(last, first) + 1, state.runs(target.name))
    marks.drop(range(first, last + 1))
    runs = ordered([*state.runs(target.name), *marks.added(by, begun)])
    return replace(state, dropped={**state.dropped, target.name: runs})


def _forget(state: Decisions, targets: Mapping[str, Target], watermark: int | None) -> Decisions:
    known = [mark for mark in (state.watermark, watermark) if mark is not None]
    if not known:
        return state
    mark = max(known)
    dropped: dict[str, tuple[Run, ...]] = {}
    for name, runs in state.dropped.items():
        if name in targets:
            # The closed windows just before the open ones tell how long a gap is already.
            oldest = last_closed(mark, targets[name].window) - targets[name].max_gap
            dropped[name] = tuple(run for run in runs if run.last >= oldest)
    levels = {
        name: forget_levels(some, targets[name], mark)
        for name, some in state.levels.items()
        if name in targets
    }
    return replace(state, watermark=mark, dropped=dropped, levels=levels)


def _leaps(state: Decisions, target: Target, until: int) -> bool:
    """Whether time is so far ahead of the open windows that arrays of all between would not fit.

    Then nothing more is dropped until the watermark has followed.
    """
    opens = state.first_open(target.window)
    firsts = [run.first for run in state.runs(target.name) if opens is None or run.last >= opens]
    firsts += [level.first * level.stride for level in state.levels.get(target.name, ())]
    return last_of(until, target) - min(firsts, default=last_of(until, target)) > SPAN


def _together(plan: Plan) -> dict[str, WindowDrop]:
    """Window drops by what they drop: one query may be fed through several arcs."""
    drops: dict[str, WindowDrop] = {}
    for drop in plan.windows:
        key = f"{drop.slide}: {', '.join(sorted(drop.queries))}"
        if key not in drops or drops[key].p < drop.p:
            drops[key] = drop
    return drops


def _target(name: str, targets: Mapping[str, Target]) -> Target:
    if name not in targets:
        rule = "is a query whose windows may not be dropped"
        raise UsageError(complaint("the plan", rule, name, did_you_mean(name, targets)))
    return targets[name]
