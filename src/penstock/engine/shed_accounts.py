"""Where the rows of a batch went, for each query: they are dropped, not asked for, or taken.

    rows of its streams = shed where they enter + not asked for + shed on the way + taken

What becomes of the rows that were taken (late, without a time) is told when their windows close.
"""

from __future__ import annotations

from typing import Any

from penstock.engine.part import Part
from penstock.network.operators import Aggregate, Source, depth, upstream

SHED_ACCOUNTS = ("rows_in", "shed_at_stream", "shed_on_the_way", "not_asked", "taken")


def shed_in(part: Part, name: str, progress: dict[str, Any]) -> dict[str, int]:
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
