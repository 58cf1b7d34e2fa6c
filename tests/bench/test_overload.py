"""The truth about packets is what the queries answer, and lines are found through batches."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.bench import feed
from penstock.bench.checked import checked
from penstock.bench.feed import Truth, attributes
from penstock.bench.machine import Machine, per_row, seconds
from penstock.bench.packets import START, WORKLOAD, ours

RATE, SECONDS = 30, 150


def _packets(spark: SparkSession) -> DataFrame:
    """What `feed.arriving` makes, as a batch."""
    micros = F.floor(F.col("id") * F.lit(1e6 / RATE)) + F.lit(START)
    time = F.timestamp_micros(micros).alias("ts")
    number = F.col("id").alias("number")
    return spark.range(RATE * SECONDS).select(time, *attributes(F.col("id") % feed.PERIOD), number)


def test_the_truth_is_what_the_queries_answer(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "PERIOD", 1000)
    truth = Truth(spark, RATE)
    network = ours(_packets(spark), list(WORKLOAD))
    rows = []
    for name, answers in ps.Network(**network.queries).batch().items():
        whole = f"window_start >= timestamp_micros({START}) AND window_end <= timestamp_micros("
        some = answers.where(f"{whole}{START + SECONDS * 1_000_000})")
        rows += [{"query": name, **row.asDict()} for row in some.collect()]
    found = checked(rows, truth)
    assert {row["query"] for row in rows} == set(WORKLOAD)
    assert found.wrong == 0
    assert set(found.errors) == {0.0}
    rows[0] = {**rows[0], "n": rows[0]["n"] + 1}
    assert checked(rows, truth).wrong == 1


def test_costs_are_found_through_batches_of_which_some_were_held_up() -> None:
    rng = np.random.default_rng(5)
    sizes = rng.integers(10_000, 1_000_000, 30)
    took = 0.5 + 3e-6 * sizes
    took[::7] *= 3
    few, many = (
        [
            {"numInputRows": int(n), "durationMs": {"triggerExecution": 1000 * s}}
            for n, s in zip(sizes * share, took - 3e-6 * sizes * (1 - share), strict=True)
        ]
        for share in (0, 1)
    )
    few = [{**report, "numInputRows": 1} for report in few]
    assert seconds(few) == pytest.approx(0.5, rel=0.2)
    assert per_row(many, 0.5) == pytest.approx(3e-6, rel=0.05)


def test_the_least_that_has_to_go() -> None:
    machine = Machine(unloaded=0.5, kept=4e-6, dropped=4e-7)
    assert machine.target == 2.0
    assert machine.least_shed(0.8) == 0.0
    # What is left is just what can be done: kept rows, and dropped ones.
    kept = 1 - machine.least_shed(3.0)
    assert 3 * (kept * 4e-6 + (1 - kept) * 4e-7) == pytest.approx(4e-6)
