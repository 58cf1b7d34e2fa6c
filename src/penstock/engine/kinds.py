"""Which queries can be answered from a sample of the rows, and which with some windows missing."""

from __future__ import annotations

from penstock.drops.kinds import AnswerKind, Approximate, kind_name
from penstock.errors import UsageError, complaint
from penstock.network.operators import Aggregate, Operator, depth

ESTIMATED = ("count", "sum", "avg")
"""Functions for which a sample has an unbiased or a consistent estimate, with bounds."""

NOT_REPEATED = ("percentile_approx", "approx_percentile", "kll")
"""Functions that a replay does not repeat exactly."""


def check_kind(name: str, node: Operator, kind: AnswerKind, *, alone: bool) -> None:
    """Refuses answers that cannot be what they are asked to be.

    Args:
        name: of the query.
        node: its operator.
        kind: what is asked.
        alone: whether it runs beside the shared stream, where nothing is dropped.
    """
    what = f"query {name}"
    if alone or not isinstance(node, Aggregate):
        rule = f"must be one over time windows, for {kind_name(kind)} answers"
        raise UsageError(complaint(what, rule, str(node)))
    asked = node.query.aggregates
    if not isinstance(kind, Approximate):
        for answer, function in asked.items():
            if function.function in NOT_REPEATED:
                rule = "must be one that a replay repeats exactly, for subset answers"
                raise UsageError(complaint(f"{what}, {answer}", rule, str(function)))
        return
    hint = "use subset(max_gap=…), which leaves out whole windows"
    if depth(node) > 1:
        rule = "must be over a stream, not over windows, for approximate answers"
        raise UsageError(complaint(what, rule, str(node), hint))
    for answer, function in asked.items():
        if function.function not in ESTIMATED:
            rule = f"must be {', '.join(ESTIMATED[:-1])} or {ESTIMATED[-1]} for approximate answers"
            raise UsageError(complaint(f"{what}, {answer}", rule, str(function), hint))
