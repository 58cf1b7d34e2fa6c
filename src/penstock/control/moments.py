"""What windows tell of the values that a query sums: how many, their sum, their sum of squares.

All three add up over windows, groups and batches, and from them follow the mean and the deviation,
and `hardness`: what the error of a sampled answer depends on.

    Σv² / (Σv)²  =  (σ² + μ²) / (N μ²)          N rows in a window, of mean μ and variance σ²

A query that counts sums ones: its mean is 1, its deviation 0, its hardness 1 / N. Where rows were
shed, all are estimates of what the whole stream would have had: each row counts 1/probability.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from penstock.control.checks import amount, finite

# Any value that can be a key: a mapping of tuples is no mapping of Hashable to a type checker.
Group: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Moments:
    """The values of one window, or of several.

    Args:
        rows: how many values, in all windows together.
        total: their sum.
        squares: the sum of their squares.
        windows: how many windows.

    >>> Moments(rows=4, total=8.0, squares=24.0).deviation
    1.4142135623730951
    """

    rows: float
    total: float
    squares: float
    windows: float = 1.0

    def __post_init__(self) -> None:
        amount("rows", self.rows)
        finite("total", self.total)
        amount("squares", self.squares)
        amount("windows", self.windows)

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.rows + other.rows,
            self.total + other.total,
            self.squares + other.squares,
            self.windows + other.windows,
        )

    def faded(self, share: float) -> Moments:
        """The same windows, counting only for a share; mean, deviation and hardness stay."""
        return Moments(
            self.rows * share, self.total * share, self.squares * share, self.windows * share
        )

    @property
    def mean(self) -> float | None:
        """Of a value; None where there are no rows."""
        return self.total / self.rows if self.rows else None

    @property
    def deviation(self) -> float | None:
        """Of the values from their mean, not of the mean."""
        mean = self.mean
        if mean is None:
            return None
        # Rounding may leave a little less than nothing.
        return math.sqrt(max(0.0, self.squares / self.rows - mean * mean))

    @property
    def rows_per_window(self) -> float | None:
        """The mean number of rows in a window."""
        return self.rows / self.windows if self.windows else None

    @property
    def hardness(self) -> float:
        """Σv²/(Σv)² of a mean window: the greater, the more rows a sample needs (§3.1.1).

        Infinite where the values cancel out; 0 where all are 0, for then so is every sample's sum.

        >>> Moments(rows=500, total=500.0, squares=500.0, windows=5).hardness
        0.01
        """
        if self.squares == 0:
            return 0.0
        square = self.total * self.total
        return self.windows * self.squares / square if square else math.inf


NOTHING = Moments(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Answers:
    """The windows of one query that one batch has answered.

    Args:
        overall: of each window all rows, whatever their group.
        groups: the same by group, where the query groups.
    """

    overall: Moments
    groups: Mapping[Group, Moments] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", MappingProxyType(dict(self.groups)))

    @classmethod
    def of(cls, answers: Iterable[tuple[Hashable, Group | None, float, float, float]]) -> Answers:
        """Adds up answers as they are delivered.

        Args:
            answers: of each its window, its group (None if the query does not group), the number of
                its rows, their sum and their sum of squares.

        >>> both = Answers.of([(60, "a", 3, 6.0, 14.0), (60, "b", 1, 5.0, 25.0)])
        >>> both.overall
        Moments(rows=4.0, total=11.0, squares=39.0, windows=1)
        >>> both.groups["b"].rows_per_window
        1.0
        """
        windows: set[Hashable] = set()
        overall = NOTHING
        groups: dict[Group, Moments] = {}
        for window, group, rows, total, squares in answers:
            windows.add(window)
            one = Moments(rows, total, squares)
            overall += one
            if group is not None:
                groups[group] = groups.get(group, NOTHING) + one
        # A window of many groups is still one window.
        all_rows = Moments(overall.rows, overall.total, overall.squares, len(windows))
        return cls(all_rows, groups)
