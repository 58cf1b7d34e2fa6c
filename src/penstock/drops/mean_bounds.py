"""How far off a mean, a variance or a quantile of a sample can be, at the confidence 1 - δ.

As in `bounds`, of the deviations from the mean, with the spread of the values as the largest one.
"""

from __future__ import annotations

import numpy as np

from penstock.drops.bounds import SKEW, STEP, Bounds, exact, few, unkept
from penstock.drops.sampling import Array, Sums, avg_of, var_pop_of


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
    q = unkept(sums.weights, sums.weights2, keep)
    spread = _spread(sums, known)
    # (v - mean)² is at most spread², so the sum of its squares is at most spread² Σ (v - mean)².
    root = z * np.sqrt(q * spread * spread * (_deviations(sums) + 0.25 * z * z * spread * spread))
    skew = _skew(sums, q, z, known, 6.0 * SKEW)
    half = (root + (0.5 * z * z * q + skew + STEP) * spread * spread) / sums.weights
    off, _ = _mean_half(sums, keep, z, known)
    low = np.maximum(variance - half, 0.0)
    return exact(variance, low, variance + half + off * off, q)


def quantile_ranks(n: Array, quantile: float, keep: float, z: float) -> Bounds:
    """The ranks in the sample, 0 to 1, whose values bound a quantile; at 0 or 1 nothing does.

    Args:
        n: sampled rows.
        quantile: the share of values below, 0 to 1.
        keep: P.
        z: see `z_of`.
    """
    q = 1.0 - keep
    root = z * np.sqrt(q * (quantile * (1 - quantile) * n + 0.25 * z * z))
    half = (root + 0.5 * z * z * q + 1.0) / n
    low, high = np.maximum(quantile - half, 0.0), np.minimum(quantile + half, 1.0)
    same = np.full_like(n, quantile)
    return exact(same, low, high, np.full_like(n, q))


def _deviations(sums: Sums) -> Array:
    """Σ w² (v - mean)²."""
    mean = avg_of(sums)
    found = sums.squares2 - 2.0 * mean * sums.values2 + mean * mean * sums.weights2
    return np.maximum(found, 0.0)


def _spread(sums: Sums, known: float | None) -> Array:
    if known is not None:
        return np.maximum(sums.spread, known)
    return sums.spread + (sums.spread + sums.largest) * few(sums.n)


def _skew(sums: Sums, q: Array, z: float, known: float | None, factor: float) -> Array:
    if known is not None:
        return np.zeros_like(q)
    square = np.maximum(_deviations(sums), np.finfo(float).tiny)
    share = np.minimum(sums.spread * sums.spread / square, 1.0)
    return factor * z * z * np.sqrt(q) * share


def _mean_half(sums: Sums, keep: float, z: float, known: float | None) -> tuple[Array, Array]:
    q = unkept(sums.weights, sums.weights2, keep)
    square, spread = _deviations(sums), _spread(sums, known)
    skew = _skew(sums, q, z, known, 0.25 * SKEW)
    root = z * np.sqrt(q * (square + 0.25 * z * z * spread * spread))
    return (root + (0.5 * z * z * q + skew + STEP) * spread) / sums.weights, q
