"""What share of its rows a batch has left to an aggregate, by what was ordered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from penstock.drops.arrays import Flags


def share_kept(left: float | Flags, report: Mapping[str, Any]) -> float:
    """The share of its rows that an aggregate got: rows are about as many at any time of a batch.

    Args:
        left: the share, or the times whose rows it did not get.
        report: of the batch.
    """
    if not isinstance(left, Flags):
        return left
    times = report.get("eventTime", {})
    since, until = (micros(times[name]) if name in times else 0 for name in ("min", "max"))
    return 1.0 - left.share(since, max(until, since + 1))


def micros(time: str) -> int:
    """Microseconds since the epoch of a time as Spark's reports have it, in milliseconds."""
    return round(datetime.fromisoformat(time).timestamp() * 1000) * 1000
