"""How likely it is that rates fall in a part of the rate space; Solver-W divides by it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from penstock.control.checks import positive
from penstock.errors import SpecificationError, complaint
from penstock.nodes.program import Vector


class Workload(Protocol):
    """The distribution of the rates."""

    def probability(self, low: Vector, high: Vector) -> float:
        """That all rates lie between these, in rows per second."""
        ...


@dataclass(frozen=True, slots=True)
class Exponential:
    """Rates that are independent and exponentially distributed, as in §8.1.

    Args:
        means: of each input, in rows per second.
    """

    means: tuple[float, ...]

    def __post_init__(self) -> None:
        for mean in self.means:
            positive("a mean rate", mean)

    def probability(self, low: Vector, high: Vector) -> float:
        """That all rates lie between these."""
        sides = zip(low.tolist(), high.tolist(), self.means, strict=True)
        return math.prod(math.exp(-a / mean) - math.exp(-b / mean) for a, b, mean in sides)


class Observed:
    """Rates as they were seen: each time counts the same.

    Args:
        rates: a row for each time, a column for each input, in rows per second.
    """

    def __init__(self, rates: Vector) -> None:
        self.rates = np.atleast_2d(np.asarray(rates, dtype=float))
        if not self.rates.size or not np.isfinite(self.rates).all() or (self.rates < 0).any():
            rule = "must be finite numbers, 0 or more, and at least one of them"
            raise SpecificationError(complaint("observed rates", rule, self.rates.tolist()))

    def probability(self, low: Vector, high: Vector) -> float:
        """The share of the times at which all rates lay between these."""
        inside = (self.rates >= low) & (self.rates < high)
        return float(inside.all(axis=1).mean())
