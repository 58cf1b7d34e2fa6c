"""Rows that carry marks: which windows may start, and until when rows must be kept.

    mark      says
    -1        nothing
    0         no window may start here
    τ > 0     a window may start here, and all rows before τ must be kept

Tatbul and Zdonik, "Window-Aware Load Shedding for Aggregation Queries over Data Streams", VLDB
2006, Table 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

NOTHING, DISALLOWED = -1, 0


@dataclass(frozen=True, slots=True)
class Marked:
    """A row on its way.

    Args:
        time: 0 or more; rows come in order of it.
        value: what is aggregated.
        mark: -1, 0 or τ.
        fake: whether it is there for its mark only.
    """

    time: int
    value: float = 0.0
    mark: int = NOTHING
    fake: bool = False


class Stage(Protocol):
    """An operator that knows of marks."""

    def rows(self, row: Marked) -> Iterator[Marked]:
        """What goes on when a row comes in."""

    def end(self, until: int) -> tuple[list[Marked], int]:
        """What is left when no row before `until` can come any more, and when that is below."""


class Filter:
    """Keeps rows; one that it does not keep goes on as a fake if it carries a mark.

    Args:
        keeps: by value.
    """

    def __init__(self, keeps: Callable[[float], bool]) -> None:
        self._keeps = keeps

    def rows(self, row: Marked) -> Iterator[Marked]:
        """The row, or its mark."""
        if row.fake or self._keeps(row.value):
            yield row
        elif row.mark != NOTHING:
            yield replace(row, fake=True)

    def end(self, until: int) -> tuple[list[Marked], int]:
        """Nothing waits in a filter."""
        return [], until


def through(stages: Iterable[Stage], rows: Iterable[Marked], until: int) -> list[Marked]:
    """What comes out of operators in a row.

    Args:
        stages: from the source down.
        rows: in order of time.
        until: no row at this time or later is part of the stream.
    """
    found = list(rows)
    for stage in stages:
        passed = [out for row in found for out in stage.rows(row)]
        rest, until = stage.end(until)
        found = passed + rest
    return found


def answers(rows: Iterable[Marked]) -> dict[int, float]:
    """What is delivered: value by the time at which the window starts."""
    return {row.time: row.value for row in rows if not row.fake}
