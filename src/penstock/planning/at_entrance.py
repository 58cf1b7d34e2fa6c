"""Random drops where rows are asked at the entrance: a row is taken in if somebody wants it.

    packets ─► taken in ─┬─► tcp ─► A1   keeps 0.1        taken in are a tenth of all rows,
                         └─► dns ─► A2   keeps 0.9        and nine tenths of dns

What it costs to take in a row is there once for all that want it, so it is no sum over queries, and
the plan of smallest errors for a sum is not within the capacity. Drops are planned without it, for
so much less than the capacity that it fits in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from penstock.control.prior import taking
from penstock.network.graph import Graph
from penstock.network.operators import Source, upstream
from penstock.planning.asked import Node
from penstock.planning.reasons import above
from penstock.planning.result import Planned
from penstock.planning.taken import Filters, conjuncts, taken
from penstock.planning.workload import Workload

_HALVINGS = 10
_SOME = 0.01  # of what it costs to take in a row that an aggregate is believed to cost, at least


@dataclass(frozen=True)
class Entrances:
    """The streams whose rows are asked their number and no more.

    Args:
        graph: the network.
        filters: of the aggregates over such streams, what their rows are asked.
    """

    graph: Graph
    filters: Filters

    def plan(self, load: Workload, how: Callable[[Workload], Planned]) -> Planned:
        """The plan that keeps the load, with what it costs to take in rows, within the capacity.

        Args:
            load: the network.
            how: makes a plan for a load in which that costs nothing.
        """
        places = {node.name: number for number, node in enumerate(load.nodes)}
        costs = {name: float(load.work[places[name]]) for name in self._asking if name in places}
        if not any(costs.values()):
            return how(load)
        free = replace(load, nodes=self._without(load, places, costs))
        # Aggregates that were given some work have more of it than there is: it does not count.
        made_up = {
            name: float(free.work[places[name]] - load.work[places[name]])
            for some in self._asking.values()
            for name, _, _ in some
            if name in places
        }
        users = {name: of for some in self._asking.values() for name, _, of in some}

        def kept(name: str, found: Planned) -> float:
            return max((found.outcomes[query].keep for query in users[name]), default=1.0)

        def at(capacity: float) -> Planned:
            found = how(replace(free, capacity=max(capacity, 1e-9)))
            shares = {name: self._taken(load, places, name, found) for name in costs}
            after = found.after + sum(costs[name] * share for name, share in shares.items())
            after -= sum(more * kept(name, found) for name, more in made_up.items())
            # What is said of the load is said of all of it.
            other = {*above(found.after, found.capacity)}
            notes = [note for note in found.notes if note not in other]
            return replace(
                found,
                before=load.total,
                after=after,
                capacity=load.capacity,
                notes=(*notes, *above(after, load.capacity)),
            )

        # Below what streams cost all plans are alike, and so they are where there is room for all.
        low = max(load.capacity - sum(costs.values()), float(load.work[load.streams].sum()))
        high = min(load.capacity + sum(made_up.values()), free.total)
        best = at(low)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            found = at(middle)
            if found.after <= load.capacity:
                low, best = middle, found
            else:
                high = middle
        return best

    def _without(
        self, load: Workload, places: Mapping[str, int], streams: Iterable[str]
    ) -> tuple[Node, ...]:
        """The nodes, of which those cost nothing that take in rows of these streams.

        Aggregates then cost a little of it at least: where all else is for nothing, nothing
        would be dropped however much is too much.
        """
        nodes = list(load.nodes)
        for stream in streams:
            take = nodes[places[stream]]
            nodes[places[stream]] = replace(take, cost=0.0)
            for name, _, _ in self._asking[stream]:
                if name in places:
                    one = nodes[places[name]]
                    nodes[places[name]] = replace(one, cost=max(one.cost, _SOME * take.cost))
        return tuple(nodes)

    @cached_property
    def _asking(self) -> dict[str, list[tuple[str, frozenset[str], tuple[str, ...]]]]:
        """Name of what takes in the rows of a stream → aggregates, what they ask, their queries."""
        found: dict[str, list[tuple[str, frozenset[str], tuple[str, ...]]]] = {}
        for operator, name in self.graph.names.items() if self.filters else ():
            if name in self.filters:
                one = name, conjuncts(self.filters[name]), self.graph.users[operator]
                for source in upstream(operator):
                    if isinstance(source, Source):
                        found.setdefault(taking(source.name), []).append(one)
        return found

    def _taken(
        self, load: Workload, places: Mapping[str, int], stream: str, found: Planned
    ) -> float:
        """The share of the rows of a stream that a plan has taken in."""
        rows = float(load.rows_in[places[stream]])
        if rows <= 0:
            return 0.0
        return taken(
            (
                asks,
                min(1.0, float(load.rows_in[places[name]]) / rows),
                max((found.outcomes[query].keep for query in queries), default=1.0),
            )
            for name, asks, queries in self._asking[stream]
        )
