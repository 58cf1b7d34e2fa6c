"""Which queries can be answered from a sample of the rows, and which with some windows missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.drops.kinds import (
    AnswerKind,
    Approximate,
    common,
    is_per_group,
    is_sampled,
    kind_name,
)
from penstock.drops.refusals import check_approximate, check_subset
from penstock.errors import UsageError, complaint
from penstock.network.graph import Graph
from penstock.network.operators import Aggregate, Join, Map, Source, depth, upstream

OF_THE_PAPER = ("count", "sum", "avg")
"""Functions whose estimates from a sample have the bounds of the paper as well."""
ESTIMATED = (
    *OF_THE_PAPER,
    *("var_pop", "var_samp", "stddev_pop", "stddev_samp", "approx_percentile"),
)
"""Functions whose estimates from a sample have bounds."""


def check_weights(graph: Graph, name: str, kind: AnswerKind, columns: Sequence[str] = ()) -> None:
    """Refuses answers over rows that stand for several as if each were one.

    Args:
        graph: the network.
        name: of the query.
        kind: what is asked.
        columns: of the rows that it delivers, if it has no windows.
    """
    node = graph.queries[name]
    listed = [column.lower() for column in columns]
    for source in upstream(node):
        if not isinstance(source, Source) or source.weight is None:
            continue
        if depth(node) and not isinstance(kind, Approximate):
            rule = f"must have approximate answers: rows of {source.name} have a weight"
            hint = "use approximate(), or a stream without weight= if the rows themselves are meant"
            raise UsageError(complaint(f"query {name}", rule, kind_name(kind), hint))
        if not depth(node) and source.weight.lower() not in listed:
            rule = f"must hand on the weight of {source.name}, {source.weight}, with its rows"
            got, hint = ", ".join(columns), f"select({source.weight!r}, …)"
            raise UsageError(complaint(f"query {name}", rule, got, hint))


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
        if is_per_group(kind) and (depth(node) > 1 or graph.users[node] != (name,)):
            rule = "must be over a stream, with nothing above it, to be dropped per group"
            hint = "subset(max_gap=…) drops its windows for all groups"
            raise UsageError(complaint(what, rule, str(node), hint))
        return
    check_approximate(graph, name)
    hint = "use subset(max_gap=…), which leaves out whole windows"
    if kind.floor is not None:
        _check_floor(what, node)
    for answer, function in node.query.aggregates.items():
        if function.function not in ESTIMATED:
            rule = f"must be {', '.join(ESTIMATED[:-1])} or {ESTIMATED[-1]} for approximate answers"
            raise UsageError(complaint(f"{what}, {answer}", rule, str(function), hint))
        if kind.bounds == "hoeffding" and function.function not in OF_THE_PAPER:
            rule = "must be count, sum or avg for bounds='hoeffding'"
            other = "bounds='variance' has them for all"
            raise UsageError(complaint(f"{what}, {answer}", rule, str(function), other))


def kinds_of_rows(graph: Graph, kinds: Mapping[str, AnswerKind]) -> dict[Aggregate, str]:
    """Aggregate → what may become of its rows: what all its queries allow.

    Those over streams, and of those over windows the ones whose answers are estimates.

    Args:
        graph: the network.
        kinds: query → what may become of its answers.
    """
    users = graph.users
    aggregates = [one for one in graph.operators if isinstance(one, Aggregate)]
    allowed = {a: common([kinds.get(name) for name in users[a]]) for a in aggregates}
    found = {a: kind for a, kind in allowed.items() if depth(a) == 1}
    above = {
        a: [one for one in upstream(a) if isinstance(one, Aggregate) and one in found]
        for a, kind in allowed.items()
        if depth(a) > 1 and kind == "approximate"
    }

    def whole(a: Aggregate) -> bool:
        return not all(is_sampled(found[one]) for one in above[a])

    # A sum has no bounds if only some of what it sums is a sample: then none of it is.
    while mixed := [one for a in above if whole(a) for one in above[a] if is_sampled(found[one])]:
        found |= dict.fromkeys(mixed, "exact")
    return found | {a: "approximate" for a in above if not whole(a)}


def _check_floor(what: str, node: Aggregate) -> None:
    """Groups are told apart where rows enter, by columns that they have there."""
    if depth(node) > 1:
        rule = "must be over a stream, not over windows, for a floor"
        raise UsageError(complaint(what, rule, str(node), "leave out floor="))
    keys = [key.lower() for key in node.query.keys]
    if not keys:
        raise UsageError(complaint(what, "must have groups, for a floor", "none"))
    for operator in upstream(node.input):
        made: list[str] = []
        if isinstance(operator, Map):
            made = [n for n, e in operator.columns if str(e).strip("`").lower() != n.lower()]
        elif isinstance(operator, Join):
            made = list(operator.added)
        if computed := [name for name in made if name.lower() in keys]:
            rule = "must have groups by columns of the stream, for a floor"
            raise UsageError(complaint(what, rule, ", ".join(computed)))
