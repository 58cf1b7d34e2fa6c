"""What a node tells of itself: costs and selectivities of its boxes, rates of what enters it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from penstock.control.costs import Costs
from penstock.control.snapshot import OperatorStatistics, Snapshot, StreamStatistics
from penstock.errors import RecordDamaged, complaint


def told(snapshot: Snapshot) -> dict[str, Any]:
    """What others have to know of a node's statistics, as plain values.

    Args:
        snapshot: with a box for each operator.
    """
    return {
        "batches": snapshot.costs.batches,
        "fixed": snapshot.costs.fixed,
        "boxes": {n: [one.cost, one.selectivity] for n, one in snapshot.operators.items()},
        "rates": {n: s.rate for n, s in snapshot.streams.items() if s.rate is not None},
    }


def heard(body: Mapping[str, Any]) -> Snapshot:
    """What `told` gave; `RecordDamaged` if it cannot be.

    Args:
        body: of a message.
    """
    try:
        boxes = {
            str(name): OperatorStatistics(
                name,
                "box",
                0.0,
                0.0,
                _number(share, optional=True),
                _number(cost) or 0.0,
                0.0,
                None,
            )
            for name, (cost, share) in body["boxes"].items()
        }
        streams = {
            str(name): StreamStatistics(name, 0.0, _number(rate), None)
            for name, rate in body["rates"].items()
        }
        batches, fixed = int(body["batches"]), _number(body["fixed"]) or 0.0
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise RecordDamaged(complaint("statistics", "must be whole", dict(body))) from error
    costs = Costs(fixed, {n: one.cost for n, one in boxes.items()}, 0.0, {}, 0.0, batches)
    return Snapshot(batches, costs, boxes, streams, {}, {}, {}, None)


def _number(value: object, *, optional: bool = False) -> float | None:
    if value is None and optional:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(value)
    if not math.isfinite(value) or value < 0:
        raise ValueError(value)
    return float(value)
