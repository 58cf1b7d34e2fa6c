"""Variance and standard deviation in one pass, and mergeable, without the sum of squares.

The state is (n, mean, m2), m2 the sum of squared deviations from the mean. Subtracting a squared
mean from a mean of squares would lose all digits where the mean is large and the spread small.
Welford, Technometrics 1962; merged as in Chan, Golub and LeVeque, 1979.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Final

from penstock.windows.fold import Fold

Moments = tuple[int, float, float]
"""Number of values, their mean, and the sum of squared deviations from it."""


def _incr(state: Moments, value: float | Decimal | None) -> Moments:
    return state if value is None else _merge(state, (1, float(value), 0.0))


def _merge(left: Moments, right: Moments) -> Moments:
    (n, mean, m2), (k, other, n2) = left, right
    if n == 0 or k == 0:
        return right if n == 0 else left
    total = n + k
    delta = other - mean
    return total, mean + delta * k / total, m2 + n2 + delta * delta * n * k / total


def _spread(name: str, less: int, shape: Callable[[float], float]) -> Fold[Moments]:
    """A measure of spread that divides by n - `less`; it is missing where that is not above 0."""

    def final(state: Moments) -> float | None:
        number, _, m2 = state
        return None if number - less <= 0 else shape(m2 / (number - less))

    return Fold(name, lambda: (0, 0.0, 0.0), _incr, _merge, final)


VAR_SAMP: Final = _spread("var_samp", 1, lambda variance: variance)
"""The variance of a sample; missing for a single value."""

VAR_POP: Final = _spread("var_pop", 0, lambda variance: variance)
"""The variance of a whole population; 0 for a single value."""

STDDEV_SAMP: Final = _spread("stddev_samp", 1, math.sqrt)
"""The standard deviation of a sample; missing for a single value."""

STDDEV_POP: Final = _spread("stddev_pop", 0, math.sqrt)
"""The standard deviation of a whole population; 0 for a single value."""
