"""Fig. 1 on two real Spark applications: each for itself, with a coordinator, among peers."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from penstock.bench.kafka.broker import Broker
from penstock.bench.kafka.jars import jars
from penstock.bench.pipeline import Feed, Fleet, make_topics, text, work
from penstock.errors import PenstockError
from penstock.fleet.pipeline import parse_pipeline
from penstock.nodes.model import Network
from penstock.nodes.optimum import optimal_plan

WANTED = {"coordinator": 1.15, "peer": 1.15, "of_optimum": 0.9, "p95_over_target": 1.1}
MODES = {"uncoordinated": "alone", "coordinator": "coordinator", "peer": "peers"}

_SETTLE, _MEASURE, _DRAIN = 50.0, 60.0, 15.0
"""Seconds: statistics settle, rows are counted, the last windows close."""


def spark_bench(
    unit: float, say: Callable[[str], None], *, modes: Mapping[str, str] = MODES
) -> dict[str, Any]:
    """Runs all modes, one after the other.

    Args:
        unit: seconds that a row takes in the cheapest box.
        say: where progress goes.
        modes: what they are called → what they are.
    """
    found = jars("broker")
    if isinstance(found, str):
        return {"skipped": found}
    rate = round(1 / unit)
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="penstock-") as scratch:
        (Path(scratch) / "kafka").mkdir()
        broker = Broker(found, Path(scratch) / "kafka")
        broker.start()
        try:
            for name, mode in modes.items():
                say(f"two Spark applications, {name}, {rate:,} rows/s of each input")
                folder = Path(scratch) / mode
                folder.mkdir()
                results[name] = one_mode(broker, folder, mode, unit, rate)
        finally:
            broker.kill()
    return _summary(results, rate)


def _summary(results: Mapping[str, Mapping[str, Any]], rate: float) -> dict[str, Any]:
    alone = results.get("uncoordinated", {}).get("throughput")
    found: dict[str, Any] = {name: of["throughput"] for name, of in results.items()}
    planned = [of for name, of in results.items() if name != "uncoordinated"]
    over = [of["p95_over_target"] for of in planned if of["p95_over_target"] is not None]
    found["p95_over_target"] = max(over, default=None)
    found["optimum"] = max((of["optimum"] for of in planned), default=None)
    found["rate"] = rate
    found["times_uncoordinated"] = {
        name: round(of["throughput"] / alone, 3)
        for name, of in results.items()
        if alone and name != "uncoordinated"
    }
    found["details"] = dict(results)
    found["wanted"] = WANTED
    return found


def one_mode(broker: Broker, folder: Path, mode: str, unit: float, rate: float) -> dict[str, Any]:
    """Weighted throughput at the outputs, in rows per second, and how well targets are met.

    Args:
        broker: that runs.
        folder: for all that is written.
        mode: who plans.
        unit: seconds that a row takes in the cheapest box.
        rate: of each input, in rows per second.
    """
    name = f"fig1-{mode}"
    file = folder / "pipeline.toml"
    written = text(broker, folder, name=name, mode=mode, unit=unit, rate=rate)
    file.write_text(written)
    make_topics(broker, name)
    fleet, feed = Fleet(file, folder), Feed(broker, name, rate)
    try:
        for one in ("A", "B", *(("coordinator",) if mode == "coordinator" else ())):
            fleet.start(one)
        fleet.running("A", "B")
        feed.start()
        _wait(fleet, _SETTLE)
        begin = time.time()
        _wait(fleet, _MEASURE)
        end = time.time()
        reports = {one: dict(fleet.report(one)) for one in ("A", "B")}
        _wait(fleet, _DRAIN)
    finally:
        if feed.began:
            feed.stop()
        fleet.stop()
    counted = {one: _counted(folder / one, begin, end) for one in ("first", "second")}
    network = measured(parse_pipeline(written).network, reports)
    worst = [r["p95"] / r["target"] for r in reports.values() if r.get("p95") is not None]
    return {
        "throughput": round(sum(counted.values()), 1),
        "outputs": counted,
        "optimum": round(optimal_plan(network).score, 1),
        "p95_over_target": round(max(worst), 3) if worst else None,
        "reports": reports,
        "log": [line for one in ("A", "B", "coordinator") for line in _phases(fleet.said(one))],
    }


def measured(network: Network, reports: Mapping[str, Mapping[str, Any]]) -> Network:
    """The network with the costs and fixed costs that nodes have measured.

    Args:
        network: as the file says.
        reports: of nodes.
    """
    nodes = tuple(
        replace(node, capacity=max(0.01, 1 - reports[node.name].get("fixed_share", 0.0)))
        for node in network.nodes
    )
    costs = {name: cost for one in reports.values() for name, cost in one.get("costs", {}).items()}
    boxes = tuple(replace(box, cost=costs.get(box.name, box.cost)) for box in network.boxes)
    return replace(network, nodes=nodes, boxes=boxes)


def _wait(fleet: Fleet, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        fleet.check()
        time.sleep(0.5)


def _counted(folder: Path, begin: float, end: float) -> float:
    """Rows per second in the windows that were delivered, of those that end in a span."""
    if not folder.exists():
        return 0.0
    rows = pq.read_table(folder).to_pylist()
    total = 0
    for row in rows:
        at = row["window_end"]
        moment = at.timestamp() if at.tzinfo is not None else at.replace(tzinfo=UTC).timestamp()
        total += row["rows"] if begin <= moment < end else 0
    return round(total / (end - begin), 1)


def _phases(said: str) -> list[str]:
    words = ("planned", "overloaded", "chosen", "in force", "lifted", "failed", "running")
    return [line for line in said.splitlines() if any(f" {word}" in line for word in words)][:20]


def unit_of_work(spark: SparkSession, rows: int = 3000) -> float:
    """Seconds that a row takes in the cheapest box, on one core that does nothing else.

    Args:
        spark: with one core.
        rows: how many are tried.
    """
    best = float("inf")
    for _ in range(4):
        frame = spark.range(0, rows, 1, 1).selectExpr("id AS n").where(work(1))
        began = time.perf_counter()
        frame.write.format("noop").mode("overwrite").save()
        best = min(best, time.perf_counter() - began)
    if best <= 0:
        raise PenstockError("the clock stands still")
    return best / rows
