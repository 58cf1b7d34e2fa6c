"""What Spark computes from a sample is what the formulas of `drops.bounds` say."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import SparkSession

from penstock.drops.bounds import count_bounds, hoeffding_bounds, sum_bounds, z_of
from penstock.drops.kinds import Approximate
from penstock.drops.mean_bounds import avg_bounds
from penstock.drops.sampling import Sums
from penstock.engine.estimates import Estimates
from penstock.engine.frame import COUNTED, HIGHEST, LOWEST, SQUARES
from penstock.engine.groups import HEAVIEST, ROWS, stands_for, varies
from penstock.engine.lowering import SUMMED
from penstock.network.aggregates import Aggregate as Asked

KEEPS = (0.02, 0.3, 0.9, 1.0)
SIZES = (1, 2, 7, 40, 900)
ASKED = {"n": Asked("count"), "s": Asked("sum", "v"), "m": Asked("avg", "v")}


@pytest.mark.parametrize("bounds", ["variance", "hoeffding"])
def test_bounds_of_spark_are_those_of_the_formulas(spark: SparkSession, bounds: str) -> None:
    of = np.random.default_rng(1)
    cases = [(keep, of.lognormal(3, 1, size) - 5) for keep in KEEPS for size in SIZES]
    names = {ROWS: "n", f"{COUNTED} v": "n", f"{SUMMED} v": "s", f"{SQUARES} v": "q"}
    slots = {name: column for name, column in names.items() if name != ROWS}
    slots |= {f"{LOWEST} v": "low", f"{HIGHEST} v": "high", HEAVIEST: "w"}
    for name, column in names.items():
        slots |= {stands_for(name): f"{column}_w", varies(name): f"{column}_v"}
    listed = []
    for keep, values in cases:
        w = 1 / keep
        plain = {"n": float(len(values)), "s": values.sum(), "q": (values**2).sum()}
        weighted = {f"{name}_w": total * w for name, total in plain.items()}
        varying = {f"{name}_v": total * w * (w - 1) for name, total in plain.items()}
        ends = {"low": values.min(), "high": values.max(), "w": w, ROWS: len(values)}
        made = plain | weighted | varying | ends
        listed.append({name: float(value) for name, value in made.items()})
    kind = Approximate(0.99, bounds)  # type: ignore[arg-type]
    columns = Estimates(kind, slots).columns(ASKED)
    frame = spark.createDataFrame(listed)
    found = frame.select(*(column.alias(name) for name, column in columns.items())).collect()
    z = z_of(0.01)
    for (keep, values), row in zip(cases, found, strict=True):
        n, total, squares, low, high = (
            np.array([float(x)])
            for x in (len(values), values.sum(), (values**2).sum(), values.min(), values.max())
        )
        sums = Sums.of(n, total, squares, low, high)
        ones = Sums.of(n, n, n, np.ones(1), np.ones(1))
        if bounds == "hoeffding":
            wanted = {
                "n": hoeffding_bounds(ones, keep, 0.01),
                "s": hoeffding_bounds(sums, keep, 0.01),
            }
        else:
            wanted = {
                "n": count_bounds(n, keep, z),
                "s": sum_bounds(sums, keep, z, nonnegative=False),
                "m": avg_bounds(sums, keep, z),
            }
        for name, bound in wanted.items():
            told = (row[f"{name}_low"], row[f"{name}_high"])
            assert told == pytest.approx((bound.low[0], bound.high[0]), rel=1e-6), (name, keep)
        assert row["n"] == pytest.approx(len(values) / keep)
        assert row["m"] == pytest.approx(values.mean())
        assert row["keep"] == pytest.approx(keep)
        assert row["exact"] == (keep == 1)
