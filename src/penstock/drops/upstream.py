"""Windows that were dropped before their rows came here, by another node: they are missing too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from penstock.drops.advance import SPAN
from penstock.drops.decisions import Decisions, ordered
from penstock.drops.marks import Marks
from penstock.drops.plan import Plan
from penstock.drops.targets import Target, last_of


def missing(
    state: Decisions,
    targets: Mapping[str, Target],
    told: Mapping[str, Iterable[tuple[int, int]]],
    *,
    newest: int | None,
    by: int,
) -> Decisions:
    """The decisions with the windows dropped that others have dropped, those that are not closed.

    Args:
        state: the decisions so far.
        targets: every query whose windows may be missing, by name.
        told: query → first and last window of each run that others have dropped.
        newest: the largest event time seen so far, in microseconds; None after a restart.
        by: the id of the batch for which it is decided.

    >>> from penstock.windows import tumbling
    >>> target = Target("n", tumbling(10, on="ts"), max_gap=1)
    >>> state = missing(
    ...     Decisions(watermark=30), {"n": target}, {"n": [(1, 4), (6, 6)]}, newest=45, by=3
    ... )
    >>> [(run.first, run.last, run.revoked) for run in state.runs("n")]
    [(3, 4, True), (6, 6, False)]
    """
    dropped = dict(state.dropped)
    for name, target in targets.items():
        runs = list(told.get(name, ()))
        if not runs:
            continue
        opens = state.first_open(target.window)
        last = max(last for _, last in runs)
        first = max(min(first for first, _ in runs), last - SPAN if opens is None else opens)
        if first > last or last - first > SPAN:
            continue
        marks = Marks(first, last + 1, state.runs(name))
        for begin, end in runs:
            if end >= first:
                marks.drop(range(max(begin, first), end + 1))
        begun = first - 1 if newest is None else last_of(newest, target)
        dropped[name] = ordered([*state.runs(name), *marks.added(by, begun)])
    return replace(state, dropped=dropped)


def both(one: Plan, other: Plan) -> Plan:
    """A plan that drops at least what each of two plans drops.

    Args:
        one: a plan.
        other: another.

    >>> from penstock.drops.plan import Arc, RandomDrop
    >>> arc = Arc("packets", "web")
    >>> both(Plan((RandomDrop(arc, 0.4),)), Plan((RandomDrop(arc, 0.7),))).random[0].keep
    0.4
    """
    random = {drop.arc: drop for drop in one.random}
    for drop in other.random:
        if drop.arc not in random or drop.keep < random[drop.arc].keep:
            random[drop.arc] = drop
    windows = {(drop.arc, frozenset(drop.queries)): drop for drop in one.windows}
    for of in other.windows:
        key = of.arc, frozenset(of.queries)
        if key not in windows or of.p > windows[key].p:
            windows[key] = of
    closed = dict.fromkeys((*one.closed, *other.closed))
    return Plan(tuple(random.values()), tuple(windows.values()), tuple(closed))
