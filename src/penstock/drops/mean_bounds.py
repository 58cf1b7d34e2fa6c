"""How far off a mean, a variance or a quantile of a sample can be, at the confidence 1 - δ.

As in `bounds`, of the deviations from the mean, with the spread of the values as the largest one.
"""

from __future__ import annotations

import numpy as np

from penstock.drops.bounds import SKEW, STEP, Bounds, exact, few, unkept
from penstock.drops.sampling import Array, Sums, avg_of, var_pop_of, var_samp_of

ROUNDED = 2.0**-46
"""Of a sum of squares: what may have been lost of it, where the mean is large beside deviations."""


def avg_bounds(sums: Sums, keep: float, z: float, known: float | None = None) -> Bounds:
    """Those of AVG: of the deviations from it, as in a sum, for one row of the sample.

    Args:
        sums: of the sampled rows.
        keep: P.
        z: see `z_of`.
        known: max v - min v of all rows, if it is known.
    """
    mean = avg_of(sums)
    half, q = _mean_half(sums, keep, z, known)
    return exact(mean, mean - half, mean + half, q)


def var_pop_bounds(sums: Sums, keep: float, z: float, known: float | None = None) -> Bounds:
    """Those of the population variance; of a standard deviation they are the roots.

    Args:
        sums: of the sampled rows.
        keep: P.
        z: see `z_of`.
        known: max v - min v of all rows, if it is known.
    """
    variance = var_pop_of(sums)
    q = np.maximum(1.0 - keep / sums.heaviest + np.zeros_like(variance), 0.0)
    spread = _spread(sums, known)
    # Where weights differ, Σ w² (v - mean)² is at most the greatest w times Σ w (v - mean)²; and
    # (v - mean)² is at most spread².
    square = sums.heaviest * sums.weights * variance
    largest = sums.heaviest * spread
    skew = _skew(sums, square, q, z, known)
    root = z * np.sqrt(q * spread * spread * (square + 0.25 * z * z * largest * largest))
    half = root + (0.5 * z * z * q + 6.0 * skew + STEP) * largest * spread
    off = z * np.sqrt(q * (square + 0.25 * z * z * largest * largest))
    off = (off + (0.5 * z * z * q + 0.25 * skew + STEP) * largest) / sums.weights
    high = variance + half / sums.weights + off * off
    return exact(variance, np.maximum(variance - half / sums.weights, 0.0), high, q)


def var_samp_bounds(sums: Sums, keep: float, z: float, known: float | None = None) -> Bounds:
    """Those of the sample variance, which is that of the population times N / (N - 1).

    N is at least the number of sampled rows; of a single one nothing is known.

    Args:
        sums: of the sampled rows.
        keep: P.
        z: see `z_of`.
        known: max v - min v of all rows, if it is known.
    """
    of_all = var_pop_bounds(sums, keep, z, known)
    with np.errstate(divide="ignore", invalid="ignore"):
        high = np.where(sums.n > 1, of_all.high * (sums.n / (sums.n - 1.0)), np.inf)
    q = 1.0 - keep / sums.heaviest + np.zeros_like(high)
    return exact(var_samp_of(sums), of_all.low, high, q)


def quantile_ranks(n: Array, quantile: float, keep: float, z: float, sketch: float = 0.0) -> Bounds:
    """The ranks in the sample, 0 to 1, whose values bound a quantile; at 0 or 1 nothing does.

    Of rows whose weights differ, a share p of all weights W has a variance of at most
    (M - 1) p (1 - p) / Σ W, where M is the greatest W: as Σ W / M rows have that weigh M each.

    Args:
        n: sampled rows; with weights, Σ W / M.
        quantile: the share of values below, 0 to 1.
        keep: P; with weights, 1 / M.
        z: see `z_of`.
        sketch: how far off the ranks of a sketch of the sample may be.
    """
    q = 1.0 - keep
    root = z * np.sqrt(q * (quantile * (1 - quantile) * n + 0.25 * z * z))
    half = sketch + np.where(q > 0, (root + 0.5 * z * z * q + 1.0) / n, 0.0)
    return Bounds(np.maximum(quantile - half, 0.0), np.minimum(quantile + half, 1.0))


def _deviations(sums: Sums) -> Array:
    """Σ w² (v - mean)²."""
    mean = avg_of(sums)
    found = sums.squares2 - 2.0 * mean * sums.values2 + mean * mean * sums.weights2
    return np.maximum(found, 0.0) + ROUNDED * sums.squares2


def _spread(sums: Sums, known: float | None) -> Array:
    if known is not None:
        return np.maximum(sums.spread, known)
    return sums.spread + (sums.spread + sums.largest) * few(sums.n)


def _skew(sums: Sums, square: Array, q: Array, z: float, known: float | None) -> Array:
    if known is not None:
        return np.zeros_like(q)
    largest = sums.heaviest * sums.spread
    share = np.minimum(largest * largest / np.maximum(square, np.finfo(float).tiny), 1.0)
    return SKEW * z * z * np.sqrt(q) * share


def _mean_half(sums: Sums, keep: float, z: float, known: float | None) -> tuple[Array, Array]:
    q = unkept(sums.weights, sums.weights2, keep)
    square, largest = _deviations(sums), sums.heaviest * _spread(sums, known)
    skew = 0.25 * _skew(sums, square, q, z, known)
    root = z * np.sqrt(q * (square + 0.25 * z * z * largest * largest))
    return (root + (0.5 * z * z * q + skew + STEP) * largest) / sums.weights, q
