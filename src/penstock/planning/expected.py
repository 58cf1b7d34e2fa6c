"""Errors as they are: on the average, and the one that few windows exceed; far below any bound."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist

from penstock.control.moments import Moments

_MEAN, _VARIANCE, _SKEW = math.sqrt(2 / math.pi), 1 - 2 / math.pi, 0.9953  # of |x|, x normal


def expected_error(hardness: float, keep: float) -> float:
    """The mean relative error of a sum from a sample.

    A sum of values as hard to sample as a count of n = 1/hardness rows is taken for that count. How
    far a binomial count is from its mean on the average is known exactly (de Moivre), also where n
    is so small that the count is not nearly normal.

    Args:
        hardness: Σv²/(Σv)² of a window.
        keep: P, greater than 0.

    >>> [round(expected_error(*one), 4) for one in ((1 / 10_000, 0.2), (1.0, 0.2), (0.1, 1.0))]
    [0.016, 1.6, 0.0]
    """
    if keep == 1:
        return 0.0
    if hardness > 1:
        # Values of both signs all but cancel out; there is no such count.
        return math.sqrt(2 / math.pi * hardness * (1 - keep) / keep)
    n = 1 / hardness
    m = math.floor(n * keep)
    ways = math.lgamma(n + 1) - math.lgamma(m + 1) - math.lgamma(n - m)
    chance = ways + (m + 1) * math.log(keep) + (n - m) * math.log1p(-keep)
    return 2 * math.exp(chance) / (n * keep)


def expected_error_of_groups(groups: Iterable[Moments], keep: float) -> float:
    """The mean of Σ|error| / Σ|answer| over the groups of a window; a missing one counts as 0.

    Args:
        groups: the values of each, as `Snapshot.groups` has them.
        keep: P, greater than 0.

    >>> large, small = Moments(10_000, 10_000.0, 10_000.0), Moments(1, 1.0, 1.0)
    >>> round(expected_error_of_groups([large, small], 0.2), 4)
    0.0161
    """
    off = whole = 0.0
    for one in groups:
        if one.windows and one.total:
            answer = abs(one.total) / one.windows
            off += answer * expected_error(one.hardness, keep)
            whole += answer
    return off / whole if whole else 0.0


def hardness_of_all(groups: Iterable[Moments]) -> float | None:
    """The hardness of one sum whose error is that of all groups together; None if they sum to 0.

    The error of each group is in proportion to the root of its hardness.

    Args:
        groups: the values of each, as `Snapshot.groups` has them.

    >>> one = Moments(100, 100.0, 100.0)
    >>> round(hardness_of_all([one]), 9), round(hardness_of_all([one, one]), 9)
    (0.01, 0.01)
    """
    answers = [
        (abs(one.total) / one.windows, one.hardness) for one in groups if one.windows and one.total
    ]
    whole = sum(answer for answer, _ in answers)
    if not whole:
        return None
    return (sum(answer * math.sqrt(hard) for answer, hard in answers) / whole) ** 2


def alike(groups: Iterable[Moments]) -> float:
    """How many groups vary in sum as these do, if all were alike; 1 where there are none.

    Args:
        groups: the values of each, as `Snapshot.groups` has them.

    >>> large, small = Moments(10_000, 10_000.0, 10_000.0), Moments(100, 100.0, 100.0)
    >>> round(alike([large, large]), 2), round(alike([large, small]), 2)
    (2.0, 1.2)
    """
    # The deviation of a sum is |sum| √hardness = √Σv², whatever the sum.
    squares = [one.squares / one.windows for one in groups if one.windows]
    whole = sum(squares)
    return sum(map(math.sqrt, squares)) ** 2 / whole if whole else 1.0


def tail(delta: float, groups: float = 1.0) -> float:
    """What Σ|error| over the groups of a window exceeds with probability δ, in mean deviations.

    The sum over many groups varies little from one window to the next: the quantile is near the
    mean. That of one number is three times its mean.

    Args:
        delta: δ.
        groups: how many, if all were alike.

    >>> [round(tail(0.01, groups), 2) for groups in (1, 5, 200)]
    [2.58, 1.51, 0.9]
    """
    z = NormalDist().inv_cdf(1 - delta)
    high = z + (z * z - 1) / 6 * _SKEW / math.sqrt(groups)  # Cornish and Fisher's: few are skewed
    found = _MEAN + math.sqrt(_VARIANCE / groups) * high
    return min(found, NormalDist().inv_cdf(1 - delta / 2))
