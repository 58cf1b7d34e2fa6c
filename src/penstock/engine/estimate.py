"""One answer from a sample, and the bounds that the exact one is within."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from penstock.drops.bounds import FEW, MOST

TINY = 2.0**-1022


@dataclass(frozen=True)
class Estimate:
    """An answer and its bounds."""

    value: Column
    low: Column
    high: Column


def few(n: Column) -> Column:
    """How much larger than those seen the largest value can be."""
    n = F.greatest(n, F.lit(1.0))  # where there is no value there is none to bound either
    return F.least(FEW / (n * n * n * n), F.lit(MOST))


def bounded(value: Column, low: Column, high: Column, q: Column) -> Estimate:
    """The estimate; where every row was kept there is nothing to bound.

    Args:
        value: the answer.
        low: its lower bound.
        high: its upper bound.
        q: the share of the variance that rows have that did not stay.
    """
    return Estimate(
        value, F.when(q > 0, low).otherwise(value), F.when(q > 0, high).otherwise(value)
    )
