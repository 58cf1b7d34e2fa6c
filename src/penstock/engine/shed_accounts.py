"""Where the rows of a batch went, for each query: they are dropped, not asked for, or taken.

    rows of its streams = shed where they enter + not asked for + shed on the way + taken

What becomes of the rows that were taken (late, without a time) is told when their windows close.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.engine.part import Part
from penstock.engine.run import ACCOUNTS
from penstock.network.operators import Aggregate, Source, base, depth, feeds, upstream

SHED_ACCOUNTS = ("rows_in", "shed_at_stream", "shed_on_the_way", "not_asked", "taken")


def shed_in(part: Part, name: str, progress: Mapping[str, Any]) -> dict[str, int]:
    """The accounts of one batch.

    Args:
        part: what runs.
        name: of a query.
        progress: Spark's report of the batch.
    """
    metrics, shared = progress.get("observedMetrics", {}), part.shared
    total = dict.fromkeys(SHED_ACCOUNTS, 0)
    below = list(upstream(part.graph.queries[name]))
    ones = [a for a in below if isinstance(a, Aggregate) and depth(a) == 1]
    sources = list(shared.rows)
    for source in (one for one in below if isinstance(one, Source)):
        metric = f"{part.metric}_s{sources.index(source)}"
        seen, folds = metrics.get(metric, {}), metrics.get(f"{metric}_folds", {})
        rows, gone = seen.get("rows", 0), seen.get("shed", 0)
        for aggregate in ones:
            number = shared.number[aggregate]
            if f"a{number}_taken" not in folds:
                continue
            taken, shed = folds[f"a{number}_taken"], folds[f"a{number}_shed"]
            total["rows_in"] += rows
            total["shed_at_stream"] += gone
            total["shed_on_the_way"] += shed
            total["taken"] += taken
            total["not_asked"] += rows - gone - shed - taken
    return total


def shed_at(part: Part, source: Source, progress: Mapping[str, Any]) -> int:
    """The rows of a stream that were dropped where they entered, in one batch."""
    number = list(part.shared.rows).index(source)
    seen = progress.get("observedMetrics", {}).get(f"{part.metric}_s{number}", {})
    return int(seen.get("shed", 0))


def taken_by(part: Part, aggregate: Aggregate, progress: Mapping[str, Any]) -> int:
    """The rows that an aggregate over a stream took in, in one batch."""
    metrics, name = progress.get("observedMetrics", {}), f"a{part.shared.number[aggregate]}_taken"
    folds = (metrics.get(f"{part.metric}_s{i}_folds", {}) for i in range(len(part.shared.rows)))
    return sum(int(seen.get(name, 0)) for seen in folds)


def reported(part: Part, name: str, report: Mapping[str, Any]) -> dict[str, int]:
    """What Spark's report of a batch says of the rows of a query.

    Args:
        part: what runs.
        name: of the query.
        report: of the batch.
    """
    total = dict.fromkeys(("rows", *ACCOUNTS[:-1]), 0)
    of = {
        one for feed in feeds(part.graph.queries[name]) if isinstance(one := base(feed), Aggregate)
    }
    seen = report.get("observedMetrics", {}).get(part.metric or "", {})
    for aggregate in of:
        number = part.shared.number[aggregate]
        for what in total:
            total[what] += seen.get(f"a{number}_{what}", 0)
    if part.shared_sheds:
        total |= shed_in(part, name, report)
    return total
