"""Which column of a stream looks like its event time, by its type, its name and some values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Looks = Literal["timestamp", "text", "seconds", "milliseconds", "microseconds"]
"""A time as Spark has it; as ISO text; or as a number since 1970."""

ORDER: tuple[Looks, ...] = ("timestamp", "text", "seconds", "milliseconds", "microseconds")
PER_SECOND: dict[Looks, int] = {"seconds": 1, "milliseconds": 1_000, "microseconds": 1_000_000}

_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?")
_NAME = re.compile(r"(^|_)(ts|time|timestamp|at|when|date|datetime|epoch)($|_)|time", re.IGNORECASE)
_BEST = ("event_time", "eventtime", "event_ts", "ts", "timestamp", "time", "at")
_SINCE, _UNTIL = 1_000_000_000, 4_100_000_000
"""Seconds since 1970, from 2001 to 2099: other numbers are no times."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column that was found.

    Args:
        name: as it stands there.
        type: as Spark writes it, such as "bigint".
        looks: like what kind of time; None if like none.
    """

    name: str
    type: str
    looks: Looks | None = None


def looks_like(name: str, type_: str, values: Iterable[object]) -> Looks | None:
    """What kind of time a column holds, if any.

    Args:
        name: of the column.
        type_: as Spark writes it.
        values: some of it; None are passed over.

    >>> looks_like("at", "bigint", [1767225600000, None]), looks_like("size", "int", [1767225600])
    ('milliseconds', None)
    >>> looks_like("seen", "string", ["2026-01-01T00:00:01Z"]), looks_like("ts", "timestamp", [])
    ('text', 'timestamp')
    """
    if type_ in ("timestamp", "timestamp_ntz"):
        return "timestamp"
    known = [value for value in values if value is not None]
    if not known:
        return None
    if type_ == "string":
        return "text" if all(_ISO.fullmatch(str(value)) for value in known) else None
    if type_ not in ("int", "bigint") or not _NAME.search(name):
        return None
    numbers = [value for value in known if isinstance(value, int)]
    for looks, unit in PER_SECOND.items():
        if numbers and all(_SINCE * unit <= number < _UNTIL * unit for number in numbers):
            return looks
    return None


def guessed(columns: Sequence[Column]) -> list[Column]:
    """The columns that may be the event time, the likeliest first.

    >>> [c.name for c in guessed([Column("a", "int"), Column("made", "timestamp", "timestamp"),
    ...     Column("ts", "timestamp", "timestamp")])]
    ['ts', 'made']
    """

    def rank(column: Column) -> tuple[int, int, bool]:
        assert column.looks is not None  # noqa: S101 - the others are left out
        name = column.name.lower()
        best = _BEST.index(name) if name in _BEST else len(_BEST)
        return ORDER.index(column.looks), best, _NAME.search(name) is None

    return sorted((column for column in columns if column.looks is not None), key=rank)
