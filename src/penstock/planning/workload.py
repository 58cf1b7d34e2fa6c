"""What a plan is made from: operators with their costs, queries with what they want, a capacity.

    rate ─► stream ─► operator (cost, selectivity) ─► … ─► query (hardness, weight, answers)

Operators are known by their number, so that a network of thousands is planned without walking
through operators that contain one another. All is plain values: statistics of a running network
(`known`), or numbers made up for an example, give the same workload.

Babcock, Datar and Motwani, "Load Shedding for Aggregation Queries over Data Streams", ICDE 2004,
§2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from penstock.control.checks import amount, positive
from penstock.errors import SpecificationError, complaint
from penstock.planning.asked import Asked, Errors, Node
from penstock.planning.expected import tail

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Workload:
    """A network with its statistics.

    Args:
        nodes: those first that feed others.
        queries: in any order.
        capacity: seconds of work that can be done in a second.
        drop_cost: seconds for each row that a drop looks at; 0 if that is next to nothing.
        delta: the probability with which an error may be greater than its bound.
        margin: added to each C, for data that change.
        errors: what is made as small as possible.
        enough: quantiles need not be smaller; what is left is shared out evenly (see `sampling`).

    >>> nodes = Node("packets", rate=1000.0, cost=0.0), Node("web", (0,), cost=0.002)
    >>> Workload(nodes, (Asked("web", 1),)).work.tolist()
    [0.0, 2.0]
    """

    nodes: tuple[Node, ...]
    queries: tuple[Asked, ...]
    capacity: float = 1.0
    drop_cost: float = 0.0
    delta: float = 0.01
    margin: float = 0.0
    errors: Errors = "bound"
    enough: float = 0.0

    def __post_init__(self) -> None:
        positive("capacity", self.capacity)
        amount("drop_cost", self.drop_cost)
        amount("margin", self.margin)
        amount("enough", self.enough)
        if not 0 < self.delta < 1:
            raise SpecificationError(complaint("delta", "must be between 0 and 1", self.delta))
        for number, node in enumerate(self.nodes):
            if not all(0 <= i < number for i in node.inputs):
                rule = f"of {node.name!r} must be numbers of nodes that stand before it"
                raise SpecificationError(complaint("inputs", rule, node.inputs))
        for query in self.queries:
            if not 0 <= query.node < len(self.nodes):
                rule = "must be the number of a node"
                raise SpecificationError(complaint(f"node of {query.name!r}", rule, query.node))

    @cached_property
    def rows_in(self) -> Floats:
        """Rows per second that each takes in when nothing is dropped."""
        out: list[float] = []
        into: list[float] = []
        for node in self.nodes:
            rows = sum(out[i] for i in node.inputs) if node.inputs else node.rate
            into.append(rows)
            out.append(rows * node.selectivity)
        return np.array(into)

    @cached_property
    def work(self) -> Floats:
        """Seconds of work per second of each when nothing is dropped; none if no query needs it."""
        needed = self.spread(dict.fromkeys(range(len(self.queries)), 1.0)) > 0
        costs: Floats = np.array([node.cost for node in self.nodes])
        return np.where(needed | self.streams, self.rows_in * costs, 0.0)

    @cached_property
    def total(self) -> float:
        """Seconds of work per second when nothing is dropped."""
        return float(self.work.sum())

    @cached_property
    def rows_out(self) -> Floats:
        """Rows per second that each hands on when nothing is dropped."""
        share: Floats = np.array([node.selectivity for node in self.nodes])
        return np.multiply(self.rows_in, share)

    @cached_property
    def parents(self) -> tuple[tuple[int, ...], ...]:
        """The nodes that feed each one, each once; a union has several."""
        return tuple(tuple(dict.fromkeys(node.inputs)) for node in self.nodes)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The nodes that each one feeds."""
        fed: list[list[int]] = [[] for _ in self.nodes]
        for number, feeding in enumerate(self.parents):
            for one in feeding:
                fed[one].append(number)
        return tuple(map(tuple, fed))

    @cached_property
    def before(self) -> tuple[tuple[int, ...], ...]:
        """The nodes that must let through what each one gets.

        Those that feed it, and of panes also the filters before the aggregates that share them.
        """
        found = [list(feeding) for feeding in self.parents]
        for node in self.nodes:
            if node.feed is not None:
                for panes in node.inputs:
                    found[panes].append(node.feed)
        return tuple(tuple(dict.fromkeys(those)) for those in found)

    @cached_property
    def streams(self) -> NDArray[np.bool_]:
        """Which nodes are streams: no drop stands before them."""
        return np.array([not node.inputs for node in self.nodes])

    @cached_property
    def answers(self) -> NDArray[np.bool_]:
        """Which nodes work on answers of windows: a sample of the rows leaves these as many."""
        found: list[bool] = []
        for parents in self.parents:
            found.append(any(found[one] or self.nodes[one].aggregate for one in parents))
        return np.array(found)

    @cached_property
    def answering(self) -> tuple[int | None, ...]:
        """The aggregate whose answers each node hands on; None if it hands on others, or rows."""
        found: list[int | None] = []
        for x, (node, parents) in enumerate(zip(self.nodes, self.parents, strict=True)):
            if node.aggregate:
                found.append(x)
            else:
                found.append(found[parents[0]] if len(parents) == 1 else None)
        return tuple(found)

    @cached_property
    def by_rows(self) -> Floats:
        """The part of the work that is less if rows are dropped at random."""
        return np.where(self.streams | self.answers, 0.0, self.work)

    def c(self, query: Asked) -> float:
        """C of the paper's §3.1.1: kept with probability P, an answer is off by at most C/P.

        Of a quantile, what an answer is off by if half of the rows are kept (see `sampling`).

        Args:
            query: one of this workload; where its answers are rows, C is 1 (§4.2).
        """
        if query.rows or math.isinf(query.hardness):
            return 1.0 if math.isfinite(query.hardness) else math.inf
        if self.errors == "quantile":
            return math.sqrt(query.hardness) * tail(self.delta, query.groups) + self.margin
        return math.sqrt(query.hardness / 2 * math.log(2 / self.delta)) + self.margin

    def error(self, query: Asked, keep: float) -> float:
        """The relative error that an answer exceeds with probability δ at most, unweighted.

        Args:
            query: one of this workload.
            keep: P, greater than 0.
        """
        if self.errors == "quantile":
            return self.c(query) * math.sqrt((1 - keep) / keep)
        return self.c(query) / keep if keep < 1 else 0.0

    def spread(self, wanted: Mapping[int, float]) -> Floats:
        """The greatest of what is wanted by the queries that stand on each node; 0 for none.

        Args:
            wanted: number of a query → a number, 0 or more.
        """
        if not wanted:
            return np.zeros(len(self.nodes))
        found = [0.0] * len(self.nodes)
        before = self.before
        for number, value in wanted.items():
            node = self.queries[number].node
            found[node] = max(found[node], value)
        for number in range(len(self.nodes) - 1, -1, -1):
            value = found[number]
            if value:
                for one in before[number]:
                    found[one] = max(found[one], value)
        return np.array(found)

    def standing(self, queries: Iterable[int]) -> list[bool]:
        """Of each node, whether one of the queries stands on it.

        Args:
            queries: their numbers.
        """
        before = self.before
        found = [False] * len(self.nodes)
        waiting = [self.queries[number].node for number in queries]
        while waiting:
            x = waiting.pop()
            if not found[x]:
                found[x] = True
                waiting += before[x]
        return found
