"""What a node has to say of itself."""

from __future__ import annotations

from typing import Any

from penstock.engine.fleet.node import NodeRun
from penstock.fleet.statistics import told as told_of

_LAST = 100
"""Batches whose response times are told."""


def report(run: NodeRun) -> dict[str, Any]:
    """What became of rows, and what was ignored, as plain values.

    Args:
        run: the node.
    """
    seen = run.seen
    told = [
        one.responses[-_LAST:] for one in (run.relay and run.relay.bearing, run.answering) if one
    ]
    return {
        "node": run.node,
        "accounts": {
            **(dict(run.relay.accounts) if run.relay is not None else {}),
            **(run.answering.accounts if run.answering is not None else {}),
        },
        "p95": max((_p95(some) for some in told if some), default=None),
        "responses": [[round(at, 3), round(took, 3)] for some in told for at, took in some],
        "target": run.pipeline.latency,
        "keeps": {str(place): share for place, share in run.member.keeps.items()},
        "costs": {} if seen is None else {n: o.cost for n, o in seen.operators.items()},
        "fixed_share": 0.0 if seen is None else seen.costs.fixed / run.pipeline.period,
        "statistics": None if seen is None else told_of(seen),
        "period": run.pipeline.period,
        "rates": {} if seen is None else {n: s.rate for n, s in seen.streams.items()},
        "ignored": run.mailbox.ignored,
        "reports": list(run.mailbox.reports),
    }


def _p95(responses: list[tuple[float, float]]) -> float:
    some = sorted(took for _, took in responses)
    return some[int(0.95 * (len(some) - 1))]
