"""How much smaller than uniform's the greatest error can be at all, by simulation.

The greatest error of a few hundred windows is one draw of many: other packets, or other random
numbers, give another. Here they are drawn many times, for the plan, for uniform drops, and for
whatever shares of rows make the greatest error the smallest on the average within the same load: no
plan that keeps a share of the rows of each fold does better. Errors of panes are taken for normal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.control.moments import Moments
from penstock.planning import Workload
from penstock.planning.placement import place
from penstock.planning.sampling import LEAST, set_sampling_rates
from penstock.planning.workload import Floats

DRAWS, STEPS = 300, 400
_HALVINGS = 30
_FIRST, _LESS, _LAST = 0.3, 0.99, 0.02  # how far a step goes
_WHOLE = 0.8


@dataclass(frozen=True)
class Windows:
    """Those of a query that errors are measured in.

    Args:
        range: in slides.
        count: how many there are.
        groups: the values of each group.
    """

    range: int
    count: int
    groups: Sequence[Moments]


def folds(load: Workload) -> dict[int, tuple[str, ...]]:
    """The node that stands for each fold, and the queries that are computed there together."""
    found: dict[int, list[str]] = {}
    for query in load.queries:
        (before,) = load.parents[query.node]
        at = before if load.nodes[before].panes else query.node
        found.setdefault(at, []).append(query.name)
    return {at: tuple(names) for at, names in found.items()}


def greatest(of: Mapping[str, Windows], draws: int, seed: int) -> dict[str, Floats]:
    """Of each query the greatest error of its windows if half of the rows are kept, in each draw.

    Args:
        of: the windows of each.
        draws: how many.
        seed: of the draws.
    """
    rng = np.random.default_rng(seed)
    found = {}
    for query, windows in of.items():
        known = [one for one in windows.groups if one.windows and one.total]
        deviation = np.array(
            [math.sqrt(one.squares / one.windows / windows.range) for one in known]
        )
        answer = sum(abs(one.total) / one.windows for one in known)
        each = np.empty(draws)
        for draw in range(draws):
            panes = rng.standard_normal((windows.count + windows.range - 1, deviation.size))
            upto = np.cumsum(np.vstack([np.zeros(deviation.size), panes * deviation]), axis=0)
            off = np.abs(upto[windows.range :] - upto[: -windows.range]).sum(axis=1)
            each[draw] = off.max() / answer
        found[query] = each
    return found


@dataclass(frozen=True)
class Reachable:
    """What the plans of a load can reach.

    Args:
        load: the network, with its capacity.
        ours: the greatest errors of each query, as drawn.
        even: the same for uniform drops: other draws.
        share: of rows that uniform drops keep.
    """

    load: Workload
    ours: Mapping[str, Floats]
    even: Mapping[str, Floats]
    share: float

    def ratios(self, keep: Mapping[str, float]) -> Floats:
        """Uniform's greatest error over that of a plan, in each draw.

        Args:
            keep: query → the share of rows that it keeps.
        """
        return self._most(self.even, dict.fromkeys(keep, self.share)) / self._most(self.ours, keep)

    def best(self, keep: Mapping[str, float]) -> dict[str, float]:
        """The shares with the smallest greatest error on the average, within the capacity.

        Args:
            keep: the shares to begin with, within the capacity.
        """
        rng = np.random.default_rng(0)
        together = list(folds(self.load).values())
        start = np.array([max(keep[query] for query in names) for names in together])
        start = np.minimum(start, _WHOLE)  # from a share of 1 all steps would be small
        at = np.log(start / (1 - start))
        best = self._within(at, together)
        least, step = self._mean(best), _FIRST
        for _ in range(STEPS):
            to = at + step * rng.standard_normal(at.size)
            tried = self._within(to, together)
            error = self._mean(tried)
            if error < least:
                at, best, least = to, tried, error
            else:
                step = max(_LAST, step * _LESS)
        return best if least < self._mean(keep) else dict(keep)

    def _within(self, at: Floats, together: Sequence[Sequence[str]]) -> dict[str, float]:
        """The shares of the folds, all of them more or less until the load is the capacity."""
        low, high = -20.0, 20.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self._cost(_shares(at + middle, together)) <= self.load.capacity:
                low = middle
            else:
                high = middle
        return _shares(at + low, together)

    def _cost(self, keep: Mapping[str, float]) -> float:
        found = place(self.load, set_sampling_rates(self.load, dict(keep)))
        return found.load + float(self.load.work[self.load.streams].sum())

    def _mean(self, keep: Mapping[str, float]) -> float:
        return float(self._most(self.ours, keep).mean())

    def _most(self, drawn: Mapping[str, Floats], keep: Mapping[str, float]) -> Floats:
        each = [drawn[query] * math.sqrt((1 - share) / share) for query, share in keep.items()]
        found: Floats = np.max(each, axis=0)
        return found


def _shares(at: Floats, together: Sequence[Sequence[str]]) -> dict[str, float]:
    shares = np.maximum(LEAST, 1 / (1 + np.exp(-at))).tolist()
    return {query: share for names, share in zip(together, shares, strict=True) for query in names}
