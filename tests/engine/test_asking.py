"""Rows are asked at the entrance who wants them: fewer are taken in, and answers stay the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.engine import shedder
from penstock.engine.asking import plain
from penstock.engine.part import Part
from tests.engine.test_early import BATCHES, ROWS, Found, ordered
from tests.engine.test_shedding import balanced, delivered, start


def asked(
    spark: SparkSession, folder: Path, predicate: str = "size % 10 = 3 AND host = 'a'"
) -> dict[str, ps.WindowQuery]:
    packet = ps.stream(ordered(spark, folder), event_time="ts", identity="number", name="packets")
    rare = packet.where(predicate).window("10 s").agg(n=ps.count(), b=ps.sum("size"))
    all_of_them = packet.window("10 s").by("host").agg(n=ps.count())
    return {"rare": rare.approximate(), "all": all_of_them.approximate()}


def shed(spark: SparkSession, folder: Path) -> tuple[ps.NetworkRun, Found]:
    queries, found = asked(spark, folder), Found()
    run = start(queries, folder / "run", found, keep={"rare": 0.9, "all": 0.05})
    run.wait()
    balanced(run, queries)
    return run, found


def test_a_needy_query_over_few_rows_does_not_have_all_rows_taken_in(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    behind, known = shed(spark, tmp_path / "behind")
    monkeypatch.setattr(shedder, "LARGE", 1)
    before, found = shed(spark, tmp_path / "before")
    # The first batches are not known to be large; of others nine in ten rows stayed, and now some.
    rows = BATCHES * ROWS
    assert behind.accounts["rare"]["shed_at_stream"] < 0.15 * rows
    assert before.accounts["rare"]["shed_at_stream"] > 0.5 * rows
    for name in ("rare", "all"):
        same = {(r["window_end"], r["n"], r["n_low"], r["n_high"]) for r in delivered(known[name])}
        mine = delivered(found[name])
        assert len(mine) > 5
        assert {(r["window_end"], r["n"], r["n_low"], r["n_high"]) for r in mine} <= same


def test_what_queries_take_in_is_what_was_ordered(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shedder, "LARGE", 1)
    run, _ = shed(spark, tmp_path)
    run.statistics()
    (part,) = run.parts
    assert part.measure is not None
    *_, last = part.measure.observations
    assert "packets, taken" not in last.operators  # rows are taken in for somebody
    aggregates = {run.network.graph.names[q]: n for n, q in run.network.graph.queries.items()}
    taken = {aggregates[n]: f.rows_in for n, f in last.operators.items() if n in aggregates}
    # One in 64 rows tells the share of the rare ones, which is one in 15.
    assert taken["all"] == pytest.approx(0.05 * ROWS)
    assert taken["rare"] <= 0.9 * 0.4 * ROWS


@pytest.mark.parametrize(
    ("predicate", "questions"),
    [
        ("size > 3", [("size > 3",)]),
        ("size > 3 AND host IN ('a', 'b')", [("size > 3", "host IN ('a', 'b')")]),
        ("abs(size) > 3 AND host = 'a'", []),
        ("host = 'a' AND rand() < 0.5", [("host = 'a'",)]),
    ],
)
def test_only_plain_filters_are_asked(
    spark: SparkSession, tmp_path: Path, predicate: str, questions: list[tuple[str, ...]]
) -> None:
    packet = ps.stream(ordered(spark, tmp_path), event_time="ts", identity="number")
    node = packet.where(predicate).node
    assert plain(node) == (questions[0] if questions else ())


def test_filters_behind_what_is_computed_are_not_asked(spark: SparkSession, tmp_path: Path) -> None:
    packet = ps.stream(ordered(spark, tmp_path), event_time="ts", identity="number")
    kilo = packet.where("host = 'a'").with_columns(size="size * 1000").where("size > 3000")
    assert plain(kilo.node) == ("host = 'a'",)


def test_windows_that_are_dropped_are_not_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    packet = ps.stream(ordered(spark, tmp_path), event_time="ts", identity="number")
    some = packet.where("host = 'a'").window("10 s").agg(n=ps.count())
    for kind, asks in ((some.approximate(), True), (some.subset(3), False)):
        network = ps.Network(some=kind)
        (graph,) = network.split.parts
        part = Part(graph, kinds=network.kinds)
        assert part.asks(graph.sources[0]) is asks
