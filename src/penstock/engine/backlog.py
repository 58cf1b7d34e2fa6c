"""How many rows of each stream wait, by the offsets that Spark reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.network.operators import Source
from penstock.sources.source import Queue


def backlog(report: Mapping[str, Any], sources: Sequence[Source]) -> dict[str, float]:
    """Rows that wait, where the source says so."""
    found = {}
    for source, told in zip(sources, report["sources"], strict=False):
        read, newest = told.get("endOffset"), told.get("latestOffset")
        if not isinstance(read, dict) or not isinstance(newest, dict):
            continue
        origin = source.origin.of if source.origin is not None else None
        if isinstance(origin, Queue):
            found[source.name] = origin.behind(read, newest)
        elif all(isinstance(partitions, dict) for partitions in newest.values()):
            found[source.name] = _records(read, newest)
    return found


def _records(read: Mapping[str, Any], newest: Mapping[str, Any]) -> float:
    """Records of Kafka that are not yet read, by topic → partition → offset."""
    behind = sum(
        int(at) - int((read.get(topic) or {}).get(partition, 0))
        for topic, partitions in newest.items()
        for partition, at in partitions.items()
    )
    return float(max(0, behind))
