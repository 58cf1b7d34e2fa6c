"""Which windows are dropped: a small value, kept for the windows that are open or still to come.

    windows of a query    0  1  2  3  4  5  6  7  8  9 …
                          closed  │  x  x     x  x           x: dropped, as runs (3, 4) and (6, 7)
                             watermark

What is not named is kept. A window goes from kept to dropped at any time, and never back; once the
watermark has closed it nothing can change any more, and it is forgotten.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from penstock.drops.checks import whole
from penstock.errors import SpecificationError, complaint
from penstock.windows import WindowSpec, last_closed, last_wid


@dataclass(frozen=True, slots=True, order=True)
class Run:
    """Dropped windows that follow one another, by one decision.

    Args:
        first: window-id of the first.
        last: window-id of the last.
        by: the batch for which it was decided.
        revoked: whether they were open by then, and may have counted rows.
        skipped: whether they were jumped over, whatever the gap tolerance.
    """

    first: int
    last: int
    by: int = -1
    revoked: bool = False
    skipped: bool = False

    def __post_init__(self) -> None:
        whole("last window of a run", self.last, least=self.first)


@dataclass(frozen=True, slots=True)
class Frontier:
    """How far a window drop has decided.

    Args:
        decided: the first unit of windows that has not been decided yet.
        debt: units that were opened though their coin said drop, to be dropped elsewhere.
    """

    decided: int
    debt: int = 0


@dataclass(frozen=True, slots=True)
class Level:
    """How likely a group's windows are dropped in a stretch of batches of windows.

    Args:
        first: number of the first batch.
        last: number of the last one.
        threshold: a group is dropped there if its hash is below; it only ever rises.
        stride: the windows of a batch, B + 1.
    """

    first: int
    last: int
    threshold: int
    stride: int


@dataclass(frozen=True, slots=True)
class Decisions:
    """What has been decided for all queries. It never changes: `advance` makes the next one.

    Args:
        watermark: windows that end by then are closed and forgotten, in microseconds; None before
            the first.
        dropped: name of a query → its dropped windows, in their order.
        levels: name of a query that is dropped per group → its levels, in their order.
        frontiers: the queries of a window drop → how far it has decided.
        suppress_until: every window of every query that has rows from before this event time is
            suppressed, in microseconds: decisions were lost, and rows with them. None as a rule.

    >>> some = Decisions(dropped={"bytes": (Run(3, 4), Run(6, 7))})
    >>> [w for w in range(10) if some.is_dropped("bytes", w)]
    [3, 4, 6, 7]
    >>> Decisions.from_json(some.to_json()) == some
    True
    """

    watermark: int | None = None
    dropped: Mapping[str, tuple[Run, ...]] = field(default_factory=dict)
    levels: Mapping[str, tuple[Level, ...]] = field(default_factory=dict)
    frontiers: Mapping[str, Frontier] = field(default_factory=dict)
    suppress_until: int | None = None

    def __post_init__(self) -> None:
        several: list[Mapping[str, Sequence[Run | Level]]] = [self.dropped, self.levels]
        for by_query in several:
            for query, runs in by_query.items():
                if any(b.first <= a.last for a, b in pairwise(runs)):
                    rule = f"of {query!r} must be in order, and apart"
                    raise SpecificationError(complaint("dropped windows", rule, runs))

    def runs(self, query: str) -> tuple[Run, ...]:
        """The dropped windows of a query, those of it that are remembered."""
        return self.dropped.get(query, ())

    def run_of(self, query: str, w: int) -> Run | None:
        """The run that a window is dropped in; None if it is kept.

        Args:
            query: its name.
            w: a window-id.
        """
        runs = self.runs(query)
        at = bisect_right(runs, w, key=lambda run: run.first) - 1
        return runs[at] if at >= 0 and w <= runs[at].last else None

    def is_dropped(self, query: str, w: int) -> bool:
        """Whether a window of a query is dropped for all of its groups."""
        return self.run_of(query, w) is not None

    def is_lost(self, window: WindowSpec, w: int, reach: int = 0) -> bool:
        """Whether a window is suppressed because decisions about it were lost.

        Args:
            window: of the query.
            w: a window-id.
            reach: how long before the window begins its first rows may lie, in microseconds.
        """
        if self.suppress_until is None:
            return False
        last = last_wid(self.suppress_until + reach - 1, window)
        return last is None or w <= last

    def threshold(self, query: str, batch: int) -> int:
        """Groups whose hash is below this are dropped in that batch of windows; 0 drops none."""
        levels = self.levels.get(query, ())
        at = bisect_right(levels, batch, key=lambda level: level.first) - 1
        return levels[at].threshold if at >= 0 and batch <= levels[at].last else 0

    def first_open(self, window: WindowSpec) -> int | None:
        """The first window that is not closed; None where any may be open."""
        return None if self.watermark is None else last_closed(self.watermark, window) + 1

    def to_json(self) -> dict[str, Any]:
        """Plain values, short ones: lists of numbers in the order of the fields."""
        return {
            "watermark": self.watermark,
            "dropped": {
                query: [[r.first, r.last, r.by, r.revoked + 2 * r.skipped] for r in runs]
                for query, runs in self.dropped.items()
            },
            "levels": {
                query: [
                    [level.first, level.last, level.threshold, level.stride] for level in levels
                ]
                for query, levels in self.levels.items()
            },
            "frontiers": {key: [one.decided, one.debt] for key, one in self.frontiers.items()},
            "suppress_until": self.suppress_until,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Decisions:
        """What `to_json` gave."""
        return cls(
            values["watermark"],
            {
                query: tuple(
                    Run(first, last, by, bool(why & 1), bool(why & 2))
                    for first, last, by, why in runs
                )
                for query, runs in values["dropped"].items()
            },
            {
                query: tuple(Level(*level) for level in levels)
                for query, levels in values["levels"].items()
            },
            {key: Frontier(*one) for key, one in values["frontiers"].items()},
            values["suppress_until"],
        )


def ordered(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Runs in their order; those that touch and were decided together are one.

    >>> ordered([Run(5, 6), Run(3, 4), Run(7, 7, by=2)])
    (Run(first=3, last=6, ...), Run(first=7, last=7, by=2, ...))
    """
    found: list[Run] = []
    for run in sorted(runs):
        joined = replace(found[-1], last=run.last) if found else run
        if found and replace(run, first=joined.first) == joined and found[-1].last + 1 == run.first:
            found[-1] = joined
        else:
            found.append(run)
    return tuple(found)
