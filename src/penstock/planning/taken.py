"""What it takes to keep some queries and not others: the work of all that only they need.

    packets ─► taken in ─┬─► tcp ─► A1          A1 and A3 kept: rows with tcp or dns are taken in
                         ├─► tcp and web ─► A2
                         └─► dns ─► A3

A row is taken in if it passes the filters of a query that is kept. How many do is not counted for
every set of queries, but follows from how many pass each filter: one that asks for more than
another passes none that the other does not; others are believed to be apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from penstock.control.prior import taking
from penstock.planning.workload import Workload

_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_UNCLEAR = re.compile(r"[('\"`].*\band\b.*[)'\"`]|\bbetween\b|\bor\b|\bcase\b", re.IGNORECASE)

Filters = Mapping[str, tuple[str, ...]]
"""Name of an aggregate over streams → the filters that its rows are asked where they enter."""


@dataclass(frozen=True)
class Work:
    """Seconds of work per second for any set of queries.

    Args:
        load: the network.
        others: the numbers of queries that are there in any case.
        filters: of the aggregates of streams whose rows are asked; elsewhere all are taken in.
        asking: name of what takes in the rows of a stream → seconds to ask a row what is in it.
    """

    load: Workload
    others: tuple[int, ...] = ()
    filters: Filters = field(default_factory=dict)
    asking: Mapping[str, float] = field(default_factory=dict)

    def of(self, queries: Iterable[int]) -> float:
        """The work for these queries and the others, without what the streams cost.

        Args:
            queries: their numbers.
        """
        load = self.load
        needed = load.spread(dict.fromkeys([*queries, *self.others], 1.0)) > 0
        total = float(load.work[needed & ~load.streams].sum())
        for node, share in self._shares(needed):
            total -= float(load.work[node]) * (1 - share)
            if share < 1:  # if all stay for one of them, none is looked into
                asking = self.asking.get(load.nodes[node].name, 0.0)
                total += asking * float(load.rows_in[node])
        return total

    def cheapest(self, queries: Iterable[int]) -> list[int]:
        """Queries in order: those first that take in the fewest rows for their weight, alone.

        How many rows one takes in is known; what they cost is believed, and only decides among
        those that take in as many.

        Args:
            queries: their numbers.
        """
        asked = self.load.queries
        each = {
            n: (self.rows([n]) / asked[n].weight, self.of([n]) / asked[n].weight) for n in queries
        }
        return sorted(each, key=lambda n: (*each[n], n))

    def rows(self, queries: Iterable[int]) -> float:
        """The rows a second that are taken in for these queries and the others.

        Args:
            queries: their numbers.
        """
        load = self.load
        needed = load.spread(dict.fromkeys([*queries, *self.others], 1.0)) > 0
        return sum(share * float(load.rows_in[node]) for node, share in self._shares(needed))

    def _shares(self, needed: NDArray[np.bool_]) -> Iterator[tuple[int, float]]:
        """Nodes that take rows in, and the share of them that they take in.

        Args:
            needed: of each node, whether a query that is kept stands on it.
        """
        for node, asked in self._taking.items():
            if needed[node]:
                some = None if asked is None else [(w, part) for x, w, part in asked if needed[x]]
                yield node, 1.0 if some is None else covered(some)

    @cached_property
    def _taking(self) -> dict[int, list[tuple[int, frozenset[str], float]] | None]:
        """Node that takes rows in → the aggregates that ask: number, filters, share of rows."""
        load, found = self.load, dict[int, list[tuple[int, frozenset[str], float]] | None]()
        streams = {taking(node.name) for node in load.nodes if not node.inputs}
        for node, one in enumerate(load.nodes):
            if one.name in streams:
                below = self._first_aggregates(node)
                rows = float(load.rows_in[node])
                known = rows > 0 and all(load.nodes[x].name in self.filters for x in below)
                found[node] = (
                    [
                        (x, conjuncts(self.filters[load.nodes[x].name]), self._share(x, rows))
                        for x in below
                    ]
                    if known
                    else None
                )
        return found

    def _share(self, aggregate: int, rows: float) -> float:
        return min(1.0, float(self.load.rows_in[aggregate]) / rows)

    def _first_aggregates(self, node: int) -> list[int]:
        found, waiting, seen = [], [node], {node}
        while waiting:
            for child in self.load.children[waiting.pop()]:
                if child in seen:
                    continue
                seen.add(child)
                if self.load.nodes[child].aggregate:
                    found.append(child)
                else:
                    waiting.append(child)
        return found


def covered(filters: Iterable[tuple[frozenset[str], float]]) -> float:
    """The share of rows that pass one of several filters, at most.

    Args:
        filters: what each asks for, and the share of rows that passes it.

    >>> tcp, web, dns = frozenset({"tcp"}), frozenset({"tcp", "port = 80"}), frozenset({"dns"})
    >>> covered([(tcp, 0.5), (web, 0.2), (dns, 0.1)])
    0.6
    """
    different = dict(filters)
    widest = [
        share for one, share in different.items() if not any(other < one for other in different)
    ]
    return min(1.0, sum(widest))


def taken(asking: Iterable[tuple[frozenset[str], float, float]]) -> float:
    """The share of rows that are taken in if each keeps a share of those that it asks for.

    All keep by the same random number of a row, so whoever keeps less keeps some of the same:

        number  0      0.1            0.5                    1
        dns     ██████████████████████                          asks for few, keeps half
        all     ███████                                         keeps a tenth
        taken   all rows ─┘  └ dns ───┘

    Args:
        asking: what each asks for, the share of rows that passes that, and what it keeps of them.

    >>> round(taken([(frozenset({"dns"}), 0.1, 0.5), (frozenset(), 1.0, 0.1)]), 3)
    0.14
    """
    each = sorted(asking, key=lambda one: -one[2])
    keeps = [keep for _, _, keep in each] + [0.0]
    return sum(
        (keeps[n] - keeps[n + 1]) * covered((what, share) for what, share, _ in each[: n + 1])
        for n in range(len(each))
    )


def conjuncts(predicates: Iterable[str]) -> frozenset[str]:
    """What a row has to be, one by one.

    Args:
        predicates: all of which must hold.

    >>> sorted(conjuncts(["protocol = 'TCP' AND port = 80"]))
    ['port = 80', "protocol = 'TCP'"]
    >>> len(conjuncts(["size BETWEEN 1 AND 2"]))
    1
    """
    found: list[str] = []
    for text in predicates:
        found += [text] if _UNCLEAR.search(text) else _AND.split(text)
    return frozenset(" ".join(one.split()) for one in found)
