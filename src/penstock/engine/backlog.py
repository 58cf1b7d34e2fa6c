"""How many rows lie between two offsets: those that wait, and those of a batch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.engine.files import Folder
from penstock.network.operators import Source
from penstock.sources.source import InParts, Queue

_HEAD = 2
"""Lines of an entry of the offset log before those of the sources."""


def backlog(report: Mapping[str, Any], sources: Sequence[Source]) -> dict[str, float]:
    """Rows that wait, where the source says so.

    Args:
        report: of a batch, by Spark.
        sources: of its stream.
    """
    told = [(one.get("endOffset"), one.get("latestOffset")) for one in report["sources"]]
    found = ((source.name, _rows(source, some)) for source, some in _apart(sources, told))
    return {name: rows for name, rows in found if rows is not None}


def rows_of_batch(
    checkpoint: str, batch: int, sources: Sequence[Source]
) -> dict[str, float] | None:
    """The rows that a batch took from each stream, before Spark tells; None if offsets do not say.

    Args:
        checkpoint: of the stream.
        batch: its id; it may be running.
        sources: of the stream.
    """
    log = Folder(checkpoint, "offsets")
    try:
        before, after = (_offsets(log.read(str(number))) for number in (batch - 1, batch))
    except (OSError, ValueError):
        return None
    found = {}
    for source, some in _apart(sources, list(zip(before, after, strict=False))):
        rows = _rows(source, some)
        if rows is None:
            return None
        found[source.name] = rows
    return found if len(found) == len(sources) else None


def _apart(
    sources: Sequence[Source], told: Sequence[tuple[object, object]]
) -> Iterator[tuple[Source, Sequence[tuple[object, object]]]]:
    """Of each stream its offsets; one that is read twice stands there twice, with the same ones."""
    first = 0
    for source in sources:
        origin = source.origin.of if source.origin is not None else None
        several = origin.parts if isinstance(origin, InParts) else 1
        yield source, told[first : first + several]
        first += several


def _rows(source: Source, told: Sequence[tuple[object, object]]) -> float | None:
    found = [between(source, read, newest) for read, newest in told]
    return sum(rows for rows in found if rows is not None) if found and None not in found else None


def between(source: Source, read: object, newest: object) -> float | None:
    """The rows from one offset to another; None if offsets do not tell.

    Args:
        source: the stream.
        read: where a batch has ended.
        newest: how far the source can be read.
    """
    if read is None or newest is None:
        return None
    origin = source.origin.of if source.origin is not None else None
    if isinstance(origin, Queue):
        return origin.behind(read, newest)
    if not isinstance(read, dict) or not isinstance(newest, dict):
        return None
    if all(isinstance(partitions, dict) for partitions in newest.values()):
        return _records(read, newest)
    return None


def _records(read: Mapping[str, Any], newest: Mapping[str, Any]) -> float:
    """Records of Kafka that are not yet read, by topic → partition → offset."""
    behind = sum(
        int(at) - int((read.get(topic) or {}).get(partition, 0))
        for topic, partitions in newest.items()
        for partition, at in partitions.items()
    )
    return float(max(0, behind))


def _offsets(entry: bytes) -> list[object]:
    lines = entry.decode().splitlines()[_HEAD:]
    return [None if line == "-" else json.loads(line) for line in lines]
