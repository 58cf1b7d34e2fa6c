"""What this machine can do: seconds of a batch = fixed + cost · rows, more or less.

The capacity is what can all be kept within the target, for 95 % of the rows. Batches as long as d*
would do if each took as long as the line says. They do not: one that takes longer finds more rows
when the next one begins. So batches are drawn one after the other, each as far off the line as one
that was measured, for ever more rows a second.

    seconds │        ∙                    response of a row = what was left of the batch in which
            │   ∙   ─── line              it came + its own batch
            │ ∙───∙
            │───
            └─────────── rows
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from penstock.control.batches import Q
from penstock.control.whole import theil_sen

_MOST = 1000
"""B where nothing can be kept."""
_DRAWN, _PARTS, _HALVINGS = 1_000, 100, 20
"""Batches that are drawn, response times in each, and how often rates are halved."""
_SHARE = 0.95
WARM = 5
"""Batches of a run before it counts."""


@dataclass(frozen=True)
class Machine:
    """What this machine can do.

    Args:
        unloaded: seconds of a batch that brings next to nothing.
        kept: seconds of a row.
        dropped: seconds of a row that is dropped, reading included.
        fixed: seconds of a batch besides its rows, where these are many; as unloaded if None.
        asked: seconds of a dropped row that is asked before what is in it, as it is where some
            queries have their windows and others do not; as dropped if None.
        off: what batches took of which all was kept, in multiples of what the line says; none if
            they all take as long as that.
    """

    unloaded: float
    kept: float
    dropped: float
    fixed: float | None = None
    asked: float | None = None
    off: tuple[float, ...] = ()

    @property
    def target(self) -> float:
        """Four times the duration of an unloaded batch, in seconds."""
        return 4 * self.unloaded

    @property
    def best(self) -> float:
        """Seconds that batches may take one after the other, for the target to be held."""
        return self.target / (1 + Q)

    @cached_property
    def capacity(self) -> float:
        """Rows a second that can all be kept within the target."""
        best = self.best
        fixed = self.unloaded if self.fixed is None else self.fixed
        most = (best - fixed) / (best * self.kept)
        if not self.off or self.response(most) <= self.target:
            return most
        low, high = 0.0, most
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.response(middle) <= self.target else (low, middle)
        return low

    def response(self, rate: float) -> float:
        """The 95th percentile of response times if all rows are kept, in seconds.

        Args:
            rate: rows in a second.
        """
        fixed = self.unloaded if self.fixed is None else self.fixed
        drawn = np.random.default_rng(0).choice(np.array(self.off or (1.0,)), _DRAWN)
        took, period = np.empty(_DRAWN), self.best
        periods = np.empty(_DRAWN)
        for n, off in enumerate(drawn.tolist()):
            periods[n] = period
            # If ever more rows come than can be kept, it is enough to know that it is too long.
            took[n] = period = min((fixed + self.kept * rate * period) * off, 10 * self.target)
        waited = np.outer(periods, (np.arange(_PARTS) + 0.5) / _PARTS)
        times = (waited + took[:, np.newaxis]).ravel()
        # Rows that came in a longer time are more.
        order = np.argsort(times)
        rows = np.cumsum(np.repeat(periods, _PARTS)[order])
        return float(times[order][np.searchsorted(rows, _SHARE * rows[-1])])

    def least_shed(self, load: float, *, asked: bool = False) -> float:
        """The least share of rows that has to go.

        Args:
            load: in multiples of the capacity.
            asked: whether rows are asked what is in them before they go.

        >>> machine = Machine(1.0, 1e-6, 0.0, asked=0.25e-6)
        >>> machine.least_shed(2.0), round(machine.least_shed(2.0, asked=True), 2)
        (0.5, 0.67)
        """
        dropped = self.asked if asked and self.asked is not None else self.dropped
        x = dropped / self.kept
        return min(1.0, max(0.0, 1 - (1 / load - x) / (1 - x)))

    def max_gap(self, load: float, overlap: int) -> int:
        """B, for a load to be possible: of each row's windows one in B + 1 stays, with its rows.

        Args:
            load: in multiples of the capacity.
            overlap: RANGE over SLIDE.

        >>> Machine(1.0, 1e-6, 1e-7).max_gap(5.0, overlap=12)
        107
        """
        left = 1 - self.least_shed(load, asked=True)
        return max(overlap, math.ceil(overlap / left) - 1) if left > 0 else _MOST

    def values(self) -> dict[str, float]:
        """Plain values."""
        return {
            "unloaded_s": round(self.unloaded, 3),
            "fixed_s": round(self.unloaded if self.fixed is None else self.fixed, 3),
            "kept_us": round(self.kept * 1e6, 3),
            "dropped_us": round(self.dropped * 1e6, 3),
            "asked_us": round((self.dropped if self.asked is None else self.asked) * 1e6, 3),
            "capacity": round(self.capacity),
            "target_s": round(self.target, 2),
        }


def seconds(reports: Iterable[Mapping[str, Any]]) -> float:
    """What a batch takes, when Java is warm: the median."""
    return float(np.median([took for _, took in _warm(reports)]))


def line(runs: Iterable[Iterable[Mapping[str, Any]]]) -> tuple[float, float]:
    """What a batch takes by itself, and for each row, by runs at different rates.

    The line goes through the medians of the runs. What a batch with next to no rows takes would not
    do for the first of both: Java is warmer where there are many.

    Args:
        runs: reports of the batches of each.
    """
    medians = [np.median(_warm(reports), axis=0) for reports in runs]
    rows, took = np.array(medians).T
    slope = float(np.polyfit(rows, took, 1)[0]) if np.ptp(rows) > 0 else 0.0
    return max(0.0, float(np.mean(took) - slope * np.mean(rows))), max(0.0, slope)


def line_near(runs: Iterable[Iterable[Mapping[str, Any]]], longest: float) -> tuple[float, float]:
    """The same by single batches that do not take too long, of all runs.

    In far longer ones rows cost something else, and a run in which something held batches up is
    but one of several.

    Args:
        runs: reports of the batches of each.
        longest: seconds of a batch that counts.
    """
    some = [one for reports in runs for one in _warm(reports) if one[1] <= longest]
    rows, took = np.array(some).T
    fixed, slope = theil_sen(rows, took)
    return max(0.0, fixed), max(0.0, slope)


def off(reports: Iterable[Mapping[str, Any]], fixed: float, kept: float) -> tuple[float, ...]:
    """What batches took, in multiples of what the line says.

    Args:
        reports: of the batches.
        fixed: seconds of a batch besides its rows.
        kept: of a row.
    """
    return tuple(took / (fixed + kept * rows) for rows, took in _warm(reports))


def _warm(reports: Iterable[Mapping[str, Any]]) -> list[tuple[float, float]]:
    came = [report for report in reports if report["numInputRows"]]
    some = came[WARM:] or came[-1:]  # a slow machine has few batches
    return [(r["numInputRows"], r["durationMs"]["triggerExecution"] / 1000) for r in some]
