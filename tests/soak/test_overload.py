"""Twice the capacity from a Kafka topic with a producer of its own: the whole path, to its end.

    rate   ┌──────────────┐        capacity is measured before, from the same topic's records
     ──────┘              └─────
    warm-up  2 x capacity   less    target = 4 times an unloaded batch

One query has approximate answers and one a subset of the exact ones.

`penstock bench overload` measures how well the target is held. Here the machine may be any, and
other work on it: it must be held in the middle, rows must balance, and no answer may be wrong.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import penstock as ps
from penstock.bench.kafka.broker import Broker
from penstock.bench.machine import Machine, line, seconds
from tests.kafka.conftest import broker  # noqa: F401 - a fixture

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1500)]

PRODUCER = Path(__file__).with_name("producer.py")
COSTLY = "aggregate(sequence(1, 1000), v, (a, x) -> pmod(xxhash64(a, x), 1000)) >= 0"
"""Always true, and dear: the broker and the producer share two cores with Spark."""
FEW, MANY, BATCHES = 200, 40_000, 9
RISING, SETTLED, MEASURED, AFTER = 40, 40, 50, 40
"""Seconds at half the capacity, then at twice until it counts and while it does, then at half."""

TRIES = 3

LEAST = 8e-6
"""Seconds of a row: it costs more, be it that others' work hides it."""


class Case:
    """The queries over a topic."""

    def __init__(self, spark: SparkSession, on: Broker, folder: Path) -> None:
        self.spark, self.broker, self.folder = spark, on, folder
        self.topic = on.topic(2)
        self.found: list[Row] = []

    def packets(self, **how: Any) -> ps.Stream:
        rows = ps.sources.kafka(
            self.broker.servers, self.topic, parse=ps.sources.json("k int, v bigint"), **how
        )
        return ps.stream(rows, "kafka_timestamp", slack="10 s", name="packets")

    def queries(self, *, exact: bool = False, **how: Any) -> ps.Network:
        packets = self.packets(**how) if exact else self.packets(**how).where(COSTLY)
        asked = {"n": ps.count(), "total": ps.sum("v")}
        some = packets.window("20 s", every="5 s").by("k").agg(**asked)
        large = packets.where("v > 50").window("10 s", every="5 s")
        whole = large.agg(large=ps.count(), sum=ps.sum("v"))
        if exact:
            return ps.Network(some=some, whole=whole)
        return ps.Network(some=some.approximate(), whole=whole.subset(max_gap=50))

    def start(self, name: str, network: ps.Network, **how: Any) -> ps.NetworkRun:
        def sink(batch: DataFrame, _: int) -> None:
            self.found += batch.collect()

        return network.start(str(self.folder / name), sink=sink, **how)

    def send(self, *steps: tuple[float, float]) -> subprocess.Popen[bytes]:
        listed = [f"{rate:.0f}:{length:g}" for rate, length in steps]
        command = [sys.executable, str(PRODUCER), self.broker.servers, self.topic, *listed]
        return subprocess.Popen(command)

    def machine(self) -> Machine:
        """What a batch costs and a row, by batches with few and with many rows."""
        sending = self.send((MANY, BATCHES + 1))
        assert sending.wait(300) == 0
        took: list[list[Any]] = []
        for most in (MANY, FEW, MANY, FEW):  # the first two are for Java to get warm
            network = self.queries(starting="earliest", most=most)
            run = self.start(f"look-{len(took)}", network, keep=1.0, drop=0.0)
            reports: dict[int, Any] = {}
            while len(reports) < BATCHES and not run.wait(1.0):
                reports |= {r["batchId"]: r for r in run.parts[0].run.progress}
            run.stop()
            took.append([reports[batch] for batch in sorted(reports)])
        fixed, kept = line(took[2:])
        return Machine(seconds(took[3]), max(kept, LEAST), 0.0, fixed)

    def truth(self) -> Iterator[tuple[str, dict[tuple[Any, ...], Row]]]:
        network = self.queries(exact=True, starting="earliest", batch=True)
        for name, answers in network.batch().items():
            yield name, {_at(row): row for row in answers.collect()}


