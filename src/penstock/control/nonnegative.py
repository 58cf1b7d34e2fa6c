"""Least squares where no unknown may be negative: an operator cannot give time back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ROUNDING = 1e-10


def nonnegative(matrix: Floats, target: Floats) -> Floats:
    """The x ≥ 0 for which matrix · x is nearest to the target.

    Lawson and Hanson, "Solving Least Squares Problems", 1974, chapter 23: a set of unknowns is free
    and solved for, the others are 0. An unknown that turns negative on the way leaves the set; one
    that would lessen the error enters it. It begins with all of them, which mostly is the answer.

    Args:
        matrix: of full column rank, its unknowns of comparable size.
        target: as many numbers as the matrix has rows.

    >>> nonnegative(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([1.0, -1.0])).tolist()
    [1.0, 0.0]
    """
    gram, slope = matrix.T @ matrix, matrix.T @ target
    size = slope.size
    enough = _ROUNDING * max(1.0, float(np.abs(slope).max(initial=0.0)))
    x = np.zeros(size)
    free = np.ones(size, dtype=bool)
    for _ in range(3 * size + 1):
        x = _solve(gram, slope, x, free)
        gain = np.where(free, -np.inf, slope - gram @ x)
        if not size or gain.max() <= enough:
            break
        free[gain.argmax()] = True
    return x


def _solve(gram: Floats, slope: Floats, x: Floats, free: NDArray[np.bool_]) -> Floats:
    """The best x in which only free unknowns differ from 0; one that ends at 0 is free no more."""
    while free.any():
        trial = np.zeros_like(x)
        trial[free] = np.linalg.solve(gram[np.ix_(free, free)], slope[free])
        below = free & (trial <= 0)
        if not below.any():
            return trial
        # From x, which is feasible, towards the trial as far as all stay so.
        step = float(np.min(x[below] / np.maximum(x[below] - trial[below], np.finfo(float).tiny)))
        x = x + step * (trial - x)
        free &= x > _ROUNDING * max(float(x.max()), np.finfo(float).tiny)
        x[~free] = 0.0
    return np.zeros_like(x)
