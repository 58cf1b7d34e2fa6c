"""Rows are asked at the entrance who wants them: fewer are taken in, and answers stay the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import penstock as ps
from penstock.drops.arrays import Flags
from penstock.drops.orders import at_random, by_window
from penstock.engine import shedder
from penstock.engine.asking import plain
from penstock.engine.orders import wants
from penstock.engine.part import Part
from tests.engine.streams import SECOND, START
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


def some_windows(spark: SparkSession, folder: Path, **how: Any) -> tuple[ps.NetworkRun, Found]:
    """Windows of one query are kept; those of the other are dropped, or rows of it at random."""
    packet = ps.stream(ordered(spark, folder), event_time="ts", identity="number", name="packets")
    rare = packet.where("size % 10 = 3 AND host = 'a'").window("10 s")
    every = packet.window("10 s").by("host").agg(n=ps.count())
    queries = {
        "rare": rare.agg(n=ps.count(), b=ps.sum("size")).subset(1000),
        "all": every.approximate() if "keep" in how else every.subset(1000),
    }
    found = Found()
    run = start(queries, folder / "run", found, **how)
    run.wait()
    balanced(run, queries)
    return run, found


@pytest.mark.parametrize("how", [{"drop": {"all": 1.0}}, {"keep": {"all": 0.05}}])
def test_rows_are_taken_in_only_for_windows_that_are_kept(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]
) -> None:
    monkeypatch.setattr(shedder, "LARGE", 1)
    run, found = some_windows(spark, tmp_path, **how)
    rows = BATCHES * ROWS
    # The first batches are not known to be large, and nothing is decided for them.
    assert run.accounts["rare"]["shed_at_stream"] > 0.4 * rows
    mine = delivered(found["rare"])
    assert len(mine) == BATCHES * ROWS // 200 - 1  # all windows but the last, which is open
    for row in mine:
        first = round((row["window_start"].timestamp() - START / SECOND) * 20)
        numbers = [i for i in range(first, first + 200) if i % 10 == 3 and i % 3]
        assert (row["n"], row["b"]) == (len(numbers), sum(numbers))


def test_what_windows_take_in_is_what_was_ordered(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shedder, "LARGE", 1)
    run, _ = some_windows(spark, tmp_path, drop={"all": 1.0})
    run.statistics()
    (part,) = run.parts
    assert part.measure is not None
    *_, last = part.measure.observations
    aggregates = {run.network.graph.names[q]: n for n, q in run.network.graph.queries.items()}
    taken = {aggregates[n]: f.rows_in for n, f in last.operators.items() if n in aggregates}
    assert taken["all"] == 0
    assert 0 <= taken["rare"] <= 0.4 * ROWS  # by one row in 64, of which none may be rare
    assert last.operators["packets, taken"].rows_in < 0.4 * ROWS  # those, and one in 64


def test_who_asks_and_who_does_not(spark: SparkSession, tmp_path: Path) -> None:
    packet = ps.stream(ordered(spark, tmp_path), event_time="ts", identity="number")
    some = packet.where("host = 'a'").window("10 s").by("host").agg(n=ps.count())
    kinds = [(some.approximate(), True, False), (some.subset(3), True, True)]
    kinds.append((some.subset(3, per="group"), False, False))
    for kind, asks, times in kinds:
        network = ps.Network(some=kind)
        (graph,) = network.split.parts
        part = Part(graph, kinds=network.kinds)
        assert part.asks(graph.sources[0]) is asks
        assert part.asks_times(graph.sources[0]) is times


cells = st.tuples(st.integers(-6, 6), st.sampled_from([2, 4, 10]), st.lists(st.booleans()))


@given(st.lists(st.tuples(st.booleans(), cells), min_size=1, max_size=5))
def test_bits_say_which_questions_want_a_row(asked: list[tuple[bool, Any]]) -> None:
    """The naive twin: each order by itself."""
    orders = [
        by_window(Flags(base * step, step, tuple(flags))) if windows else at_random(0.5)
        for windows, (base, step, flags) in asked
    ]
    base, until, step, masks, every = wants(orders)
    for t in range(-100, 150):
        mask = masks[(t - base) // step] if base <= t < until else every
        for j, order in enumerate(orders):
            assert bool(mask >> j & 1) == (order.needed and not order.dropped.at(t))
