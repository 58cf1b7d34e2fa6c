"""Windows of several queries share their panes on a grid whose lines are the edges of them all.

RANGE 6 SLIDE 2     |-----|                RANGE 4 SLIDE 4     |---|
                      |-----|                                      |---|
panes of both       | | | | | |            every second line is an edge of both
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd

from penstock.windows.spec import WindowSpec


@dataclass(frozen=True, slots=True)
class Grid:
    """Lines at `phase + n * width`, in microseconds.

    Args:
        width: from one line to the next.
        phase: of the lines; at least 0, and less than the width.
    """

    width: int
    phase: int


def grid(specs: Iterable[WindowSpec]) -> Grid:
    """The widest grid on which all windows begin and end.

    Args:
        specs: sliding, tumbling or cumulative windows over one attribute.

    >>> from penstock.windows import sliding
    >>> grid([sliding(6, 2, on="ts"), sliding(4, 4, on="ts", origin=1)])
    Grid(width=1, phase=0)
    >>> grid([sliding(60, 10, on="ts"), sliding(30, 5, on="ts")])
    Grid(width=5, phase=0)
    """
    several = list(specs)
    first = several[0].origin
    width = 0
    for spec in several:
        width = gcd(width, spec.slide, spec.range or 0, spec.origin - first)
        if spec.start is not None:
            width = gcd(width, spec.start - first)
    return Grid(width, first % width)


def ending_first(specs: Iterable[WindowSpec]) -> list[WindowSpec]:
    """Of these windows, those of which one ends first after any time; one of each that end alike.

    >>> from penstock.windows import sliding
    >>> [s.slide for s in ending_first(sliding(60, n, on="ts") for n in (10, 5, 10, 5, 4))]
    [5, 4]
    """
    found: list[WindowSpec] = []
    for spec in sorted(specs, key=lambda s: s.slide):
        if not any(
            spec.slide % one.slide == 0 and (spec.origin - one.origin) % one.slide == 0
            for one in found
        ):
            found.append(spec)
    return sorted(found, key=lambda s: -s.slide)
