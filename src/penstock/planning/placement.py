"""Where random drops stand: the least load for the given rates, the drops' own cost included.

    v ─┬─► x        Each operator x needs the share P of the rows. Rows come to it with a share v:
       │            1, or the P of an operator above at which a drop stands. Either a drop at x
       │            looks at all of them and leaves P, or x and what is below it work on v.

Where drops cost nothing this is Algorithm 1: a drop wherever a P is smaller than the one above it.
Where they cost something, one may be worth more further down, behind a filter, or not at all; the
best choice is found from the queries upwards, for every v that there can be (dynamic programming).
Rows of all inputs of a union are kept alike, be it more than it needs, if drops stand behind it:
all such shares are tried, or if there are too many those of one union after the other.

Babcock, Datar and Motwani, ICDE 2004, §3.2 and §4.3.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from penstock.planning.sampling import evenly, least_rates, solve, with_whole
from penstock.planning.workload import Floats, Workload

_ROUNDS = 50
_TRIED = 8_000
"""Nodes that are looked at, each as often as other shares are tried for the unions: in networks of
more nodes none are."""

_ENOUGH = 1e-12
_NOTHING = np.zeros(1)


@dataclass(frozen=True, slots=True)
class Placement:
    """Random drops.

    Args:
        keep: of each node, the share of the streams' rows that is kept up to it.
        cuts: where drops stand: from node, to node.
        load: seconds per second, drops included, without what the streams cost.
        scale: λ; the greatest weighted error is 1/λ, or less.
        even: the share that all queries keep, since their errors are small enough; 0 if they are
            not.
    """

    keep: Floats
    cuts: tuple[tuple[int, int], ...]
    load: float
    scale: float
    even: float = 0.0


def sampled(
    load: Workload, demand: Floats, capacity: float, strict: Floats | None = None
) -> Placement:
    """The placement with the smallest greatest error within a capacity.

    Args:
        load: the network.
        demand: of each node, as in `least_rates`.
        capacity: seconds per second for all nodes but streams; what rows cost that no drop can
            save is part of it.
        strict: the demand if no query has a weight below 1: where errors may be enough, those of
            light queries must be, too; as the demand if None.
    """
    capacity -= float(load.work[load.answers & (demand > 0)].sum())
    if load.enough and load.errors == "quantile" and not load.drop_cost:
        strictly = demand if strict is None else strict
        needed = least_rates(strictly, 1 / load.enough, load.errors)
        rates = evenly(load.by_rows, demand, capacity, needed)
        if rates is not None:
            found = place(load, rates, 1 / load.enough)
            return replace(found, even=float(rates[demand > 0].min(initial=1.0)))
    if load.errors == "quantile":
        demand = with_whole(load.by_rows, demand, capacity)
    scale = solve(load.by_rows, demand, capacity, load.errors)
    found = place(load, least_rates(demand, scale, load.errors), scale)
    if not load.drop_cost:
        return found
    # The drops' own cost is not in that yet. Where they stand is best for a λ; what λ the capacity
    # then allows is a division. Both in turn: λ never falls, and there are only so many places.
    best: Placement | None = None
    for _ in range(_ROUNDS):
        scale = solve(*_as_placed(load, demand, found), capacity, load.errors)
        if best is not None and scale <= best.scale * (1 + _ENOUGH):
            break
        best = found = place(load, least_rates(demand, scale, load.errors), scale)
    assert best is not None  # noqa: S101 - the first round has set it
    return best


def place(load: Workload, rates: Floats, scale: float = math.inf) -> Placement:
    """The drops with the least load that leave each node the rate that it needs, or more.

    Args:
        load: the network.
        rates: of each node; never more than that of a node that feeds it.
        scale: λ, if known.
    """
    each = rates.tolist()
    shares = {u: each[u] for u, fed in enumerate(load.parents) if len(fed) > 1 and each[u]}
    best = _placed(load, each, shares, scale)
    if not load.drop_cost or not shares:
        return best
    tries = _TRIED // len(each)
    if not tries:
        return best
    # Those first that most rows come by.
    some = sorted(shares, key=lambda u: -float(load.rows_in[u]))[:tries]
    above = _rates_above(load, each, some)
    if math.prod(map(len, above.values())) <= tries:
        every = itertools.product(*above.values())
        others = ({**shares, **dict(zip(above, one, strict=True))} for one in every)
        return min((_placed(load, each, other, scale) for other in others), key=_load)
    return _one_by_one(load, each, shares, above, best=best, tries=tries)


def _one_by_one(
    load: Workload,
    rates: Sequence[float],
    shares: dict[int, float],
    above: Mapping[int, Sequence[float]],
    *,
    best: Placement,
    tries: int,
) -> Placement:
    """The best that is found by giving one union after the other another share.

    Args:
        load: the network.
        rates: of each node.
        shares: of each union at first.
        above: those that each may have.
        best: the placement for the first shares.
        tries: how many there may be.
    """
    better = True
    while better and tries:
        better = False
        for u, share in [(one, share) for one in above for share in above[one]]:
            if share == shares[u] or not tries:
                continue
            tries -= 1
            found = _placed(load, rates, {**shares, u: share}, best.scale)
            if found.load < best.load * (1 - _ENOUGH):
                best, better = found, True
                shares[u] = share
    return best


def _load(one: Placement) -> float:
    return one.load


def _rates_above(
    load: Workload, rates: Sequence[float], unions: Collection[int]
) -> dict[int, list[float]]:
    """The shares with which rows can come to each union: what it, or one before it, needs."""
    found: dict[int, list[float]] = {}
    for u in unions:
        seen, waiting = {u}, [u]
        while waiting:
            more = set(load.parents[waiting.pop()]) - seen
            seen |= more
            waiting += more
        found[u] = sorted({1.0, *(rates[x] for x in seen if rates[x] >= rates[u])})
    return found


def _placed(
    load: Workload, rates: Sequence[float], shares: Mapping[int, float], scale: float
) -> Placement:
    """The same for given shares of the unions; an infinite load if these cannot be had."""
    above, both = _values(load, rates, shares)
    drops = _chosen(load, rates, above, both)
    keep = np.where(load.streams, 1.0, 0.0).tolist()
    at = [0] * len(keep)
    cuts: list[tuple[int, int]] = []
    possible = True
    for x, rate in enumerate(rates):
        parents = load.parents[x]
        if not parents or not rate:
            continue
        if len(parents) > 1:
            cuts += [(a, x) for a in parents if keep[a] > shares[x]]
            possible = possible and all(keep[a] >= shares[x] for a in parents)
        else:
            at[x] = at[parents[0]]
            if drops[x][at[x]]:
                at[x] = len(both[x]) - 1
                cuts.append((parents[0], x))
        keep[x] = both[x][at[x]]
    spent = sum(load.drop_cost * load.rows_out[a] * keep[a] for a, _ in cuts)
    spent += (load.by_rows * keep).sum()
    spent += load.work[load.answers & (np.array(rates) > 0)].sum()
    total = float(spent) if possible else math.inf
    return Placement(np.array(keep), tuple(cuts), total, scale)


_Values = list[tuple[float, ...]]


def _values(
    load: Workload, rates: Sequence[float], shares: Mapping[int, float]
) -> tuple[_Values, _Values]:
    """The shares with which rows can come to each node, and these with the share it needs."""
    above: _Values = [()] * len(rates)
    both: _Values = [(1.0,)] * len(rates)
    for x, parents in enumerate(load.parents):
        if not parents:
            continue
        if len(parents) > 1:
            above[x] = both[x] = (shares.get(x, 0.0),)
            continue
        above[x] = both[parents[0]]
        less = 0 < rates[x] < above[x][-1]
        both[x] = (*above[x], rates[x]) if less else above[x]
    return above, both


def _chosen(
    load: Workload, rates: Sequence[float], above: _Values, both: _Values
) -> list[list[bool]]:
    """Of each node, for each share that rows can come with: whether a drop is best."""
    work, cost = load.by_rows.tolist(), load.drop_cost
    if not cost:
        return _wherever_it_saves(load, work, rates, above)
    best: list[Floats] = [_NOTHING] * len(rates)
    drops: list[list[bool]] = [[]] * len(rates)
    for x in range(len(rates) - 1, -1, -1):
        if not above[x] or not rates[x]:
            continue
        shares = np.array(both[x])
        total = work[x] * shares
        for child in load.children[x]:
            if not rates[child]:
                continue
            if len(load.parents[child]) == 1:
                total += best[child]
            else:
                (wanted,) = above[child]
                total += cost * load.rows_out[x] * shares * (shares > wanted)
                total[shares < wanted] = np.inf
        passed = total[: len(above[x])]
        dropped = cost * load.rows_in[x] * shares[: len(above[x])] + total[-1]
        best[x] = np.minimum(passed, dropped)
        drops[x] = (dropped < passed * (1 - _ENOUGH)).tolist()
    return drops


def _wherever_it_saves(
    load: Workload, work: Sequence[float], rates: Sequence[float], above: _Values
) -> list[list[bool]]:
    """The same where drops cost nothing."""
    busy = [spent > 0 for spent in work]
    for x in range(len(rates) - 1, -1, -1):
        for one in load.parents[x]:
            busy[one] = busy[one] or (busy[x] and rates[x] > 0)
    return [[busy[x] and share > rates[x] for share in above[x]] for x in range(len(rates))]


def _as_placed(load: Workload, demand: Floats, found: Placement) -> tuple[Floats, Floats]:
    """Work and demand of each node at which a drop stands, with all that it lets through."""
    by = governed(load, found)
    cuts = set(found.cuts)
    for x, parents in enumerate(load.parents):
        if len(parents) > 1:
            # What a union gets is what comes by an input before which no drop stands for it.
            free = next((a for a in parents if (a, x) not in cuts), None)
            if free is not None:
                by[by == x] = by[free]
    work = np.zeros(len(by) + 1)  # the last place is for what no drop stands before
    busy = found.keep > 0
    np.add.at(work, by[busy], load.by_rows[busy])
    for a, _ in found.cuts:
        work[by[a]] += load.drop_cost * load.rows_out[a]
    return work, np.append(demand, np.inf)


def governed(load: Workload, found: Placement) -> NDArray[np.int_]:
    """Of each node, the one at which the last drop before it stands; -1 if none does."""
    cut = {x for _, x in found.cuts}
    by = [-1] * len(load.nodes)
    for x, parents in enumerate(load.parents):
        if parents:
            by[x] = x if x in cut or len(parents) > 1 else by[parents[0]]
    return np.array(by)
