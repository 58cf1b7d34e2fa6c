"""Fig. 1 on two real Spark applications: each for itself, with a coordinator, among peers.

warm-up ─► too many rows, no coordinator ─► the same, with one        the same two applications
warm-up ─► too many rows, peers ─► the same, as long again            others, on new topics

Rows at the outputs are counted in event time: those in the answers for a span in which all that is
planned has settled.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from penstock.bench.fig1 import INPUTS, OUTPUTS, Fig1
from penstock.bench.kafka.jars import jars
from penstock.bench.processes import Feed, Fleet, own_broker
from penstock.errors import PenstockError
from penstock.fleet.pipeline import parse_pipeline
from penstock.nodes.model import Network
from penstock.nodes.optimum import optimal_plan

WANTED = {"times_uncoordinated": 1.15, "of_optimum": 0.9, "p95_over_target": 1.1}
NODES = ("A", "B")

_LOW, _RISE = 0.02, 0.25
"""Of the rate, in the warm-up: it rises, so that costs of rows and of batches are told apart."""

_FIRST, _LOST = 120.0, 60.0
"""Seconds after which the first answers, and those for a span, are given up."""


@dataclass(frozen=True)
class Times:
    """How long things are given, in seconds.

    Args:
        warm: for Java to warm up, at few rows.
        settle: for plans to be made, and to be in force.
        span: in which rows are counted.
        under_way: until what has entered has left.
    """

    warm: float = 40.0
    settle: float = 35.0
    span: float = 45.0
    under_way: float = 20.0


@dataclass
class Running:
    """Fig. 1 while it runs.

    Args:
        figure: its file.
        times: how long things are given.
        fleet: its processes.
    """

    figure: Fig1
    times: Times
    fleet: Fleet
    feed: Feed
    network: Network = field(init=False)

    def __post_init__(self) -> None:
        self.network = parse_pipeline(self.figure.text).network

    def warm_up(self) -> None:
        """Starts the nodes, brings them few rows until they answer, more, and then too many."""
        self.fleet.start(*NODES)
        self.fleet.running(*NODES)
        self.feed.start()
        self._wait_for_answers(0.0, _FIRST)
        began = time.monotonic()
        while (past := (time.monotonic() - began) / self.times.warm) < 1:
            self.feed.rate = self.figure.rows * (_LOW + _RISE * past)
            self.fleet.wait(1)
        self.feed.rate = self.figure.rows

    def measured(self) -> dict[str, Any]:
        """What comes out when all has settled."""
        self.fleet.wait(self.times.settle)
        begin = float(int(time.time()) + 1)
        end = begin + self.times.span
        self.fleet.wait(end - time.time())
        reports = {one: self.fleet.report(one) for one in NODES}
        self._wait_for_answers(end)
        folder = self.figure.folder
        counted = {one: _counted(folder / one, begin, end) for one in OUTPUTS}
        best = optimal_plan(as_measured(self.network, reports))
        total = sum(counted.values())
        return {
            "throughput": round(total, 1),
            "outputs": {name: round(rows, 1) for name, rows in counted.items()},
            "optimum": round(best.score, 1),
            "of_optimum": round(total / best.score, 3),
            "p95_over_target": p95_over_target(reports, begin, end),
            "keeps": reports["A"]["keeps"],
            "costs": {n: round(c, 5) for one in reports.values() for n, c in one["costs"].items()},
            "fixed_share": {name: round(one["fixed_share"], 3) for name, one in reports.items()},
            "accounts": {n: of for one in reports.values() for n, of in one["accounts"].items()},
        }

    def _wait_for_answers(self, end: float, most: float = _LOST) -> None:
        """Waits until answers have passed a moment."""
        deadline = time.monotonic() + most
        while min(newest(self.figure.folder / one) for one in OUTPUTS) <= end:
            self.fleet.wait(2)
            if time.monotonic() > deadline:
                raise PenstockError(f"there are no answers for {end:.0f} after {most:.0f} s")

    def phases(self) -> list[str]:
        """What nodes and coordinator have said."""
        words = (" planned:", " overloaded:", " chosen:", " in force:", " lifted:", " failed:")
        said = [self.fleet.said(one) for one in (*NODES, "coordinator")]
        lines = [line for some in said for line in some.splitlines()]
        return sorted(line for line in lines if any(word in line for word in words))

    def stop(self) -> None:
        """Ends all processes."""
        self.feed.stop()
        self.fleet.stop()


def run(say: Callable[[str], None], times: Times | None = None) -> dict[str, Any]:
    """Runs all modes, one after the other.

    Args:
        say: where progress goes.
        times: how long things are given.
    """
    if isinstance(found := jars("broker"), str):
        return {"skipped": found}
    times = times or Times()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="penstock-") as scratch:
        folder = Path(scratch)
        with own_broker(folder / "kafka") as broker:
            for mode in ("coordinator", "peers"):
                figure = Fig1(broker.servers, folder / mode, f"fig1-{mode}", mode=mode)
                results |= measure(figure, times, broker.topic, say)
    return summary(results, figure.rows)


def measure(
    figure: Fig1, times: Times, topic: Callable[[int, str], str], say: Callable[[str], None]
) -> dict[str, Any]:
    """Runs the nodes in a mode; with a coordinator also before there is one.

    Args:
        figure: the file.
        times: how long things are given.
        topic: makes one, of so many partitions.
        say: where progress goes.
    """
    figure.folder.mkdir()
    file = figure.folder / "fig1.toml"
    file.write_text(figure.text)
    topics = [topic(1, f"{figure.name}.{name}") for name in INPUTS]
    feed = Feed(figure.servers, topics, _LOW * figure.rows)
    running = Running(figure, times, Fleet(file, figure.folder), feed)
    results: dict[str, Any] = {}
    try:
        say(f"two Spark applications, {figure.rows:,.0f} rows/s of each input")
        running.warm_up()
        if figure.mode == "coordinator":
            say("each for itself")
            results["uncoordinated"] = running.measured()
            running.fleet.wait(times.under_way)
            say("with a coordinator")
            running.fleet.start("coordinator")
            results["coordinator"] = running.measured()
        else:
            say("among peers")
            # Those with a coordinator have run for that long, each for itself: Java is as warm.
            running.fleet.wait(times.settle + times.span + times.under_way)
            results["peer"] = running.measured()
    finally:
        running.stop()
    last = list(results)[-1]
    results[last]["phases"] = running.phases()
    return results


def summary(results: Mapping[str, Mapping[str, Any]], rate: float) -> dict[str, Any]:
    """The figures that are asked for, and what they come from.

    Args:
        results: of the modes.
        rate: of each input, in rows per second.
    """
    found: dict[str, Any] = {name: of["throughput"] for name, of in results.items()}
    alone = found.get("uncoordinated")
    planned = {name: of for name, of in results.items() if name != "uncoordinated"}
    over = [of["p95_over_target"] for of in planned.values() if of["p95_over_target"] is not None]
    return {
        **found,
        "p95_over_target": max(over, default=None),
        "times_uncoordinated": {
            name: round(of["throughput"] / alone, 3) for name, of in planned.items() if alone
        },
        "of_optimum": {name: of["of_optimum"] for name, of in planned.items()},
        "rate": rate,
        "wanted": WANTED,
        "details": dict(results),
    }


def as_measured(network: Network, reports: Mapping[str, Mapping[str, Any]]) -> Network:
    """The network as its file says, less the time that batches take without rows.

    Args:
        network: as the file says.
        reports: of nodes.
    """
    left = {name: max(0.01, 1 - one["fixed_share"]) for name, one in reports.items()}
    nodes = [replace(node, capacity=left[node.name] * node.capacity) for node in network.nodes]
    return replace(network, nodes=tuple(nodes))


def p95_over_target(
    reports: Mapping[str, Mapping[str, Any]], begin: float, end: float
) -> float | None:
    """The response time that 95 % of batches stay below, in targets; of the worse node.

    Args:
        reports: of nodes.
        begin: of the span, in seconds since the epoch.
        end: of the span.
    """
    worst = []
    for one in reports.values():
        some = sorted(took for at, took in one["responses"] if begin <= at <= end)
        if some:
            worst.append(some[round(0.95 * (len(some) - 1))] / one["target"])
    return round(max(worst), 3) if worst else None


def newest(folder: Path) -> float:
    """The end of the last window that was delivered, in seconds since the epoch."""
    return max((end for end, _ in _answers(folder)), default=0.0)


def _counted(folder: Path, begin: float, end: float) -> float:
    """Rows per second in the windows that were delivered, of those that end in a span."""
    return sum(rows for at, rows in _answers(folder) if begin < at <= end) / (end - begin)


def _answers(folder: Path) -> list[tuple[float, float]]:
    """The end of each window, and the rows that it was computed from."""
    if not any(folder.rglob("*.parquet")):
        return []
    rows = pq.read_table(folder).to_pylist()
    return [
        (row["window_end"].replace(tzinfo=UTC).timestamp(), float(row.get("sample", row["rows"])))
        for row in rows
    ]
