"""Who sheds: priorities decide which queries stay whole, which shed, and which are closed.

The highest level is served first. Only if all of its queries can be answered exactly does the next
one get what is left; the level at which it does not suffice is the one that sheds, and those below
it get nothing.

Babcock, Datar and Motwani, ICDE 2004, §4.1.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

from penstock.planning.asked import Asked
from penstock.planning.workload import Workload


@dataclass(frozen=True, slots=True)
class Roles:
    """The numbers of the queries, by what is done to them.

    Args:
        whole: answered exactly.
        sampled: random drops may take rows from them.
        windows: window drops may take windows from them.
        closed: not answered.
        not_admitted: those of them that are closed because gap tolerances cannot be met.
    """

    whole: tuple[int, ...]
    sampled: tuple[int, ...]
    windows: tuple[int, ...]
    closed: tuple[int, ...] = ()
    not_admitted: tuple[int, ...] = ()

    def wanted(self, load: Workload, least: float = 0.0) -> dict[int, float]:
        """C·w of those that are sampled, infinite for those of which no row may be dropped.

        Args:
            load: the network.
            least: the weight of those that have less.
        """
        found = dict.fromkeys([*self.whole, *self.windows], math.inf)
        for number in self.sampled:
            query = load.queries[number]
            found[number] = load.c(query) * max(query.weight, least)
        return found

    def without(self, some: Collection[int]) -> Roles:
        """The same with some of those closed that want windows."""
        gone = set(some)
        left = tuple(number for number in self.windows if number not in gone)
        return replace(self, windows=left, closed=(*self.closed, *some))


def levels(load: Workload) -> Roles:
    """What the priorities say."""
    names = range(len(load.queries))
    each = sorted({query.priority for query in load.queries})
    # Of each node, the highest level that needs it: one pass over the network for all levels.
    rank = {level: len(each) - place for place, level in enumerate(each)}
    highest = load.spread({n: float(rank[load.queries[n].priority]) for n in names})
    fits = True
    for level in each:
        needed = (highest >= rank[level]) | load.streams
        fits = float(load.work[needed].sum()) <= load.capacity
        if not fits:
            break
    if fits:
        return Roles(tuple(names), (), ())
    upto = [n for n in names if load.queries[n].priority <= level]
    here = [n for n in upto if load.queries[n].priority == level]
    held = [n for n in here if never_shed(load.queries[n])]
    windows = [n for n in here if n not in held and wants_windows(load.queries[n])]
    apart = {*held, *windows}
    return Roles(
        whole=tuple(n for n in upto if load.queries[n].priority < level) + tuple(held),
        sampled=tuple(n for n in here if n not in apart),
        windows=tuple(windows),
        closed=tuple(n for n in names if load.queries[n].priority > level),
    )


def wants_windows(query: Asked) -> bool:
    """Whether only whole windows may be missing; of rows, any sample is a subset already."""
    return query.answers == "subset" and not query.rows


def never_shed(query: Asked) -> bool:
    """Whether nothing may be dropped: no bound holds, or rows must not be missing in a row."""
    if query.rows:
        return query.answers == "subset" and query.max_gap is not None
    return query.answers == "approximate" and math.isinf(query.hardness)


def costliest(load: Workload, roles: Roles) -> list[int]:
    """Those that want windows, by the work that would not be there without them."""
    owner: list[int | None] = [None] * len(load.nodes)
    shared = -1
    for number in (*roles.whole, *roles.sampled, *roles.windows):
        node = load.queries[number].node
        owner[node] = number if owner[node] is None else shared
    for x in range(len(load.nodes) - 1, -1, -1):
        if owner[x] is None:
            continue
        for one in load.parents[x]:
            owner[one] = owner[x] if owner[one] in (None, owner[x]) else shared
    own = dict.fromkeys(roles.windows, 0.0)
    for x, by in enumerate(owner):
        if by in own and not load.streams[x]:
            own[by] += float(load.work[x])
    return sorted(own, key=lambda number: -own[number])
