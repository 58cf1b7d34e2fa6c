"""What this machine can do: from straight lines through batches, seconds = fixed + cost · rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.control.batches import Q

WARM, FAR = 5, 0.1
"""Batches before Java is warm; batches whose rows differ by less tell nothing of their cost."""


@dataclass(frozen=True)
class Machine:
    """What this machine can do.

    Args:
        unloaded: seconds of a batch that brings next to nothing.
        kept: seconds of a row.
        dropped: seconds of a row that is dropped, reading included.
    """

    unloaded: float
    kept: float
    dropped: float

    @property
    def target(self) -> float:
        """Four times the duration of an unloaded batch, in seconds."""
        return 4 * self.unloaded

    @property
    def capacity(self) -> float:
        """Rows a second that can all be kept within the target."""
        best = self.target / (1 + Q)
        return (best - self.unloaded) / (best * self.kept)

    def least_shed(self, load: float) -> float:
        """The least share of rows that has to go."""
        x = self.dropped / self.kept
        return max(0.0, 1 - (1 / load - x) / (1 - x))

    def values(self) -> dict[str, float]:
        """Plain values."""
        return {
            "unloaded_s": round(self.unloaded, 3),
            "kept_us": round(self.kept * 1e6, 3),
            "dropped_us": round(self.dropped * 1e6, 3),
            "capacity": round(self.capacity),
            "target_s": round(self.target, 2),
        }


def line(reports: Iterable[Mapping[str, Any]]) -> tuple[float, float]:
    """Seconds = fixed + cost · rows, through the batches when Java is warm."""
    some = [r for r in reports if r["numInputRows"]][WARM:]
    rows = np.array([float(r["numInputRows"]) for r in some])
    took = np.array([r["durationMs"]["triggerExecution"] / 1000 for r in some])
    # A line that no single slow batch can tilt: the median of all slopes (Theil and Sen).
    i, j = np.triu_indices(len(rows), 1)
    far = np.abs(rows[i] - rows[j]) > FAR * rows.max()
    slope = float(np.median((took[i] - took[j])[far] / (rows[i] - rows[j])[far]))
    return float(np.median(took - slope * rows)), slope
