"""What cannot be answered from a sample, and what cannot be answered by a subset; said at once.

approximate   needs an answer that can be scaled from a sample: count, sum, avg, variance,
              quantiles; over another aggregate only sums of its counts and sums
subset        needs an answer that a replay repeats, over windows that rows do not drive
"""

from __future__ import annotations

from penstock.drops.linear import SCALED, estimated_keys, filtered_by, over_answers, summed
from penstock.errors import SpecificationError, complaint
from penstock.network.graph import Graph
from penstock.network.operators import Aggregate, Operator, base, upstream
from penstock.windows import DOMAIN_KINDS, Kind

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
    for function in operator.query.aggregates.values():
        if function.fold is not None or function.function not in SCALED | CONSISTENT:
            rule = "has an aggregate that a sample cannot answer for answers='approximate'"
            raise _refused(query, rule, str(function), _SUBSET)
    for feed in over_answers(operator):
        _linear(query, operator, feed)


def _linear(query: str, upper: Aggregate, feed: Operator) -> None:
    """Sums over a path of operators down to an aggregate, of what are sums there."""
    rule = "needs sums of sums or counts over another aggregate for answers='approximate'"
    for function in upper.query.aggregates.values():
        between = filtered_by(feed)
        if between is not None:
            got = f"{function} above {between}"
            raise _refused(query, f"{rule}, with no filter between", got, _SUBSET)
        if summed(function, feed) is None:
            raise _refused(query, rule, f"{function} over {base(feed)}", _SUBSET)
    if keys := estimated_keys(upper, feed):
        got = ", ".join(keys)
        raise _refused(query, f"{rule}, by groups that are no answers", got, _SUBSET)


def _refused(query: str, rule: str, got: str, hint: str) -> SpecificationError:
    return SpecificationError(complaint(f"query {query!r}", rule, got, hint))
