"""Window drops of a running network: a query has all of its windows for now, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from penstock.planning.asked import Window
from penstock.planning.keeping import Moment, chosen
from penstock.planning.spans import Span
from penstock.planning.subset import LONG, Dropped, Option
from penstock.planning.taken import Work
from penstock.planning.workload import Workload


class Kept:
    """The window drops among which some are chosen at a moment, one for each query.

    Args:
        load: the network.
        queries: the numbers of those whose windows may be dropped.
        others: the numbers of those that are there in any case.
        moment: what the choice goes by.
    """

    def __init__(
        self, load: Workload, queries: Sequence[int], others: Sequence[int], moment: Moment
    ) -> None:
        self._load, self._queries, self._moment = load, tuple(queries), moment
        self._work = Work(load, tuple(others), moment.filters, moment.asking)

    def for_load(self, needed: float) -> Dropped:
        """The drops of the queries that are not kept, if so much is to be saved.

        Args:
            needed: seconds per second.
        """
        free = [n for n in self._queries if n in self._options]
        held = [n for n in self._queries if n not in self._options]
        all_of_it = self._work.of(self._queries)
        work = replace(self._work, others=(*self._work.others, *held))
        kept = [*chosen(work, free, all_of_it - max(0.0, needed), self._moment), *held]
        found, left = [], self._queries
        for n in free:
            if n not in kept:
                less = tuple(one for one in left if one != n)
                saves = self._work.of(left) - self._work.of(less)
                found.append((self._option(n, saves), 1.0))
                left = less
        return Dropped(tuple(found))

    def most(self) -> Dropped:
        """What can be saved in the long run: one window in B + 1 stays, and all of its rows."""
        found = []
        left = self._queries
        for n, window in self._options.items():
            less = tuple(one for one in left if one != n)
            saves = self._work.of(left) - self._work.of(less)
            option = self._option(n, saves)
            stay = window.range / window.slide / (option.batch + 1)
            found.append((option, max(0.0, 1 - stay)))
            left = less
        return Dropped(tuple(found))

    @cached_property
    def _options(self) -> dict[int, Window]:
        """The queries whose windows can be dropped so that rows are."""
        at = self._load.answering
        found = {}
        for n in self._queries:
            base = at[self._load.queries[n].node]
            window = self._load.nodes[base].window if base is not None else None
            gap = self._load.queries[n].max_gap
            if window is not None and (gap is None or gap >= window.range // window.slide):
                found[n] = window
        return found

    def _option(self, n: int, saves: float) -> Option:
        query, window = self._load.queries[n], self._options[n]
        batch = query.max_gap or LONG * max(1, window.range // window.slide)
        span = Span(window.range, window.slide, batch, window.kind)
        return Option(query.node, span, saves, 0.0, query.weight, (n,))
