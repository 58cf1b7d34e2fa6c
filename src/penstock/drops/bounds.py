"""How far off an answer from a sample can be, at the confidence 1 - δ.

A sampled row contributes y = w v / P, and the answer Σ y has the variance Σ q y², q = 1 - P/w. To
that come the steps that a normal approximation leaves out: one row more or less (the contribution
M of the largest row), and the large rows that a small sample has not seen. Where nobody knows how
large values can be, M grows for few rows, and with the share s of the largest row in Σ y²:

    M = (1 + min(3000/n⁴, 8)) largest       M = known, if the largest possible value is known
    half = z √(q (Σ y² + z²/4 M²)) + (z²/2 q + 4 z² s √q + 0.7) M

The constants were found by simulation (`tests/drops/test_bounds.py` repeats it): stated 99 % holds
for 98.5 % of answers and more, for every size of the sample and for all but infinite variances.
With v = 1 and M = 1/P it is the score interval of a count, with a correction for whole numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from penstock.drops.checks import probability
from penstock.drops.sampling import Array, Sums, sum_of
from penstock.errors import SpecificationError, complaint

FEW, MOST, SKEW, STEP, SHIFT = 3000.0, 8.0, 4.0, 0.7, 0.3


@dataclass(frozen=True, slots=True)
class Bounds:
    """An answer lies between low and high with the confidence that was asked for."""

    low: Array
    high: Array


def z_of(delta: float) -> float:
    """How many standard deviations are exceeded with probability δ, to either side.

    >>> round(z_of(0.01), 3)
    2.576
    """
    probability("delta", delta)
    if not 0 < delta < 1:
        raise SpecificationError(complaint("delta", "must be above 0 and below 1", delta))
    return NormalDist().inv_cdf(1 - delta / 2)


def unseen(keep: float, delta: float) -> float:
    """The most rows that a group can have of which not one was sampled.

    >>> round(unseen(0.1, 0.01), 1), unseen(1.0, 0.01)
    (43.7, 0.0)
    """
    if keep >= 1:
        return 0.0
    return math.log(delta) / math.log(1 - keep) if keep > 0 else math.inf


def count_bounds(n: Array, keep: float, z: float) -> Bounds:
    """Those of COUNT of rows without weights; with weights it is the SUM of 1.

    Args:
        n: sampled rows.
        keep: P.
        z: see `z_of`.
    """
    ones = np.ones_like(n)
    return sum_bounds(Sums.of(n, n, n, ones, ones), keep, z, nonnegative=True, known=1.0)


def sum_bounds(
    sums: Sums, keep: float, z: float, *, nonnegative: bool, known: float | None = None
) -> Bounds:
    """Those of SUM.

    Args:
        sums: of the sampled rows.
        keep: P.
        z: see `z_of`.
        nonnegative: whether it is known that no value is below 0; a small sample cannot tell.
        known: the largest w |v| that there can be; None if nobody knows.
    """
    total = sum_of(sums, keep)
    square = sums.squares2 / (keep * keep)
    q = unkept(sums.squares, sums.squares2, keep)
    largest, skew = _largest(sums, q, z, known)
    largest = largest / keep
    root = z * np.sqrt(q * (square + 0.25 * z * z * largest * largest))
    more = (0.5 * z * z * q + skew + STEP) * largest
    high = total + root + more
    if nonnegative:
        # Large rows can be missing from the sample, but not from what it has seen.
        mean = square / np.maximum(total, np.finfo(float).tiny)
        low = np.maximum(total - root + SHIFT * z * z * q * mean - STEP * largest, sums.seen)
    else:
        low = total - root - more
    return exact(total, low, high, q)


def hoeffding_bounds(sums: Sums, keep: float, delta: float) -> Bounds:
    """The paper's, for SUM; for COUNT with v = 1. It does not know the variance, and is wide.

    Args:
        sums: of the sampled rows.
        keep: P.
        delta: the probability that an answer is off by more.

    Babcock, Datar and Motwani, ICDE 2004, Proposition 3.1.
    """
    total = sum_of(sums, keep)
    half = np.sqrt(sums.squares / keep * (0.5 * math.log(2 / delta))) / keep
    return exact(total, total - half, total + half, unkept(sums.weights, sums.weights2, keep))


def unkept(first: Array, second: Array, keep: float) -> Array:
    """The q of all rows together: 1 - P without weights."""
    q: Array = np.maximum(1.0 - keep * first / np.maximum(second, np.finfo(float).tiny), 0.0)
    return np.where(second > 0, q, 1.0 - keep)


def _largest(sums: Sums, q: Array, z: float, known: float | None) -> tuple[Array, Array]:
    """M, and what is added for rows that are larger still; see the module."""
    largest, squares = sums.largest, np.maximum(sums.squares2, np.finfo(float).tiny)
    if known is not None:
        return np.maximum(largest, known), np.zeros_like(largest)
    skew = SKEW * z * z * np.sqrt(q) * (largest * largest / squares)
    return largest * (1.0 + few(sums.n)), skew


def few(n: Array) -> Array:
    """How much larger than those seen the largest value can be: after ten rows hardly any more."""
    found: Array = np.minimum(FEW / (n * n * n * n), MOST)
    return found


def exact(value: Array, low: Array, high: Array, q: Array) -> Bounds:
    """Where every row was kept, there is nothing to bound."""
    return Bounds(np.where(q > 0, low, value), np.where(q > 0, high, value))
