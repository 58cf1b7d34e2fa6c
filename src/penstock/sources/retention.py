"""What a log still has: records are deleted when they are old, and windows with them.

records of a partition      x x x x x x o o o o o o o o o …
                            deleted   │ oldest
windows        |--x--|--x--|--x--|--?--|--o--|      ?: it may have had rows that are deleted
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Held:
    """What a partition has.

    Args:
        topic: its name.
        partition: its number.
        earliest: the offset of its first record; 0 if none was ever deleted.
        oldest: when it got that record, in microseconds; None if it has no record.
        retention: how long it keeps a record, in microseconds; None if for ever.
    """

    topic: str
    partition: int
    earliest: int
    oldest: int | None
    retention: int | None = None


def complete_since(held: Iterable[Held], *, ahead: int, now: int) -> int | None:
    """Rows of events after this time are all there; None if nothing has been deleted yet.

    Args:
        held: all partitions.
        ahead: how far an event may be ahead of its record, in microseconds.
        now: in microseconds: a partition without a record may have lost one until now.

    >>> held = [Held("a", 0, 0, 50), Held("a", 1, 7, 60), Held("a", 2, 9, 40)]
    >>> complete_since(held, ahead=5, now=100), complete_since(held[:1], ahead=5, now=100)
    (65, None)
    """
    lost = [one for one in held if one.earliest > 0]
    times = [now if one.oldest is None else one.oldest for one in lost]
    return max(times) + ahead if times else None


def kept_until(held: Sequence[Held], since: int) -> int | None:
    """When records of that time begin to be deleted, about; None if they are not.

    Args:
        held: all partitions.
        since: the time of an event, in microseconds.
    """
    kept = [one.retention for one in held if one.retention is not None]
    return since + min(kept) if kept else None
