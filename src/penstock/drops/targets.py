"""Queries with a common window drop are dropped in units: the windows that begin in its slide.

unit                 0           1           2           the common slide is 6
SLIDE 2, RANGE 3     |--|        |--|        |--|
                       |--|        |--|        |--|      3 windows begin in each unit
                         |--|        |--|        |--|
SLIDE 3, RANGE 3     |--|        |--|        |--|
                        |--|        |--|        |--|     2 windows begin in each unit
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.drops.checks import named, whole
from penstock.errors import SpecificationError, complaint
from penstock.windows import Kind, WindowSpec, last_wid

KINDS = frozenset({Kind.SLIDING, Kind.TUMBLING, Kind.CUMULATIVE})
"""Windows of which it is known without their rows when they begin and end."""

_MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class Target:
    """A query whose windows may be dropped.

    Args:
        name: of the query.
        window: its window over time.
        max_gap: B, how many windows in a row may be missing from its answers.
        per_group: whether each group has decisions of its own.
        reach: how long before a window begins its first rows may lie, in microseconds: answers that
            it is made of are themselves of windows.

    >>> from penstock.windows import sliding
    >>> Target("bytes", sliding("60 s", "5 s", on="ts"), max_gap=12).max_gap
    12
    """

    name: str
    window: WindowSpec
    max_gap: int
    per_group: bool = False
    reach: int = 0

    def __post_init__(self) -> None:
        named("query", self.name)
        whole("max_gap", self.max_gap, most=_MOST)
        whole("reach", self.reach)
        kind = self.window.kind
        if kind not in KINDS:
            hint = "rows of others cannot be told to belong to dropped windows only"
            rule = f"of {self.name!r} must be sliding, tumbling or cumulative"
            raise SpecificationError(complaint("window", rule, kind.value, hint))


def last_of(t: int, target: Target) -> int:
    """The last window of a query that begins at or before a time.

    Args:
        t: in microseconds.
        target: the query.
    """
    last = last_wid(t, target.window)
    assert last is not None  # noqa: S101 - only landmark windows have no last one
    return last


@dataclass(frozen=True, slots=True)
class Units:
    """The windows of one query that belong to each unit of a common slide.

    Args:
        window: of the query.
        slide: the common one, in microseconds, a multiple of the window's.
    """

    window: WindowSpec
    slide: int

    def __post_init__(self) -> None:
        if self.slide % self.window.slide:
            rule = f"must be a multiple of the slide of {self.window}"
            raise SpecificationError(complaint("slide of a window drop", rule, self.slide))

    @property
    def count(self) -> int:
        """Windows in each unit."""
        return self.slide // self.window.slide

    def windows(self, unit: int) -> range:
        """The windows that begin in the unit (of cumulative ones, their last slide does)."""
        first = unit * self.count + self._first
        return range(first, first + self.count)

    def unit(self, w: int) -> int:
        """The unit that a window belongs to."""
        return (w - self._first) // self.count

    @property
    def _first(self) -> int:
        """The first window that begins at 0 or later: there unit 0 begins."""
        length = self.window.slide if self.window.range is None else self.window.range
        return -((self.window.origin - length) // self.window.slide) - 1
