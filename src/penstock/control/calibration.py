"""A calibration at the start: short runs that stop after one operator or another.

A run that reads and parses, and one that filters too, differ by the filter: they tell costs apart
that a running stream cannot. How they stand to each other is then believed (`Prior`); how fast the
machine is under load the stream itself will tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from penstock.control.checks import amount, known
from penstock.control.fitting import fit
from penstock.control.prior import Prior

_MEASURED = 0.2  # a cost that was measured apart is off by about that much
_NONE = 0.01  # of the belief: a cost too small to be measured is not nothing


def calibrate(prior: Prior, runs: Iterable[tuple[Mapping[str, float], float]]) -> Prior:
    """The belief, corrected by runs that were made for it.

    Args:
        prior: what is believed without them.
        runs: of each the rows that operators took in (none for one that is not named, such as those
            after the one where it stopped) and the seconds that it took. The first run of a session
            is slow and should be left out.

    >>> guess = Prior(fixed=1.0, costs={"parse": 1e-6, "web": 1e-6})
    >>> runs = [({}, 0.5), ({"parse": 1e6}, 4.5), ({"parse": 1e6, "web": 1e6}, 5.0)] * 4
    >>> {name: round(cost * 1e6, 1) for name, cost in calibrate(guess, runs).costs.items()}
    {'parse': 4.0, 'web': 0.5}
    """
    counts, durations = [], []
    for rows_in, seconds in runs:
        known("operator", rows_in, prior.costs)
        amount("seconds", seconds)
        counts.append(prior.counts(rows_in))
        durations.append(seconds)
    if not counts:
        return prior
    work = np.array(counts) * prior.believed
    found = fit(work, np.array(durations), np.ones(len(counts)), prior.spreads)
    fixed, *costs = (prior.believed * np.maximum(found.factors, _NONE * found.speed)).tolist()
    return Prior(fixed, dict(zip(prior.costs, costs, strict=True)), min(_MEASURED, prior.spread))
