"""What cannot be answered from a sample, and what cannot be answered by a subset; said at once.

approximate   needs an answer that can be scaled from a sample: count, sum, avg, variance,
              quantiles; over another aggregate only sums of its counts and sums
subset        needs an answer that a replay repeats, over windows that rows do not drive
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import SpecificationError, complaint
from penstock.network.aggregates import Aggregate as Function
from penstock.network.graph import Graph
from penstock.network.operators import (
    Aggregate,
    Filter,
    Join,
    Map,
    Operator,
    Source,
    Union,
    upstream,
)
from penstock.windows import DOMAIN_KINDS, Kind

SCALED = frozenset({"count", "sum"})
"""Answers that are scaled by 1/P, and are sums over rows: a sum of them is one again."""
CONSISTENT = frozenset(
    {"avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp", "approx_percentile"}
)
"""Answers that come nearer to the exact one as the sample grows, unscaled."""

_SUBSET_KINDS = frozenset({Kind.SLIDING, Kind.TUMBLING, Kind.CUMULATIVE})
_SUBSET = "answers='subset' drops whole windows instead, and none of its answers is wrong"


def check_approximate(graph: Graph, query: str) -> None:
    """Raises `SpecificationError` if the query cannot be answered from a sample of its rows.

    Args:
        graph: the network.
        query: its name.
    """
    for operator in upstream(graph.queries[query]):
        if isinstance(operator, Aggregate):
            _sampled(query, operator)


def check_subset(graph: Graph, query: str) -> None:
    """Raises `SpecificationError` if windows of the query cannot be dropped.

    Args:
        graph: the network.
        query: its name.
    """
    for operator in upstream(graph.queries[query]):
        if not isinstance(operator, Aggregate):
            continue
        kind = operator.query.window.kind
        if kind not in _SUBSET_KINDS:
            rule = "needs sliding, tumbling or cumulative windows for answers='subset'"
            hint = "of others, no row can be told to be in dropped windows only"
            raise _refused(query, rule, kind.value, hint)
        for function in operator.query.aggregates.values():
            if not function.repeatable:
                rule = "needs aggregates that a replay repeats for answers='subset'"
                hint = "what is delivered must be in the exact answer"
                raise _refused(query, rule, str(function), hint)


def _sampled(query: str, operator: Aggregate) -> None:
    kind = operator.query.window.kind
    if kind not in DOMAIN_KINDS:
        rule = "needs windows over time or another attribute for answers='approximate'"
        raise _refused(query, rule, kind.value, "windows that rows drive change with each drop")
    below = list(_below(operator.input))
    for function in operator.query.aggregates.values():
        if function.fold is not None or function.function not in SCALED | CONSISTENT:
            rule = "has an aggregate that a sample cannot answer for answers='approximate'"
            raise _refused(query, rule, str(function), _SUBSET)
        for path in below:
            _linear(query, function, path)


def _linear(query: str, function: Function, path: list[Operator]) -> None:
    """A sum over a path of operators down to an aggregate, of what is a sum there."""
    rule = "needs sums of sums or counts over another aggregate for answers='approximate'"
    column, lower = function.column, path[-1]
    assert isinstance(lower, Aggregate)  # noqa: S101 - paths end there
    # How many answers there are is no sum over rows: an answer is there if one row is.
    if function.function != "sum" or column is None:
        raise _refused(query, rule, str(function), _SUBSET)
    for operator in path[:-1]:
        if isinstance(operator, Filter | Join):
            between = f"{function} above {operator}"
            raise _refused(query, f"{rule}, with no filter between", between, _SUBSET)
        if isinstance(operator, Map):
            named = {name.lower(): str(expression) for name, expression in operator.columns}
            column = named.get(column.lower(), column)
    found = {name.lower(): one for name, one in lower.query.aggregates.items()}
    summed = found.get(column.strip("` ").lower())
    if summed is None or summed.function not in SCALED or summed.fold is not None:
        raise _refused(query, rule, f"{function} over {lower}", _SUBSET)


def _below(operator: Operator) -> Iterator[list[Operator]]:
    """The ways down to the next aggregates, each from above to below."""
    match operator:
        case Source():
            return
        case Aggregate():
            yield [operator]
        case Union(inputs=several):
            for one in several:
                yield from _below(one)
        case _:
            for path in _below(operator.input):
                yield [operator, *path]


def _refused(query: str, rule: str, got: str, hint: str) -> SpecificationError:
    return SpecificationError(complaint(f"query {query!r}", rule, got, hint))
