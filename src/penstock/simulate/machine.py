"""A machine whose speed changes: other work comes and goes."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.control.checks import finite, positive
from penstock.errors import SpecificationError, complaint

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Machine:
    """Seconds of work that a second of the clock does, piece by piece.

    Args:
        pieces: (from when, in seconds; how much), the first from 0.

    >>> Machine(((0, 1.0), (100, 0.5))).end(99, 3)
    104.0
    """

    pieces: tuple[tuple[float, float], ...] = ((0.0, 1.0),)

    def __post_init__(self) -> None:
        starts = [start for start, _ in self.pieces]
        if not starts or starts[0] != 0 or starts != sorted(set(starts)):
            raise SpecificationError(complaint("pieces", "must start at 0 and rise", self.pieces))
        for start, speed in self.pieces:
            finite("start", start)
            positive("speed", speed)

    def speed(self, at: float) -> float:
        """Seconds of work in a second."""
        return self.pieces[bisect_right(self.pieces, (at, float("inf"))) - 1][1]

    def end(self, start: float, work: float) -> float:
        """When so much work is done that begins at `start`; both in seconds."""
        place = bisect_right(self.pieces, (start, float("inf"))) - 1
        now = start
        for (_, speed), (until, _) in zip(
            self.pieces[place:], (*self.pieces[place + 1 :], (float("inf"), 0.0)), strict=True
        ):
            if now + work / speed <= until:
                return now + work / speed
            work -= (until - now) * speed
            now = until
        return now

    def capacity(self, times: Floats) -> Floats:
        """Seconds of work that can be done from 0 up to each of these times."""
        starts = np.array([start for start, _ in self.pieces])
        speeds = np.array([speed for _, speed in self.pieces])
        done = np.concatenate([[0.0], np.cumsum(np.diff(starts) * speeds[:-1])])
        place = np.searchsorted(starts, times, side="right") - 1
        found: Floats = done[place] + (times - starts[place]) * speeds[place]
        return found
