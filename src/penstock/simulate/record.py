"""What a simulated run was like: each control period, and each row that was delivered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.simulate.machine import Floats


@dataclass(frozen=True)
class Record:
    """A run.

    Args:
        at: when each control period ended, in seconds.
        keep: the share of rows that was kept in it.
        headroom: what the controller believed at its end.
        queued: seconds of work that waited at its end.
        arrival: when rows that were delivered had arrived, in seconds.
        response: how long each of them took, in seconds.
        weight: how many rows each stands for.
        arrived: rows that came.
        lost: rows that were shed.
    """

    at: Floats
    keep: Floats
    headroom: Floats
    queued: Floats
    arrival: Floats
    response: Floats
    weight: Floats
    arrived: float
    lost: float

    @property
    def loss(self) -> float:
        """The share of rows that was shed."""
        return self.lost / self.arrived if self.arrived else 0.0

    def violation(self, target: float, since: float = 0.0, until: float = float("inf")) -> float:
        """How far rows were over the target in the mean, as a share of it.

        Args:
            target: in seconds.
            since: rows that arrived from then on count.
            until: and before then.
        """
        chosen = (self.arrival >= since) & (self.arrival < until)
        weight = self.weight[chosen]
        if not weight.sum():
            return 0.0
        over = np.maximum(0.0, self.response[chosen] - target)
        return float(np.average(over, weights=weight)) / target

    def quantile(self, share: float, since: float = 0.0, until: float = float("inf")) -> float:
        """The response time that this share of rows does not exceed, in seconds.

        Args:
            share: between 0 and 1.
            since: rows that arrived from then on count.
            until: and before then.
        """
        chosen = (self.arrival >= since) & (self.arrival < until)
        return weighted_quantile(self.response[chosen], self.weight[chosen], share)

    def mean(self, since: float = 0.0, until: float = float("inf")) -> float:
        """The mean response time, in seconds."""
        chosen = (self.arrival >= since) & (self.arrival < until)
        return float(np.average(self.response[chosen], weights=self.weight[chosen]))


def weighted_quantile(values: Floats, weights: Floats, share: float) -> float:
    """The smallest value that has at least this share of the weight at or below it; 0 of none.

    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.array([1.0, 8.0, 1.0]), 0.9)
    2.0
    """
    if not values.size or not weights.sum():
        return 0.0
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    place = int(np.searchsorted(below, share * below[-1] * (1 - 1e-12)))
    return float(values[order][min(place, values.size - 1)])
