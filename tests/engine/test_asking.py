"""Rows are asked at the entrance who wants them: fewer are taken in, and answers stay the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import penstock as ps
from penstock.drops.arrays import Flags
from penstock.drops.orders import Order, at_random, by_window
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


Ran = tuple[ps.NetworkRun, Found]


def shed(spark: SparkSession, folder: Path, rare: float = 0.9) -> Ran:
    queries, found = asked(spark, folder), Found()
    run = start(queries, folder / "run", found, keep={"rare": rare, "all": 0.05})
    run.wait()
    balanced(run, queries)
    return run, found


@pytest.fixture(scope="module")
def asking(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A run of batches that all count as large; tests only look at it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shedder, "LARGE", 1)
        return shed(spark, tmp_path_factory.mktemp("asking"))


def test_a_needy_query_over_few_rows_does_not_have_all_rows_taken_in(
    spark: SparkSession, tmp_path: Path, asking: Ran
) -> None:
    behind, known = shed(spark, tmp_path)
    before, found = asking
    # The first batches are not known to be large; of others nine in ten rows stayed, and now some.
    rows = BATCHES * ROWS
    assert behind.accounts["rare"]["shed_at_stream"] < 0.15 * rows
    assert before.accounts["rare"]["shed_at_stream"] > 0.5 * rows
    for name in ("rare", "all"):
        same = {(r["window_end"], r["n"], r["n_low"], r["n_high"]) for r in delivered(known[name])}
        mine = delivered(found[name])
        assert len(mine) > 5
        assert {(r["window_end"], r["n"], r["n_low"], r["n_high"]) for r in mine} <= same


def test_one_that_keeps_all_it_asks_for_does_not_have_all_rows_taken_in(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shedder, "LARGE", 1)
    run, found = shed(spark, tmp_path, rare=1.0)
    assert run.accounts["rare"]["shed_at_stream"] > 0.5 * BATCHES * ROWS
    exact = delivered(found["rare"])
    assert len(exact) > 5
    assert all(row["n_low"] == row["n"] == row["n_high"] for row in exact)


def test_what_queries_take_in_is_what_was_ordered(asking: Ran) -> None:
    run, _ = asking
    run.statistics()
    (part,) = run.parts
    assert part.measure is not None
    *_, last = part.measure.observations
    # Taken in is what somebody wants, and a sample of one in 64.
    assert 0.05 * ROWS < last.operators["packets, taken"].rows_in < 0.2 * ROWS
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


def some_windows(spark: SparkSession, folder: Path, **how: Any) -> Ran:
    """Windows of one query are kept; those of the other are dropped, or rows of it at random."""
    packet = ps.stream(ordered(spark, folder), event_time="ts", identity="number", name="packets")
    rare = packet.where("size % 10 = 3 AND host = 'a'").window("10 s")
    every = packet.window("10 s").by("host").agg(packets=ps.count())
    queries = {
        "rare": rare.agg(n=ps.count(), b=ps.sum("size")).subset(1000),
        "all": every.approximate() if "keep" in how else every.subset(1000),
    }
    found = Found()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shedder, "LARGE", 1)
        run = start(queries, folder / "run", found, **how)
        run.wait()
    balanced(run, queries)
    return run, found


@pytest.fixture(scope="module")
def dropping(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """All windows of the other query are dropped; tests only look at it."""
    return some_windows(spark, tmp_path_factory.mktemp("dropping"), drop={"all": 1.0})


@pytest.fixture(scope="module")
def sampling(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Most rows of the other query are dropped at random."""
    return some_windows(spark, tmp_path_factory.mktemp("sampling"), keep={"all": 0.05})


@pytest.mark.parametrize("how", ["dropping", "sampling"])
def test_rows_are_taken_in_only_for_windows_that_are_kept(
    spark: SparkSession, how: str, request: pytest.FixtureRequest
) -> None:
    run, found = request.getfixturevalue(how)
    rows = BATCHES * ROWS
    # The first batches are not known to be large, and nothing is decided for them.
    assert run.accounts["rare"]["shed_at_stream"] > 0.4 * rows
    mine = delivered(found["rare"])
    assert len(mine) == BATCHES * ROWS // 200 - 1  # all windows but the last, which is open
    for row in mine:
        first = round((row["window_start"].timestamp() - START / SECOND) * 20)
        numbers = [i for i in range(first, first + 200) if i % 10 == 3 and i % 3]
        assert (row["n"], row["b"]) == (len(numbers), sum(numbers))


def test_what_windows_take_in_is_what_was_ordered(dropping: Ran) -> None:
    run, _ = dropping
    run.statistics()
    (part,) = run.parts
    assert part.measure is not None
    *_, last = part.measure.observations
    aggregates = {run.network.graph.names[q]: n for n, q in run.network.graph.queries.items()}
    taken = {aggregates[n]: f.rows_in for n, f in last.operators.items() if n in aggregates}
    assert taken["all"] == 0
    assert 0 <= taken["rare"] <= 0.4 * ROWS  # by one row in 64, of which none may be rare
    assert last.operators["packets, taken"].rows_in < 0.4 * ROWS  # those, and one in 64
    assert last.operators["packets, asked"].rows_in == pytest.approx(ROWS)


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
    orders = orders_of(asked)
    base, until, step, masks, every, idle, again = wants(orders)
    for t in range(-100, 150):
        mask = masks[(t - base) // step] if base <= t < until else every
        assert not (idle <= t < again and mask)
        for j, order in enumerate(orders):
            assert bool(mask >> j & 1) == (order.needed and not order.dropped.at(t))


@given(st.lists(st.tuples(st.booleans(), cells), min_size=1, max_size=5), st.integers(1, 9))
def test_where_cells_are_wide_no_more_rows_go(asked: list[tuple[bool, Any]], most: int) -> None:
    orders = orders_of(asked)
    with mock.patch("penstock.engine.orders.MOST", most):
        base, until, step, masks, every, *_ = wants(orders)
    assert len(masks) <= most
    for t in range(-100, 150):
        mask = masks[(t - base) // step] if base <= t < until else every
        for j, order in enumerate(orders):
            assert mask >> j & 1 or not order.needed or order.dropped.at(t)


def test_the_longest_time_without_a_wanted_row_is_not_looked_up() -> None:
    one = by_window(Flags(0, 10, (True, False, True, True, True, False)))
    *_, idle, again = wants([one])
    assert (idle, again) == (20, 50)
    none = by_window(Flags(0, 10, ()))
    *_, idle, again = wants([none])
    assert idle == again  # all are wanted
    *_, idle, again = wants([at_random(0.5)])
    assert idle < -100 < 100 < again  # none is, for its time


def orders_of(asked: list[tuple[bool, Any]]) -> list[Order]:
    return [
        by_window(Flags(base * step, step, tuple(flags))) if windows else at_random(0.5)
        for windows, (base, step, flags) in asked
    ]
