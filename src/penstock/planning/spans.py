"""One window drop for several aggregates: what it has to keep together, and how often it decides.

    pipeline    A1 ─► A2            ω = ω1 + ω2 - 1     δ = δ2             B = B2
    fan-out      ┌─► A1             ω = δ + max(ωi - δi)
                ─┴─► A2             δ = lcm(δ1, δ2)                        B = min ⌊Bi / (δ / δi)⌋

Any network is a composition of the two, and the order in which they are applied does not matter.

Tatbul and Zdonik, "Window-Aware Load Shedding for Aggregation Queries over Data Streams", VLDB
2006, §3.2.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """The parameters of WinDrop(ω, δ, B), where it could stand.

    Args:
        range: ω: what a kept window needs, in the unit of the windows.
        slide: δ: from one decision to the next.
        batch: B, in windows of this span; None if any number may be missing.
        kind: what all windows downstream have in common, such as their keys.
    """

    range: int
    slide: int
    batch: int | None = None
    kind: Hashable = ()

    @property
    def extent(self) -> int:
        """What a kept window needs of the rows of the windows after it."""
        return max(0, self.range - self.slide)

    @property
    def overlap(self) -> int:
        """⌊ω/δ⌋: with a smaller B no row belongs to dropped windows only (§3.4)."""
        return max(1, self.range // self.slide)

    @property
    def drops_early(self) -> bool:
        """Whether rows can be dropped, and not only windows."""
        return self.batch is None or self.batch >= self.overlap

    def kept(self, p: float, run: int) -> float:
        """The share of rows that stays when p of the windows are dropped.

        Args:
            p: the share of windows.
            run: how long a dropped batch is, B·δ of the drop.

        >>> Span(4, 1, batch=7).kept(7 / 8, run=7)  # o / (B + 1) at the most that B allows
        0.5
        """
        return 1 - p * max(0.0, 1 - self.extent / run)

    def least(self, batch: int) -> float:
        """The share of rows that stays at the least: o / (B + 1), and all with B below o.

        Args:
            batch: B of the drop.

        >>> Span(4, 1).least(7), Span(4, 1).least(2)
        (0.5, 1.0)
        """
        return min(1.0, max(self.range, self.slide) / self.slide / (batch + 1))


def pipeline(first: Span, then: Span) -> Span | None:
    """What a drop before two aggregates, one above the other, needs; None if they differ in kind.

    Args:
        first: the aggregate that the rows reach first.
        then: what stands above it.

    >>> pipeline(Span(3, 2), Span(3, 3))
    Span(range=5, slide=3, batch=None, kind=())
    """
    if first.kind != then.kind:
        return None
    return Span(first.range + then.range - 1, then.slide, then.batch, then.kind)


def fan_out(parts: Sequence[Span]) -> Span | None:
    """What a drop before a branch needs; None if windows differ in kind, or if B allows none.

    Args:
        parts: of each branch.

    >>> fan_out([Span(3, 2, batch=6), Span(3, 3, batch=5)])
    Span(range=7, slide=6, batch=2, kind=())
    """
    if len(parts) == 1:
        return parts[0]
    if len({part.kind for part in parts}) != 1:
        return None
    slide = math.lcm(*(part.slide for part in parts))
    limits = [part.batch // (slide // part.slide) for part in parts if part.batch is not None]
    batch = min(limits, default=None)
    if batch == 0:
        return None
    longest = max(part.range - part.slide for part in parts)
    return Span(slide + longest, slide, batch, parts[0].kind)
