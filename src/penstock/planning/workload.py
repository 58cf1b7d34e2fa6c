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
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from penstock.control.checks import amount, positive
from penstock.errors import SpecificationError, complaint
from penstock.network.settings import ANSWERS, AnswerKind

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Window:
    """The windows of an aggregate, as far as whole ones can be dropped.

    Args:
        range: ω, in microseconds.
        slide: δ, in microseconds.
        kind: what else two aggregates must have in common if one drop is to serve both: the keys,
            where windows begin.
    """

    range: int
    slide: int
    kind: Hashable = ()


@dataclass(frozen=True, slots=True)
class Node:
    """An operator, or a stream.

    Args:
        name: as in `Graph.names`.
        inputs: the numbers of those that feed it, all smaller than its own; none for a stream.
        cost: seconds for each row that it takes in; what a stream costs no drop can save.
        selectivity: rows out for each row in.
        rate: rows per second, of a stream.
        aggregate: whether it computes windows.
        window: of an aggregate whose windows can be dropped.
    """

    name: str
    inputs: tuple[int, ...] = ()
    cost: float = 1.0
    selectivity: float = 1.0
    rate: float = 0.0
    aggregate: bool = False
    window: Window | None = None

    def __post_init__(self) -> None:
        for what, value in (
            ("cost", self.cost),
            ("selectivity", self.selectivity),
            ("rate", self.rate),
        ):
            amount(f"{what} of {self.name!r}", value)


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, and what is wanted of its answers.

    Args:
        name: of the query.
        node: the number of the operator whose rows are its answers.
        hardness: Σv²/(Σv)² of a window, of the worst group where it has groups; infinite if a
            sample would have no error bound, and the query is never sampled.
        weight: how much its error counts beside that of others.
        priority: its level; 1 is the highest, and lower ones get what higher ones leave.
        answers: "approximate" or "subset".
        max_gap: B, how many windows in a row may be missing; None if any number.
        rows: whether its answers are rows, and no windows (set-valued): rows that are missing are
            its error.
    """

    name: str
    node: int
    hardness: float = 0.01
    weight: float = 1.0
    priority: int = 1
    answers: AnswerKind = "approximate"
    max_gap: int | None = None
    rows: bool = False

    def __post_init__(self) -> None:
        positive(f"weight of {self.name!r}", self.weight)
        if not self.hardness > 0:
            rule = "must be greater than 0"
            hint = "no sample of rows that count for nothing can be off"
            what = f"hardness of {self.name!r}"
            raise SpecificationError(complaint(what, rule, self.hardness, hint))
        if self.answers not in ANSWERS:
            rule = "must be 'approximate' or 'subset'"
            raise SpecificationError(complaint(f"answers of {self.name!r}", rule, self.answers))
        for what, value in (("priority", self.priority), ("max_gap", self.max_gap)):
            if value is not None and (not isinstance(value, int) or value < 1):
                rule = "must be a whole number greater than 0"
                raise SpecificationError(complaint(f"{what} of {self.name!r}", rule, value))


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

    def __post_init__(self) -> None:
        positive("capacity", self.capacity)
        amount("drop_cost", self.drop_cost)
        amount("margin", self.margin)
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
        return self.rows_in * np.array([node.cost for node in self.nodes]) * (needed | self.streams)

    @cached_property
    def total(self) -> float:
        """Seconds of work per second when nothing is dropped."""
        return float(self.work.sum())

    @cached_property
    def rows_out(self) -> Floats:
        """Rows per second that each hands on when nothing is dropped."""
        return self.rows_in * np.array([node.selectivity for node in self.nodes])

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
    def streams(self) -> NDArray[np.bool_]:
        """Which nodes are streams: no drop stands before them."""
        return np.array([not node.inputs for node in self.nodes])

    def c(self, query: Asked) -> float:
        """C of the paper's §3.1.1: kept with probability P, an answer is off by at most C/P.

        Args:
            query: one of this workload; where its answers are rows, C is 1 (§4.2).
        """
        if query.rows or math.isinf(query.hardness):
            return 1.0 if math.isfinite(query.hardness) else math.inf
        return math.sqrt(query.hardness / 2 * math.log(2 / self.delta)) + self.margin

    def spread(self, wanted: Mapping[int, float]) -> Floats:
        """The greatest of what is wanted by the queries that stand on each node; 0 for none.

        Args:
            wanted: number of a query → a number, 0 or more.
        """
        found = [0.0] * len(self.nodes)
        for number, value in wanted.items():
            node = self.queries[number].node
            found[node] = max(found[node], value)
        for number in range(len(self.nodes) - 1, -1, -1):
            value = found[number]
            for one in self.parents[number]:
                if found[one] < value:
                    found[one] = value
        return np.array(found)
