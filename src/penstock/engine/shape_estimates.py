"""Variances and quantiles of a sample with their bounds: `drops.mean_bounds` as Spark columns.

Where the weights W of rows differ, bounds go by the greatest of them, M: a variance has at most
the error, and a share of the rows at most the variance, that Σ W / M rows have that weigh M each.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from penstock.drops.bounds import SKEW, STEP
from penstock.engine.estimate import TINY, Estimate, bounded, few
from penstock.engine.lowering import PARTS

SKETCHED = 0.0245
"""How far off the ranks of a sketch are, in 99 % of cases: 1.65 %, and weights that are rounded."""

_SURE = 2.576
_STEPS = 500
"""Ranks that are looked up in a sketch; Spark takes constant ones only."""


@dataclass(frozen=True)
class Values:
    """What is known of the values of a sample.

    Args:
        n: how many.
        low: the least.
        high: the greatest.
        heaviest: M.
        z: how many standard deviations are exceeded with the probability that is left.
    """

    n: Column
    low: Column
    high: Column
    heaviest: Column
    z: float

    @property
    def unkept(self) -> Column:
        """The share of the variance that rows have that did not stay, at most."""
        return 1 - 1 / self.heaviest


def variance(moments: Column, of: Values, function: str) -> Estimate:
    """A variance or a standard deviation.

    Args:
        moments: n, mean and m2 of the rows, each by its weight.
        of: its values.
        function: such as "var_samp".
    """
    z, q, heaviest = of.z, of.unkept, of.heaviest
    weight = F.when(moments["n"] > 0, moments["n"])
    value, square = moments["m2"] / weight, heaviest * moments["m2"]
    seen = of.high - of.low
    spread = seen + (seen + F.greatest(F.abs(of.low), F.abs(of.high))) * few(of.n)
    largest = heaviest * spread
    share = heaviest * heaviest * seen * seen / F.greatest(square, F.lit(TINY))
    skew = SKEW * z * z * F.sqrt(q) * F.least(share, F.lit(1.0))
    root = z * F.sqrt(q * (square + z * z / 4 * largest * largest))
    half = (root + (z * z / 2 * q + 6 * skew + STEP) * largest) * spread / weight
    off = (root + (z * z / 2 * q + skew / 4 + STEP) * largest) / weight
    low = F.when(value.isNotNull(), F.greatest(value - half, F.lit(0.0)))
    high = value + half + off * off
    if function.endswith("_samp"):
        # Of N rows it is N / (N - 1) times that of the population, and N is at least n.
        more = F.when(of.n > 1, of.n / F.greatest(of.n - 1, F.lit(1.0)))
        value, low, high = value * more, F.when(more.isNotNull(), low), high * more
    if function.startswith("stddev"):
        value, low, high = F.sqrt(value), F.sqrt(low), F.sqrt(high)
    return bounded(value, low, high, q)


def quantile(sketch: Column, share: float, of: Values) -> Estimate:
    """A quantile; a bound is null where the sample is too small to have one.

    Args:
        sketch: of the values, each as often as its weight says.
        share: of the values that are below it.
        of: the values.
    """
    z, q = of.z, of.unkept
    entries = F.kll_sketch_get_n_double(sketch)
    n = F.greatest(entries / PARTS / of.heaviest, F.lit(TINY))
    root = z * F.sqrt(q * (share * (1 - share) * n + z * z / 4))
    half = F.when(q > 0, (root + z * z / 2 * q + 1) / n).otherwise(F.lit(0.0))
    half = half + SKETCHED * max(1.0, z / _SURE)
    ranks = F.array(*(F.lit(i / _STEPS) for i in range(_STEPS + 1)))
    values = F.kll_sketch_get_quantile_double(sketch, ranks)

    def at(rank: Column, step: Column) -> Column:
        """Where all rows are there, the least and the greatest of them are known."""
        known = (q == 0) | ((rank > 0) & (rank < 1))
        place = F.least(F.greatest(step, F.lit(0)), F.lit(_STEPS)).cast("int")
        return F.when((entries > 0) & known, F.get(values, place))

    value = F.kll_sketch_get_quantile_double(sketch, F.lit(share))
    low, high = share - half, share + half
    return Estimate(
        F.when(entries > 0, value),
        at(low, F.floor(low * _STEPS)),
        at(high, F.ceil(high * _STEPS)),
    )
