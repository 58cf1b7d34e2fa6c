"""When rows arrive, as arrays: by steps, or from a rate that was recorded or made up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.control.checks import amount, positive
from penstock.errors import SpecificationError, complaint
from penstock.simulate.machine import Floats


@dataclass(frozen=True)
class Arrivals:
    """Rows that arrive in each slot; spread evenly in it.

    Args:
        slot: its length, in seconds.
        rows: in each slot; may be fractions.
    """

    slot: float
    rows: Floats

    def __post_init__(self) -> None:
        positive("slot", self.slot)
        if self.rows.ndim != 1 or not self.rows.size or not np.all(np.isfinite(self.rows)):
            raise SpecificationError(complaint("rows", "must be a list of numbers", self.rows))
        if self.rows.min() < 0:
            raise SpecificationError(complaint("rows", "must be 0 or more", self.rows.min()))

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return self.slot * self.rows.size

    @property
    def ends(self) -> Floats:
        """When each slot ends, in seconds."""
        found: Floats = self.slot * np.arange(1, self.rows.size + 1, dtype=np.float64)
        return found

    def times(self, rng: np.random.Generator) -> Floats:
        """When single rows arrive, in seconds: as by chance, at these rates (Poisson)."""
        counts = rng.poisson(self.rows)
        slots = np.repeat(np.arange(self.rows.size), counts)
        found: Floats = np.sort((slots + rng.random(slots.size)) * self.slot)
        return found


def steps(rates: Sequence[tuple[float, float]], slot: float = 0.01) -> Arrivals:
    """A rate for so many seconds, then another.

    Args:
        rates: (seconds, rows per second), one after the other.
        slot: in seconds.

    >>> steps([(1, 10), (2, 30)], slot=0.5).rows.tolist()
    [5.0, 5.0, 15.0, 15.0, 15.0, 15.0]
    """
    for seconds, rate in rates:
        positive("seconds", seconds)
        amount("rate", rate)
    parts = [np.full(round(seconds / slot), rate * slot) for seconds, rate in rates]
    return Arrivals(slot, np.concatenate(parts))


def spread(weights: Floats, rate: float, weight_seconds: float, slot: float = 0.01) -> Arrivals:
    """A recorded or made-up rate, such as that of a cascade or a trace, in finer slots.

    Args:
        weights: the rate in each piece of time, relative to `rate`.
        rate: rows per second where the weight is 1.
        weight_seconds: how long a piece is.
        slot: in seconds; pieces are divided into so many as fit.
    """
    positive("weight_seconds", weight_seconds)
    each = max(1, round(weight_seconds / slot))
    length = weight_seconds / each
    return Arrivals(length, np.repeat(np.asarray(weights, dtype=np.float64), each) * rate * length)
