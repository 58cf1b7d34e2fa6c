"""What a plan does to each query, and a sentence for each drop that says why it is there."""

from __future__ import annotations

import math
from collections.abc import Mapping

from penstock.drops.plan import Arc, Plan, RandomDrop, WindowDrop
from penstock.planning.expected import expected_error
from penstock.planning.levels import Roles, never_shed
from penstock.planning.placement import Placement, governed
from penstock.planning.reasons import (
    at_their_most,
    closed_because,
    too_much,
    why_now,
    why_random,
    why_windows,
)
from penstock.planning.result import Outcome, Planned
from penstock.planning.subset import Dropped, Option
from penstock.planning.workload import Workload


def planned(load: Workload, roles: Roles, found: Placement, windows: Dropped) -> Planned:
    """The plan as a value, with its reasons.

    Args:
        load: the network.
        roles: who sheds.
        found: random drops.
        windows: window drops.
    """
    reasons = _why_random(load, roles, found)
    random = [
        RandomDrop(arc, min(1.0, float(found.keep[x])))
        for a, x in found.cuts
        for arc in _arcs(load, a, x)
    ]
    drops: list[WindowDrop] = []
    lost: dict[int, float] = {}
    standing: dict[int, list[int]] = {}
    for number in roles.windows:
        standing.setdefault(load.queries[number].node, []).append(number)
    for option, p in windows.drops:
        numbers = _standing_on(load, standing, option)
        lost |= dict.fromkeys(numbers, p)
        names = tuple(load.queries[n].name for n in numbers)
        span = option.span
        why = (why_windows if option.queries is None else why_now)(load, option, p, names)
        for a in load.parents[option.node]:
            for arc in _arcs(load, a, option.node):
                drops.append(WindowDrop(arc, span.range, span.slide, p, option.batch, names))
                reasons[arc] = why
    closed = tuple(load.queries[n].name for n in roles.closed)
    outcomes = {
        query.name: _outcome(load, number, roles, found, lost.get(number, 0.0))
        for number, query in enumerate(load.queries)
    }
    streams = float(load.work[load.streams].sum())
    before, after = load.total, streams + found.load - windows.saved
    plan = Plan(tuple(random), tuple(drops), closed)
    notes = (
        *closed_because(load, roles),
        *at_their_most(load, windows, after, random=bool(random)),
        *too_much(load, roles, after, lost),
    )
    return Planned(
        plan, outcomes, before, after, load.capacity, reasons, notes, load.delta, load.errors
    )


def _arcs(load: Workload, a: int, x: int) -> list[Arc]:
    """The arcs of the network that an arc of the workload stands for: panes have no name."""
    if load.nodes[a].panes:
        (a,) = load.parents[a]
    ends = load.children[x] if load.nodes[x].panes else (x,)
    feeds = (load.nodes[end].feed for end in ends)
    return [
        Arc(load.nodes[a if feed is None else feed].name, load.nodes[end].name)
        for end, feed in zip(ends, feeds, strict=True)
    ]


def _why_random(load: Workload, roles: Roles, found: Placement) -> dict[Arc, str]:
    needs = _neediest(load, roles)
    behind = _work_behind(load, found)
    reasons: dict[Arc, str] = {}
    for a, x in found.cuts:
        saved = (found.keep[a] - found.keep[x]) * behind[a, x]
        saved -= load.drop_cost * load.rows_out[a] * found.keep[a]
        why = why_random(load, found.keep, (a, x), needs, float(saved), even=found.even)
        reasons |= dict.fromkeys(_arcs(load, a, x), why)
    return reasons


def _work_behind(load: Workload, found: Placement) -> dict[tuple[int, int], float]:
    """Of each drop, the work on all rows that pass its arc, as if none were dropped."""
    by = governed(load, found)
    work = [0.0] * (len(by) + 1)
    for x, spent in enumerate(load.by_rows.tolist()):
        work[by[x]] += spent if found.keep[x] else 0.0
    behind: dict[tuple[int, int], float] = {}
    for x in range(len(by) - 1, -1, -1):
        if by[x] == x and load.rows_in[x]:
            for a in load.parents[x]:
                behind[a, x] = work[x] * float(load.rows_out[a] / load.rows_in[x])
                work[by[a]] += behind[a, x]
    return behind


def _neediest(load: Workload, roles: Roles) -> list[int]:
    """Of each node, the query that needs the greatest share of its rows; -1 for none."""
    wanted = roles.wanted(load)
    found = [-1] * len(load.nodes)
    for number in wanted:
        node = load.queries[number].node
        if found[node] < 0 or wanted[number] > wanted[found[node]]:
            found[node] = number
    for x in range(len(load.nodes) - 1, -1, -1):
        for one in load.before[x]:
            if found[x] >= 0 and (found[one] < 0 or wanted[found[x]] > wanted[found[one]]):
                found[one] = found[x]
    return found


def _standing_on(load: Workload, standing: Mapping[int, list[int]], option: Option) -> list[int]:
    """The queries whose windows a drop takes.

    Args:
        load: the network.
        standing: node → the queries that it answers, of those whose windows may be dropped.
        option: the drop.
    """
    if option.queries is not None:
        return list(option.queries)
    nodes, waiting = {option.node}, [option.node]
    while waiting:
        more = [child for child in load.children[waiting.pop()] if child not in nodes]
        nodes.update(more)
        waiting += more
    return sorted(number for node in nodes for number in standing.get(node, ()))


def _outcome(load: Workload, number: int, roles: Roles, found: Placement, lost: float) -> Outcome:
    query = load.queries[number]
    if number in roles.closed:
        return Outcome(query.answers, keep=0.0, bound=None, error=None, lost=1.0)
    if number in roles.windows:
        return Outcome(query.answers, bound=None, error=None, lost=lost)
    keep = float(found.keep[query.node])
    if query.rows:
        return Outcome(query.answers, keep, bound=None, error=None, lost=1 - keep)
    if keep == 1 or never_shed(query):
        return Outcome(query.answers)
    hardness = query.hardness
    assert math.isfinite(hardness)  # noqa: S101 - one without a bound is never shed
    return Outcome(query.answers, keep, load.error(query, keep), expected_error(hardness, keep))
