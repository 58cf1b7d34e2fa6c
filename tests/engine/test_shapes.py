"""Variances and quantiles from a sample that changes between batches keep their bounds."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.engine.lowering import PARTS, SKETCH, lower
from penstock.engine.shape_estimates import Values, quantile
from penstock.errors import PenstockError
from penstock.network.aggregates import Aggregate as Asked
from tests.engine.test_shedding import balanced, packets, stream

SPREAD = {
    "pop": ps.var_pop("size + number / 100"),
    "samp": ps.var_samp("size"),
    "deviation": ps.stddev_samp("size"),
    "whole": ps.stddev_pop("size"),
    "median": ps.approx_percentile("number", 0.5),
    "none": ps.var_samp("CAST(NULL AS INT)"),
    "nothing": ps.approx_percentile("CAST(NULL AS INT)", 0.9),
    "total": ps.sum("CAST(NULL AS INT)"),
}


def exact_of(rows: list[dict[str, Any]]) -> dict[str, float]:
    sizes = [row["size"] for row in rows]
    return {
        "pop": statistics.pvariance([row["size"] + row["number"] / 100 for row in rows]),
        "samp": statistics.variance(sizes),
        "deviation": statistics.stdev(sizes),
        "whole": statistics.pstdev(sizes),
        "median": statistics.median(row["number"] for row in rows),
    }


def test_they_hold_while_the_share_that_is_kept_changes(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = stream(spark, tmp_path)
    packet = ps.stream(rows, event_time="ts", slack="20 s", identity="number")
    query = packet.window("40 s", every="20 s").agg(**SPREAD).approximate()
    found: dict[int, list[Row]] = {}
    running: list[ps.NetworkRun] = []

    def sink(batch: DataFrame, number: int) -> None:
        found[number] = batch.collect()
        if running:
            running[0].shed(keep=(0.25, 0.8)[number % 2])

    run = ps.Network(shape=query).start(
        str(tmp_path / "run"), sink=sink, trigger={"availableNow": True}, keep=0.25
    )
    running.append(run)
    run.wait()
    balanced(run, {"shape": query})
    got = [row for batch in found.values() for row in batch if row["sample"] > 50]
    assert len(got) >= 4
    held = told = 0
    for row in got:
        start, end = (row[name].timestamp() * 1e6 for name in ("window_start", "window_end"))
        exact = exact_of([one for one in packets() if start <= one["ts"] < end])
        assert not row["exact"]
        assert row["none"] is row["nothing"] is row["none_high"] is row["nothing_low"] is None
        assert row["total"] is None
        for name, value in exact.items():
            low, high = row[f"{name}_low"], row[f"{name}_high"]
            assert low is not None
            assert low <= row[name] <= high
            held += low <= value <= high
            told += 1
    assert held >= 0.97 * told


def test_a_sketch_holds_each_value_as_often_as_its_weight_says(spark: SparkSession) -> None:
    """Three quarters of the rows are below 1000, and weigh a fourth of the others."""
    rows = spark.range(4000).selectExpr(
        "IF(id < 3000, id / 3, id) AS v", "IF(id < 3000, 1, 4) AS w"
    )
    low = lower(Asked(SKETCH, "v"), F.col("v"), rows.schema["v"].dataType, ansi=True, plain=True)
    assert low.merge is not None
    assert low.scale is not None
    panes = rows.groupBy("w").agg(low.partial(lambda value: value).alias("p"))
    panes = panes.select(low.scale(F.col("p"), F.col("w").cast("double")).alias("p"))
    merged = panes.agg(low.merge(F.col("p")).alias("p"))
    values = Values(F.lit(4000.0), F.lit(0.0), F.lit(4000.0), F.lit(4.0), 2.576)
    found = quantile(F.col("p"), 0.6, values)
    (row,) = merged.select(
        F.kll_sketch_get_n_double("p").alias("n"),
        *(getattr(found, name).alias(name) for name in ("value", "low", "high")),
    ).collect()
    assert row["n"] == PARTS * (3000 + 4 * 1000)
    # Of 7000 rows 3000 are below 1000 and 4000 from 3000 to 4000: the 4200th is number 300 there.
    assert row["value"] == pytest.approx(3300, abs=150)
    assert row["low"] < 3300 < row["high"]
    assert row["high"] - row["low"] < 900


def test_a_quantile_of_few_rows_has_no_bounds(spark: SparkSession) -> None:
    rows = spark.range(3).selectExpr("CAST(id AS double) AS v")
    low = lower(Asked(SKETCH, "v"), F.col("v"), rows.schema["v"].dataType, ansi=True, plain=True)
    assert low.scale is not None
    frame = rows.agg(low.partial(lambda value: value).alias("p"))
    for weight in (1.0, 8.0):
        values = Values(F.lit(3.0), F.lit(0.0), F.lit(2.0), F.lit(weight), 2.576)
        found = quantile(low.scale(F.col("p"), F.lit(weight)), 0.5, values)
        (row,) = frame.select(found.value, found.low, found.high).collect()
        assert tuple(row) == ((1.0, 1.0, 1.0) if weight == 1 else (1.0, None, None))


def test_the_papers_bounds_are_for_counts_sums_and_means(spark: SparkSession) -> None:
    rows = spark.createDataFrame([], "ts timestamp, size bigint")
    query = ps.stream(rows, event_time="ts").window("10 s").agg(s=ps.var_pop("size"))
    with pytest.raises(PenstockError, match=r"count, sum or avg for bounds='hoeffding'"):
        ps.Network(s=query.approximate(bounds="hoeffding"))
