"""Session windows: rows that follow each other closely, up to a gap without any.

        ts       3  5  6           14   17             gap 5
                 x  x  x           x    x
    sessions     |----------)      |----------)        3 .. 11, 14 .. 22

A session ends where `gap` has passed after its last row. They are no windows of the paper: a window
of theirs is known by its bounds, and two may become one when a row falls between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from penstock.errors import SpecificationError, complaint
from penstock.windows.amounts import DomainUnit, length
from penstock.windows.durations import Duration, format_duration
from penstock.windows.kinds import Kind, Unit


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """Sessions of each group.

    Args:
        gap: in `unit`; a session ends when so much has passed without a row.
        rattr: the column that `gap` is on.
        unit: "time", or "value" for a column of plain whole numbers.
    """

    gap: int
    rattr: str
    unit: Unit = "time"

    def __post_init__(self) -> None:
        if self.gap <= 0:
            raise SpecificationError(complaint("gap", "must be greater than 0", self.gap))

    @property
    def kind(self) -> Kind:
        """It is of one kind only."""
        return Kind.SESSION

    def __str__(self) -> str:
        gap = format_duration(self.gap) if self.unit == "time" else str(self.gap)
        return f"SESSION {gap} WATTR {self.rattr}"


def session(gap: Duration, on: str, *, unit: DomainUnit = "time") -> SessionSpec:
    """Windows that end when `gap` has passed without a row of their group.

    Args:
        gap: a duration, or µs as an int; a plain number if `unit` is "value".
        on: the column that it is on.
        unit: "time", or "value" for a column of plain whole numbers.

    >>> print(session("30 s", on="ts"))
    SESSION 30 s WATTR ts
    """
    return SessionSpec(length(gap, "gap", unit), on, unit)


def sessions_of(times: Iterable[int], gap: int) -> Iterator[tuple[int, int]]:
    """Start and end of the sessions of one group, in order.

    Args:
        times: of its rows, in any order.
        gap: of the sessions.

    >>> list(sessions_of([17, 3, 6, 5, 14], gap=5))
    [(3, 11), (14, 22)]
    """
    begin = end = None
    for t in sorted(times):
        if begin is not None and end is not None and t >= end:
            yield begin, end
            begin = None
        begin, end = (t if begin is None else begin), t + gap
    if begin is not None and end is not None:
        yield begin, end
