"""How many answers pass each operator that stands on windows: they are few, so each is counted.

    windows ─► filter ─► windows over windows ─► filter ─► delivered
           level 2                          level 3

An operator is counted where it is first used: before the windows of a level, or above all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.engine.flow import Flow
from penstock.network.operators import Aggregate, Operator, base, depth, feeds, inputs

Levels = Mapping[int, Sequence[Operator]]
"""Level → the operators that are counted before its windows."""


def on_windows(aggregates: Sequence[Aggregate], delivered: Iterable[Operator] = ()) -> Levels:
    """The operators on windows, and the windows that they stand on, each where it is counted.

    Args:
        aggregates: all of them.
        delivered: what the queries ask for; what stands on the last windows is counted after them.
    """
    top = max(map(depth, aggregates), default=0)
    uses = {
        level: [a.input for a in aggregates if depth(a) == level] for level in range(2, top + 1)
    }
    uses[top + 1] = [node for node in delivered if not isinstance(node, Aggregate)]
    seen: set[Operator] = set()
    found: dict[int, list[Operator]] = {}
    for level, nodes in uses.items():
        found[level] = []
        for one in (one for node in nodes for feed in feeds(node) for one in _from_windows(feed)):
            if one not in seen:
                seen.add(one)
                found[level].append(one)
    return found


def counting(flow: Flow, levels: Levels, level: int, metric: str) -> DataFrame:
    """The frame of a flow, whose rows are counted as they pass its operators.

    Args:
        flow: over the answers of the level below, with all operators.
        levels: from `on_windows`.
        level: whose operators are counted.
        metric: the name of the network's metric; each level has one of its own.
    """
    if not levels[level]:
        return flow.frame
    sums = [F.count_if(flow.passes(one)).alias(f"p{i}") for i, one in enumerate(levels[level])]
    return flow.frame.observe(f"{metric}_{level}", *sums)


def rows_passed(observed: Mapping[str, Any], levels: Levels, metric: str) -> dict[Operator, int]:
    """The rows that each operator hands on, as Spark has observed them in a batch."""
    return {
        one: seen.get(f"p{i}") or 0
        for level, operators in levels.items()
        if (seen := observed.get(f"{metric}_{level}"))
        for i, one in enumerate(operators)
    }


def _from_windows(feed: Operator) -> list[Operator]:
    """The windows that a feed stands on, and what is done to them, in this order."""
    if not isinstance(base(feed), Aggregate):
        return []
    chain = [feed]
    while not isinstance(chain[-1], Aggregate):
        chain += inputs(chain[-1])
    return chain[::-1]
