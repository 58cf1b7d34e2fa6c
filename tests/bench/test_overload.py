"""The truth about packets is what the queries answer, and lines are found through batches."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.bench import feed
from penstock.bench.checked import checked
from penstock.bench.feed import Truth, attributes
from penstock.bench.machine import Machine, line, line_near, off, seconds
from penstock.bench.packets import START, WORKLOAD, ours
from penstock.engine.shed_accounts import SHED_ACCOUNTS

RATE, SECONDS = 30, 150


def _packets(spark: SparkSession) -> DataFrame:
    """What a `feed.Feed` makes, as a batch."""
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


def test_offsets_tell_how_many_packets_have_come(spark: SparkSession) -> None:
    packets = feed.Feed(100 * feed.PUBLISHERS * feed.BLOCK, ramp=2)
    run = packets.dataframe(spark).writeStream.format("noop").start()
    try:
        while not any(one["numInputRows"] for one in run.recentProgress):
            run.processAllAvailable()
        told = [json.loads(one.json) for one in run.recentProgress]
    finally:
        run.stop()
    for one in told:
        each = (
            packets.behind(int(part["startOffset"] or 0), int(part["endOffset"]))
            for part in one["sources"]
        )
        assert sum(each) == feed.BLOCK * one["numInputRows"]


def test_costs_are_found_through_batches_of_which_some_were_held_up() -> None:
    rng = np.random.default_rng(5)

    def run(rate: float) -> list[dict[str, object]]:
        sizes = rate * rng.uniform(0.8, 1.2, 30)
        took = 0.5 + 3e-6 * sizes
        took[::7] *= 3
        return [
            {"numInputRows": int(n), "durationMs": {"triggerExecution": 1000 * s}}
            for n, s in zip(sizes, took, strict=True)
        ]

    assert seconds(run(1.0)) == pytest.approx(0.5, rel=0.01)
    fixed, cost = line([run(200_000), run(1_000_000)])
    assert fixed == pytest.approx(0.5, rel=0.2)
    assert cost == pytest.approx(3e-6, rel=0.05)

    slow = [{**one, "durationMs": {"triggerExecution": 30_000}} for one in run(1_000_000)]
    fixed, cost = line_near([run(1.0), run(200_000), run(400_000), slow], longest=4.0)
    assert fixed == pytest.approx(0.5, rel=0.02)
    assert cost == pytest.approx(3e-6, rel=0.05)


def test_the_least_that_has_to_go() -> None:
    machine = Machine(unloaded=0.5, kept=4e-6, dropped=4e-7)
    assert machine.target == 2.0
    # Batches of 2 / 1.95 s suffice for the capacity, of which what they cost by themselves is left.
    assert machine.capacity == pytest.approx((2 / 1.95 - 0.5) / (2 / 1.95 * 4e-6))
    faster = Machine(unloaded=0.5, kept=4e-6, dropped=4e-7, fixed=0.2)
    assert faster.capacity == pytest.approx((2 / 1.95 - 0.2) / (2 / 1.95 * 4e-6))
    assert machine.least_shed(0.8) == 0.0
    # What is left is just what can be done: kept rows, and dropped ones.
    kept = 1 - machine.least_shed(3.0)
    assert 3 * (kept * 4e-6 + (1 - kept) * 4e-7) == pytest.approx(4e-6)


def test_batches_that_vary_leave_room_for_fewer_rows() -> None:
    steady = Machine(unloaded=0.5, kept=4e-6, dropped=4e-7)
    assert steady.response(steady.capacity) == pytest.approx(steady.target, rel=0.01)
    before = steady.capacity
    for share in (0.05, 0.1, 0.2):
        reports = [
            {"numInputRows": n, "durationMs": {"triggerExecution": 1000 * (0.5 + 4e-6 * n) * some}}
            for n in (50_000, 100_000, 150_000)
            for some in (1 - share, 1, 1 + share) * 3
        ]
        apart = off(reports, 0.5, 4e-6)
        assert set(np.round(apart, 9)) == {1 - share, 1, 1 + share}
        varying = Machine(0.5, 4e-6, 4e-7, off=apart)
        assert varying.capacity < before
        assert varying.response(varying.capacity) == pytest.approx(varying.target, rel=0.01)
        before = varying.capacity


def test_rows_of_blocks_are_counted_as_rows(spark: SparkSession, tmp_path: Path) -> None:
    source = feed.Feed(feed.PUBLISHERS * feed.BLOCK, ramp=0)
    packets = ps.stream(source, "ts", slack="1 second", name="packets")
    asked = packets.window("5 seconds").agg(n=ps.count()).approximate()
    run = ps.Network(traffic=asked).start(
        str(tmp_path / "checkpoint"), sink=lambda batch, _: batch.collect(), keep=0.5
    )
    try:
        while sum(one.rows for one in run.history) < 1_000:
            assert not run.wait(0.5)
    finally:
        run.stop()
    rows = {one.batch: one.rows for one in run.history}
    told = {one["batchId"]: one["numInputRows"] for one in run.parts[0].run.progress}
    assert all(rows[batch] == feed.BLOCK * told[batch] for batch in rows.keys() & told.keys())
    accounts = run.parts[0].shed_accounts()
    assert accounts is not None
    each = accounts.of("traffic")  # of the last batches not all may be told
    assert all(one["rows_in"] == feed.BLOCK * told[batch] for batch, one in each.items())
    mine = {what: sum(one[what] for one in each.values()) for what in SHED_ACCOUNTS}
    assert mine["rows_in"] > 0
    gone = mine["shed_at_stream"] + mine["shed_on_the_way"]
    assert 0.3 * mine["rows_in"] < gone < 0.7 * mine["rows_in"]
