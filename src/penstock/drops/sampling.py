"""A sample of the rows, each kept with probability P, and what it says of all of them.

    row     u (a hash of its identity)     kept if u < P         weight in the answer 1/P
    u is one number per row, so that all drops on its way agree, and a replay keeps the same rows.

A row may come with a weight w from upstream: it then stands for w rows, and here for w/P. All
formulas use only + - * / and sqrt, on numbers or on arrays, so that an engine can repeat them.

Babcock, Datar and Motwani, ICDE 2004, §2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.drops.checks import probability
from penstock.drops.coins import threshold

Array = NDArray[np.float64]
Key = TypeVar("Key")

_MOST = 1000


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


def floor_rates(
    groups: Mapping[Key, float], keep: float, floor: float, most: int = _MOST
) -> dict[Key, float]:
    """Keep probabilities of heavy groups, so that the rare ones need not be sampled at all.

    The share `keep` of all rows is kept, as far as the floor allows: of each group at least `floor`
    rows a window, of heavy groups in proportion to their size.

    Args:
        groups: group → its rows per window.
        keep: the share of all rows to keep.
        floor: rows per window that a group keeps at least.
        most: how many groups may be named; those of the most rows are.

    Returns:
        Group → its keep probability, below 1; groups that are not named keep all rows.

    >>> floor_rates({"a": 900.0, "b": 90.0, "c": 10.0}, keep=0.5, floor=10)
    {'a': 0.4949..., 'b': 0.4949...}
    """
    probability("keep", keep)
    sizes = sorted(groups.items(), key=lambda item: -item[1])
    heavy = [(group, rows) for group, rows in sizes[:most] if rows > floor]
    budget = keep * sum(groups.values()) - sum(rows for _, rows in sizes[len(heavy) :])
    # The smallest of them fall to the floor, one by one, until the rest can share what is left.
    shared, left = sum(rows for _, rows in heavy), budget
    for _, rows in reversed(heavy):
        if left >= 0 and rows * left >= floor * shared:
            break
        shared, left = shared - rows, left - floor
    share = left / shared if shared > 0 else 0.0
    rates = {group: max(share, floor / rows) for group, rows in heavy}
    return {group: rate for group, rate in rates.items() if rate < 1}
