"""A sample of the rows, each kept with probability P, and what it says of all of them.

    row     u (a hash of its identity)     kept if u < P         weight in the answer 1/P
    u is one number per row, so that all drops on its way agree, and a replay keeps the same rows.

A row may come with a weight w from upstream: it then stands for w rows, and here for w/P. All
formulas use only + - * / and sqrt, on numbers or on arrays, so that an engine can repeat them.

Babcock, Datar and Motwani, ICDE 2004, §2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.drops.checks import probability
from penstock.drops.coins import threshold

Array = NDArray[np.float64]


def keeps(hashes: NDArray[np.int64], keep: float) -> NDArray[np.bool_]:
    """Which rows are kept: a comparison of longs, as the engine does it.

    Args:
        hashes: of the rows' identities, `HASH_BITS` bits each.
        keep: P, from 0 to 1.
    """
    probability("keep", keep)
    kept: NDArray[np.bool_] = hashes < np.int64(threshold(keep))
    return kept


@dataclass(frozen=True, slots=True)
class Sums:
    """What is known of the sampled rows of a window and group; each an array, or a number.

    Args:
        n: sampled rows that have a value.
        weights: Σ w, which is n where rows have no weight.
        values: Σ w v.
        squares: Σ w v².
        weights2: Σ w².
        values2: Σ w² v.
        squares2: Σ w² v².
        seen: Σ v, of the sampled rows alone.
        largest: the greatest w |v|.
        spread: max v - min v.
        heaviest: the greatest w.
    """

    n: Array
    weights: Array
    values: Array
    squares: Array
    weights2: Array
    values2: Array
    squares2: Array
    seen: Array
    largest: Array
    spread: Array
    heaviest: Array | float = 1.0

    @classmethod
    def of(cls, n: Array, values: Array, squares: Array, low: Array, high: Array) -> Sums:
        """Those of rows without weights.

        Args:
            n: how many.
            values: Σ v.
            squares: Σ v².
            low: the least v.
            high: the greatest v.
        """
        largest = np.maximum(np.abs(low), np.abs(high))
        return cls(n, n, values, squares, n, values, squares, values, largest, high - low)


def count_of(sums: Sums, keep: float) -> Array:
    """COUNT, unbiased."""
    return sums.weights / keep


def sum_of(sums: Sums, keep: float) -> Array:
    """SUM, unbiased."""
    return sums.values / keep


def avg_of(sums: Sums) -> Array:
    """AVG: the scale cancels out."""
    return sums.values / sums.weights


def var_pop_of(sums: Sums) -> Array:
    """The population variance."""
    mean = avg_of(sums)
    found: Array = np.maximum(sums.squares / sums.weights - mean * mean, 0.0)
    return found


def var_samp_of(sums: Sums) -> Array:
    """The sample variance; infinite for a single row."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Array = np.where(sums.n > 1, var_pop_of(sums) * (sums.n / (sums.n - 1.0)), np.inf)
    return found
