"""Plans for an overload run on Spark as they were planned, and errors are measured as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.bench import placement
from penstock.bench.deviations import relative_error, relative_errors
from penstock.bench.packets import WORKLOAD
from penstock.bench.reachable import Reachable, Windows, greatest
from penstock.bench.seven import Packets, exact, shed
from penstock.control.moments import Moments
from penstock.engine.orders import orders_of
from penstock.planning import Asked, Node, Workload, plan
from penstock.planning.sampling import LITTLE


def test_the_error_of_a_window_is_over_all_its_groups():
    exact = {"tcp": 80.0, "udp": 15.0, "icmp": 5.0}
    assert relative_error(exact, exact) == 0
    assert relative_error(exact, {"tcp": 90.0, "udp": 10.0}) == pytest.approx(
        0.2
    )  # icmp is missing
    assert relative_error(exact, {}) == 1
    assert relative_errors({1: exact, 2: exact}, {2: exact, 3: {}}) == [1, 0]


def test_what_is_measured_is_what_was_planned(spark: SparkSession, tmp_path: Path) -> None:
    # 300 s each, in which there are whole windows of 120 s
    other = Packets.written(
        spark, tmp_path / "other", 3, 10_000, rate=100, first=placement.ELSEWHERE
    )
    data = Packets.written(spark, tmp_path / "data", 3, 10_000, rate=100)
    learnt = placement.learn(other, tmp_path / "learn")
    wanted = {query: windows for query, (windows, _) in exact(data).items()}
    assert {query: len(windows) for query, windows in wanted.items()} == {
        query: (299 - int(length.split()[0])) // int(slide.split()[0]) + 1
        for query, (_, _, length, slide, _) in WORKLOAD.items()
    }
    (_, planned), (_, even) = learnt.plans(3)
    assert planned.after == pytest.approx(even.after)
    keep = {query: planned.outcomes[query].keep for query in WORKLOAD}
    assert keep["dns_by_host"] > 2 * keep["traffic"]  # few rows by many hosts
    got, seconds = shed(data, tmp_path / "run", dict.fromkeys(WORKLOAD, 1.0), planned.plan)
    assert seconds > 0
    measured = {query: relative_errors(wanted[query], got[query]) for query in WORKLOAD}
    # Nothing is dropped in the first batch; from then on queries keep what the plan says.
    assert measured["traffic"][0] == 0
    orders = orders_of((tmp_path / "run/checkpoint/penstock/plans/1").read_bytes(), 1)
    assert {fold.keep for fold in orders.folds} == set(keep.values())
    found = placement.report(learnt, 3, measured, measured)
    assert found["avg_ratio"] == found["max_ratio"] == 1
    assert 0 < found["avg_error"] < 2 * found["planned_avg_error"]
    told = placement.simulated(learnt, data, 3)
    assert 1 < told["max_ratio"] <= told["best_max_ratio"] * 1.05
    costs = learnt.costs()
    assert costs["filter 1"] > 0
    assert {*WORKLOAD} <= {query for names in costs for query in names.split(", ")}


def test_no_plan_is_much_better_than_the_planner_s_in_simulation():
    nodes = (
        Node("packets", rate=1000.0, cost=0.0),
        Node("hard", (0,), aggregate=True),
        Node("easy", (0,), aggregate=True),
    )
    queries = (Asked("hard", 1, hardness=1e-2), Asked("easy", 2, hardness=1e-4))
    load = Workload(nodes, queries, capacity=500.0, errors="quantile")
    windows = {
        query: Windows(range=2, count=20, groups=[Moments(rows, rows, rows, 1)])
        for query, rows in (("hard", 100), ("easy", 10_000))
    }
    drawn = greatest(windows, 200, seed=1), greatest(windows, 200, seed=2)
    # The greatest of some 20 normal errors, of which neighbours have half of their rows in common.
    assert drawn[0]["hard"].mean() / 0.1 == pytest.approx(2.1, abs=0.3)
    assert drawn[0]["hard"].mean() == pytest.approx(10 * drawn[0]["easy"].mean(), rel=0.1)
    reachable = Reachable(load, *drawn, share=0.25)
    assert reachable.ratios(dict.fromkeys(windows, 0.25)).mean() == pytest.approx(1, abs=0.15)
    planned = {name: one.keep for name, one in plan(load).outcomes.items()}
    best = reachable.best(planned)
    assert sum(best.values()) == pytest.approx(0.5, rel=1e-3)
    ours, most = (reachable.ratios(keep).mean() for keep in (planned, best))
    assert ours > 1.5
    assert ours <= most * (1 + 1e-3)
    assert ours >= most / (1 + LITTLE + 0.05)
