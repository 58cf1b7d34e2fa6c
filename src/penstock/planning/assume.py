"""The workload of a network: what is known of it, what its queries want, and guesses for the rest.

A plan is only as good as the guesses, so all of them are said.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from penstock.control.checks import known as is_known
from penstock.control.prior import asking, taking
from penstock.network.graph import Graph
from penstock.network.operators import Aggregate, Operator, Source, inputs, kind
from penstock.network.settings import QuerySettings
from penstock.planning.asked import Errors, Node, Window
from penstock.planning.guesses import GROUPS, RATE, SELECTIVITY, Guesses
from penstock.planning.known import Known
from penstock.planning.panes import share_panes
from penstock.planning.wanted import Network, asked
from penstock.planning.workload import Workload
from penstock.windows import DOMAIN_KINDS, Kind, WindowSpec
from penstock.windows.durations import SECOND


def workload(
    graph: Graph,
    known: Known,
    queries: Mapping[str, QuerySettings] | None = None,
    *,
    shared_panes: bool = False,
    folds: Iterable[Sequence[str]] | None = None,
    errors: Errors = "bound",
) -> tuple[Workload, tuple[str, ...]]:
    """The workload, and a line for each kind of guess in it.

    Args:
        graph: the network.
        known: what was measured, or is given.
        queries: what is wanted of the answers of each; none of them need be there.
        shared_panes: whether aggregates of the same rows by the same keys cost once (see `panes`).
        folds: the names of aggregates that are computed together, if an engine has chosen them;
            those by `shared_panes` otherwise.
        errors: what plans make as small as possible.
    """
    names = list(graph.names.values())
    streams = [source.name for source in graph.sources]
    is_known("stream", known.rates, streams)
    told = [*names, *map(taking, streams), *map(asking, streams)]
    is_known("operator", {**known.costs, **known.selectivities}, told)
    is_known("query", known.hardness, graph.queries)
    guesses = Guesses()
    number = _Numbers(graph.operators)
    nodes: list[Node] = []
    rows: list[float] = []
    behind: list[Operator] = []
    last: list[int] = []  # of each operator, the node that hands on its rows
    unit = _unit(graph, known)
    for operator, name in zip(graph.operators, names, strict=True):
        fed = tuple(last[number.of(one)] for one in inputs(operator))
        rows_in = sum(rows[i] * nodes[i].selectivity for i in fed)
        node = _node(operator, Node(name, fed), rows_in, known, guesses)
        nodes.append(_costed(node, known, unit, guesses))
        rows.append(rows_in if fed else node.rate)
        behind.append(operator)
        if isinstance(operator, Source) and taking(name) in known.costs:
            nodes.append(Node(taking(name), (len(nodes) - 1,), known.costs[taking(name)]))
            rows.append(rows[-1])
            behind.append(operator)
        last.append(len(nodes) - 1)
    network = Network(nodes, behind, rows)
    wants = queries or {}
    found = [
        asked(name, last[number.of(one)], network, wants.get(name), known=known, guesses=guesses)
        for name, one in graph.queries.items()
    ]
    load = Workload(tuple(nodes), tuple(found), errors=errors)
    if folds is None and shared_panes:
        folds = _alike(graph, number)
    if folds is not None:
        load = share_panes(load, folds)
    return load, guesses.said()


class _Numbers:
    """The number of an operator; equal ones have the same.

    Operators contain what they stand on, and to compare two is to compare all of that: they are
    found by identity where that is possible.
    """

    def __init__(self, operators: Sequence[Operator]) -> None:
        self._operators = operators
        self._same = {id(one): number for number, one in enumerate(operators)}

    @cached_property
    def _equal(self) -> dict[Operator, int]:
        return {one: number for number, one in enumerate(self._operators)}

    def of(self, operator: Operator) -> int:
        found = self._same.get(id(operator))
        return self._equal[operator] if found is None else found


def _alike(graph: Graph, number: _Numbers) -> list[list[str]]:
    """Aggregates of the same rows by the same keys."""
    found: dict[Hashable, list[str]] = {}
    for operator, name in graph.names.items():
        if isinstance(operator, Aggregate) and operator.query.window.kind in DOMAIN_KINDS:
            keys = tuple(key.lower() for key in operator.query.keys)
            alike = number.of(operator.input), keys, operator.query.late
            found.setdefault(alike, []).append(name)
    return list(found.values())


def _unit(graph: Graph, known: Known) -> float:
    """The cost of an operator that was not timed: the mean of the others, or 1."""
    streams = {source.name for source in graph.sources}
    timed = [cost for name, cost in known.costs.items() if name not in streams]
    return sum(timed) / len(timed) if timed else 1.0


def _costed(node: Node, known: Known, unit: float, guesses: Guesses) -> Node:
    cost = known.costs.get(node.name)
    if cost is None and not node.inputs:
        guesses.note("reading costs nothing", node.name)
        cost = 0.0
    elif cost is None:
        guesses.note("a row costs the same in each", node.name)
        cost = unit
    return replace(node, cost=cost)


def _node(operator: Operator, node: Node, rows: float, known: Known, guesses: Guesses) -> Node:
    if isinstance(operator, Source):
        rate = known.rates.get(node.name)
        if rate is None:
            guesses.note(f"{RATE:,.0f} rows/s", node.name)
        return replace(node, rate=RATE if rate is None else rate)
    share = known.selectivities.get(node.name)
    if isinstance(operator, Aggregate):
        share = _answers_per_row(operator, rows) if share is None else share
        return replace(node, selectivity=share, aggregate=True, window=_window(operator))
    if share is None:
        share = SELECTIVITY.get(kind(operator), 1.0)
        if share < 1:
            guesses.note(f"{100 * share:.0f} % of the rows pass", node.name)
    return replace(node, selectivity=share)


def _window(operator: Aggregate) -> Window | None:
    """Windows that can be dropped: of others, what belongs to them depends on the rows before."""
    window = operator.query.window
    if not isinstance(window, WindowSpec) or window.kind not in {Kind.SLIDING, Kind.TUMBLING}:
        return None
    keys = tuple(sorted(key.lower() for key in operator.query.keys))
    phase = window.origin % window.slide
    return Window(int(window.range or 0), window.slide, (window.unit, phase, keys))


def _answers_per_row(operator: Aggregate, rows: float) -> float:
    window = operator.query.window
    groups = GROUPS if operator.query.keys else 1
    if not isinstance(window, WindowSpec) or window.unit != "time" or not rows:
        return 1.0
    return min(1.0, groups * SECOND / window.slide / rows)
