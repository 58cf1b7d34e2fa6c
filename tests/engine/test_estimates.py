"""What Spark computes from a sample is what the formulas of `drops.bounds` say."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import SparkSession

from penstock.drops.bounds import count_bounds, hoeffding_bounds, sum_bounds, z_of
from penstock.drops.kinds import Approximate
from penstock.drops.mean_bounds import avg_bounds, var_pop_bounds, var_samp_bounds
from penstock.drops.sampling import Sums, var_pop_of, var_samp_of
from penstock.engine.estimates import Estimates
from penstock.engine.frame import COUNTED, HIGHEST, LOWEST, SQUARES
from penstock.engine.groups import HEAVIEST, ROWS, stands_for, varies
from penstock.engine.lowering import MOMENTS, SUMMED
from penstock.network.aggregates import Aggregate as Asked

KEEPS = (0.02, 0.3, 0.9, 1.0)
SIZES = (1, 2, 7, 40, 900)
ASKED = {"n": Asked("count"), "s": Asked("sum", "v"), "m": Asked("avg", "v")}
SPREAD = {name: Asked(name, "v") for name in ("var_pop", "var_samp", "stddev_pop", "stddev_samp")}


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


def test_variances_of_spark_are_those_of_the_formulas(spark: SparkSession) -> None:
    of, listed, wanted = np.random.default_rng(2), [], []
    z = z_of(0.01)
    for keep in KEEPS:
        for size in SIZES:
            v = of.lognormal(3, 1, size) - 5
            w = of.choice([1.0, 2.0, 5.0], size) if keep < 0.9 else np.ones(size)
            numbers = (size, w.sum(), w @ v, w @ v**2, w @ w, w**2 @ v, w**2 @ v**2, v.sum())
            rest = (np.abs(v).max(), np.ptp(v), w.max())
            sums = Sums(*(np.array([float(x)]) for x in (*numbers, *rest)))
            pop, samp = var_pop_bounds(sums, keep, z), var_samp_bounds(sums, keep, z)
            exact = keep == w.max() == 1
            wanted.append((var_pop_of(sums), pop, var_samp_of(sums), samp, exact))
            mean, scaled = w @ v / w.sum(), w / keep
            moments = (float(scaled.sum()), float(mean), float(scaled @ (v - mean) ** 2))
            ends = (float(v.min()), float(v.max()), float(w.max() / keep))
            listed.append((moments, float(size), *ends, float(size)))
    schema = "m struct<n: double, mean: double, m2: double>, c double, low double, high double"
    frame = spark.createDataFrame(listed, f"{schema}, w double, {ROWS} double")
    slots = {f"{MOMENTS} v": "m", f"{COUNTED} v": "c", HEAVIEST: "w", stands_for(ROWS): ROWS}
    slots |= {f"{LOWEST} v": "low", f"{HIGHEST} v": "high"}
    columns = Estimates(Approximate(0.99), slots).columns(SPREAD)
    found = frame.select(*(column.alias(name) for name, column in columns.items())).collect()
    for row, (value, pop, samp_value, samp, exact) in zip(found, wanted, strict=True):
        assert row["var_pop"] == pytest.approx(value[0], rel=1e-6, abs=1e-9)
        assert row["stddev_pop"] == pytest.approx(value[0] ** 0.5, rel=1e-6, abs=1e-6)
        for end in ("low", "high"):
            bound = getattr(pop, end)[0]
            assert row[f"var_pop_{end}"] == pytest.approx(bound, rel=1e-6, abs=1e-9), exact
            assert row[f"stddev_pop_{end}"] == pytest.approx(bound**0.5, rel=1e-6, abs=1e-6)
        if np.isinf(samp_value[0]):
            assert row["var_samp"] is None
            assert row["stddev_samp_high"] is None
            continue
        assert row["var_samp"] == pytest.approx(samp_value[0], rel=1e-6)
        for end in ("low", "high"):
            assert row[f"var_samp_{end}"] == pytest.approx(getattr(samp, end)[0], rel=1e-6)
        assert (row["var_pop_low"] == row["var_pop_high"]) == exact