def _at(row: Row) -> tuple[Any, ...]:
    return row["window_end"], row.asDict().get("k")


def balanced(run: ps.NetworkRun) -> None:
    accounts = run.parts[0].shed_accounts()
    assert accounts is not None
    for name in ("some", "whole"):
        for progress in run.parts[0].run.progress:
            mine = accounts.of(name)[progress["batchId"]]
            assert mine["rows_in"] == progress["numInputRows"]
            gone = mine["shed_at_stream"] + mine["shed_on_the_way"]
            assert mine["rows_in"] == gone + mine["taken"]


class Played:
    """A run through the burst, whatever became of it."""

    def __init__(self, case: Case) -> None:
        self.case, self.machine = case, case.machine()
        low, self.high = 0.5 * self.machine.capacity, 2 * self.machine.capacity
        case.found.clear()
        case.topic = case.broker.topic(2)
        latency = f"{self.machine.target * 1000:.0f} ms"
        self.run = case.start("run", case.queries(), latency=latency)
        began = time.time()
        sending = case.send((low, RISING), (self.high, SETTLED + MEASURED), (low, AFTER))
        while sending.poll() is None:
            assert not self.run.wait(1.0)
        time.sleep(2 * self.machine.target)
        self.run.stop()
        counts = began + RISING + SETTLED
        history = self.run.history
        self.middle = [one for one in history if counts <= one.at <= counts + MEASURED]
        told = [(one.batch, one.seconds, one.rows, one.shed, one.response) for one in history]
        self.said = f"{self.machine.values()}: {told}"

    def missed(self) -> str | None:
        """Why the target was not held in the middle, or something was dropped after the burst."""
        responses = [one.response for one in self.middle if one.response is not None]
        if len(responses) <= 3:
            return f"{len(responses)} batches in the middle: {self.said}"
        p95 = float(np.quantile(responses, 0.95)) / self.machine.target
        print(f"p95 over target {p95:.2f}; {self.said}")  # noqa: T201 - for who runs it with -s
        rows = sum(one.rows for one in self.middle)
        if rows <= 0.7 * self.high * MEASURED:
            return f"rows wait for long, {rows} came in the middle: {self.said}"
        if self.lost() <= 0.2 * rows:
            return f"hardly a row was dropped: {self.said}"
        if np.median(responses) > 1.5 * self.machine.target:
            return f"p95 over target {p95:.2f}; {self.said}"
        if any(query.shed for one in self.run.history[-2:] for query in one.queries):
            return f"rows are dropped when the burst is over: {self.said}"
        return None

    def lost(self) -> int:
        """Rows that queries did not get, in the middle."""
        return sum(query.shed for one in self.middle for query in one.queries)

    def is_right(self) -> None:
        """Rows balance, and no answer is wrong."""
        balanced(self.run)
        assert all(one.shed <= one.rows for one in self.run.history)
        exact = dict(self.case.truth())
        answers = {name: [r for r in self.case.found if r["query"] == name] for name in exact}
        for row in answers["whole"]:  # those that are there are right
            true = exact["whole"][_at(row)]
            assert (row["large"], row["sum"]) == (true["large"], true["sum"])
        inside = [
            row[f"{of}_low"] - 1e-6 <= exact["some"][_at(row)][of] <= row[f"{of}_high"] + 1e-6
            for row in answers["some"]
            for of in ("n", "total")
        ]
        assert len(inside) > 50
        assert sum(inside) >= 0.97 * len(inside)
        queries = [query for one in self.run.history for query in one.queries]
        if any(query.shed for query in queries if query.name == "some"):
            assert not all(row["exact"] for row in answers["some"])


def test_twice_the_capacity_from_kafka_is_held(
    spark: SparkSession,
    broker: Broker,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    """Answers must be right in every try; the target must be held in one.

    What others do on the machine may change between the measurement of its capacity and the burst,
    and then it was no burst to twice that.
    """
    missed = []
    for number in range(TRIES):
        played = Played(Case(spark, broker, tmp_path / str(number)))
        played.is_right()
        if (why := played.missed()) is None:
            return
        missed.append(why)
    pytest.fail("\n".join(missed))
