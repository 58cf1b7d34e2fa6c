"""Which queries can be answered from a sample of the rows, and which with some windows missing."""

from __future__ import annotations

from penstock.drops.kinds import AnswerKind, Approximate, kind_name
from penstock.drops.refusals import check_approximate, check_subset
from penstock.errors import UsageError, complaint
from penstock.network.graph import Graph
from penstock.network.operators import Aggregate, depth

ESTIMATED = ("count", "sum", "avg")
"""Functions whose estimates from a sample have bounds."""


def check_kind(graph: Graph, name: str, kind: AnswerKind, *, alone: bool) -> None:
    """Refuses answers that cannot be what they are asked to be.

    Args:
        graph: the network.
        name: of the query.
        kind: what is asked.
        alone: whether it runs beside the shared stream, where nothing is dropped.
    """
    what, node = f"query {name}", graph.queries[name]
    if alone or not isinstance(node, Aggregate):
        rule = f"must be one over time windows, for {kind_name(kind)} answers"
        raise UsageError(complaint(what, rule, str(node)))
    if not isinstance(kind, Approximate):
        check_subset(graph, name)
        return
    check_approximate(graph, name)
    hint = "use subset(max_gap=…), which leaves out whole windows"
    if depth(node) > 1:
        rule = "must be over a stream, not over windows, for approximate answers"
        raise UsageError(complaint(what, rule, str(node), hint))
    for answer, function in node.query.aggregates.items():
        if function.function not in ESTIMATED:
            rule = f"must be {', '.join(ESTIMATED[:-1])} or {ESTIMATED[-1]} for approximate answers"
            raise UsageError(complaint(f"{what}, {answer}", rule, str(function), hint))
