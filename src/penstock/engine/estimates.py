"""Answers from a sample with their bounds, as Spark columns: `drops.bounds` for any weights.

Each row that stayed stands for W rows, and W may differ from batch to batch. Of a window's rows
are known n, ΣW, ΣW² and, of what is summed, ΣWv, ΣWv², ΣW²v² and the largest |v|.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from penstock.drops.bounds import SHIFT, SKEW, STEP, z_of
from penstock.drops.kinds import Approximate
from penstock.drops.mean_bounds import ROUNDED
from penstock.engine.estimate import TINY, Estimate, bounded, few
from penstock.engine.frame import COUNTED, HIGHEST, LOWEST, SQUARES
from penstock.engine.groups import (
    HEAVIEST,
    IN_FORCE,
    MAY_MISS,
    ROWS,
    SAMPLE_SIZE,
    stands_for,
    varies,
)
from penstock.engine.lowering import MOMENTS, SKETCH, SUMMED
from penstock.engine.shape_estimates import Values, quantile, variance
from penstock.network.aggregates import Aggregate as Asked

_DIGITS = 6
_ROUNDED = 1 + 1e-9
"""A weight is the inverse of a share, which is not the same number again."""


@dataclass(frozen=True)
class Estimates:
    """The answers of one query.

    Args:
        kind: which bounds, at which confidence.
        slots: name → slot of the frame.
        weighted: whether rows were dropped before they came here, as their weights say.
    """

    kind: Approximate
    slots: Mapping[str, str]
    weighted: bool = False

    def columns(self, asked: Mapping[str, Asked], *, grouped: bool = False) -> dict[str, Column]:
        """Each answer with its bounds, then how they came about.

        Args:
            asked: name → function of the query.
            grouped: whether there are groups, of which some may not be shown.
        """
        found: dict[str, Column] = {}
        for name, function in asked.items():
            estimate = self._estimate(function)
            found |= {
                name: estimate.value,
                f"{name}_low": estimate.low,
                f"{name}_high": estimate.high,
            }
        rows, sample = F.col(ROWS), F.col(ROWS)
        if SAMPLE_SIZE in self.slots:
            rows = F.col(self.slots[SAMPLE_SIZE])
            # Of a row in some of several windows below, a part counts: no fraction of it is shown.
            sample = F.ceil(F.round(rows, _DIGITS)).cast("bigint")
        told = {"keep": rows / self._w(ROWS), "sample": sample, "exact": self._heaviest == 1}
        return found | told | ({"unseen": self._of_others()} if grouped else {})

    def _of_others(self) -> Column:
        """The rows that a group can have at most that is not shown; null if that is not known.

        With a floor the share goes by the group; and how few rows were kept upstream of a group
        that has none left, no row says.
        """
        if MAY_MISS not in self.slots or self.kind.floor is not None or self.weighted:
            return F.lit(None).cast("double")
        weight = F.col(self.slots[MAY_MISS])
        most = math.log(1 - self.kind.confidence) / F.log1p(-1 / weight)
        return F.when(weight > 1, most).otherwise(0.0)

    def _estimate(self, asked: Asked) -> Estimate:
        column = asked.column
        if column is None:
            return self._count(ROWS)
        if asked.function == "count":
            return self._count(f"{COUNTED} {column}")
        if asked.function == "sum":
            return self._sum(column)
        if asked.function == "avg":
            return self._avg(column)
        if asked.parameter is not None:
            sketch = F.col(self.slots[f"{SKETCH} {column}"])
            return quantile(sketch, asked.parameter, self._values(column))
        moments = F.col(self.slots[f"{MOMENTS} {column}"])
        return variance(moments, self._values(column), asked.function)

    def _values(self, column: str) -> Values:
        n = F.col(self.slots[f"{COUNTED} {column}"]).cast("double")
        low, high = (self._end(which, column) for which in (LOWEST, HIGHEST))
        return Values(n, low, high, self._heaviest, self._z)

    def _count(self, name: str) -> Estimate:
        n, total = F.col(self.slots.get(name, ROWS)).cast("double"), self._w(name)
        square, largest, z = self._w2(name), self._heaviest, self._z
        if self.kind.bounds == "hoeffding":
            return self._hoeffding(total, square)
        q = self._unkept(total, square)
        most = self._most(q)
        root = z * F.sqrt(q * square + most * (z * z / 4) * largest * largest)
        high = total + root + (z * z / 2 * most + STEP) * largest
        mean = square / F.greatest(total, F.lit(TINY))
        low = F.greatest(total - root + SHIFT * z * z * q * mean - STEP * largest, n)
        return bounded(total, low, high, most)

    def _sum(self, column: str) -> Estimate:
        squares = f"{SQUARES} {column}"
        total, square = self._w(f"{SUMMED} {column}"), self._w2(squares)
        n, z = F.col(self.slots[f"{COUNTED} {column}"]).cast("double"), self._z
        if self.kind.bounds == "hoeffding":
            return self._hoeffding(total, square, self._largest(column))
        q = self._unkept(self._w(squares), square)
        most = self._most(q)
        seen = self._heaviest * self._largest(column)
        share = F.least(seen * seen / F.greatest(square, F.lit(TINY)), F.lit(1.0))
        largest = seen * (1 + few(n))
        root = z * F.sqrt(q * square + most * (z * z / 4) * largest * largest)
        more = (z * z / 2 * most + SKEW * z * z * F.sqrt(most) * share + STEP) * largest
        return bounded(total, total - root - more, total + root + more, most)

    def _avg(self, column: str) -> Estimate:
        counted, summed = f"{COUNTED} {column}", f"{SUMMED} {column}"
        weight, weight2, z = self._w(counted), self._w2(counted), self._z
        mean = self._w(summed) / weight
        off = self._w2(f"{SQUARES} {column}") - 2 * mean * self._w2(summed) + mean * mean * weight2
        square = F.greatest(off, F.lit(0.0)) + ROUNDED * self._w2(f"{SQUARES} {column}")
        q = self._unkept(weight, weight2)
        most = self._most(q)
        high, low = (self._end(which, column) for which in (HIGHEST, LOWEST))
        seen = high - low
        if self.kind.bounds == "hoeffding":
            half = self._half(square, seen) / weight
            return bounded(mean, mean - half, mean + half, most)
        n = F.col(self.slots[counted]).cast("double")
        spread = seen + (seen + self._largest(column)) * few(n)
        heaviest = self._heaviest
        share = F.least(
            heaviest * heaviest * seen * seen / F.greatest(square, F.lit(TINY)), F.lit(1.0)
        )
        skew = 0.25 * SKEW * z * z * F.sqrt(most) * share
        largest = heaviest * spread
        root = z * F.sqrt(q * square + most * (z * z / 4) * largest * largest)
        half = (root + (z * z / 2 * most + skew + STEP) * largest) / weight
        return bounded(mean, mean - half, mean + half, most)

    def _hoeffding(self, total: Column, square: Column, each: Column | None = None) -> Estimate:
        half = self._half(square, each)
        exact = self._heaviest == 1
        low, high = total - half, total + half
        return Estimate(
            total, F.when(exact, total).otherwise(low), F.when(exact, total).otherwise(high)
        )

    def _half(self, square: Column, each: Column | None = None) -> Column:
        """Half the width of the paper's bounds, and what rows make that are all gone.

        Args:
            square: Σ W²v².
            each: what a row adds at most; None for 1.
        """
        delta, heaviest = 1 - self.kind.confidence, self._heaviest
        half = F.sqrt(heaviest * square * (math.log(2 / delta) / 2))
        gone = heaviest * math.log(1 / delta)
        return half + F.when(self._unseen, gone if each is None else gone * each).otherwise(0.0)

    @property
    def _z(self) -> float:
        return z_of(1 - self.kind.confidence)

    @property
    def _heaviest(self) -> Column:
        """The most rows that a row of the window stands for, be it that none such stayed."""
        seen = F.col(self.slots[HEAVIEST])
        return F.greatest(seen, F.col(self.slots[IN_FORCE])) if IN_FORCE in self.slots else seen

    @property
    def _unseen(self) -> Column:
        """Whether fewer rows were kept for a while than those that stayed tell."""
        if IN_FORCE not in self.slots:
            return F.lit(False)
        return F.col(self.slots[IN_FORCE]) > F.col(self.slots[HEAVIEST]) * _ROUNDED

    def _most(self, q: Column) -> Column:
        """The share of the variance that rows that did not stay may have, be they all gone.

        Args:
            q: the share by those that stayed.
        """
        return F.when(self._unseen, 1 - 1 / self._heaviest).otherwise(q)

    def _w(self, name: str) -> Column:
        """Σ W of what was asked under that name."""
        return F.col(self.slots[stands_for(name)])

    def _w2(self, name: str) -> Column:
        """Σ W² of what was asked under that name."""
        return F.col(self.slots[varies(name)]) + self._w(name)

    def _end(self, which: str, column: str) -> Column:
        return F.col(self.slots[f"{which} {column}"]).cast("double")

    def _largest(self, column: str) -> Column:
        return F.greatest(*(F.abs(self._end(which, column)) for which in (HIGHEST, LOWEST)))

    def _unkept(self, first: Column, second: Column) -> Column:
        """The share of the variance that the rows that did not stay have; 0 if all did."""
        q = F.greatest(1 - first / F.greatest(second, F.lit(TINY)), F.lit(0.0))
        whole = F.when(self._heaviest == 1, 0.0)
        return whole.when(second > 0, q).otherwise(1 - 1 / self._heaviest)
