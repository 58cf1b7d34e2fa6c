"""The driver that is killed: a network that sheds by a script, and writes down what it gave.

It says "ready" when Spark is up, and begins when it is told to, in one line of JSON on its standard
input. So the next driver can be made ready while one is still running.

    out/attempts/N/a.json    what batch N gave in attempt a, as it stands in out/answers/batch=N
    out/accounts/N/a.json    where its rows went, once Spark has told it
    out/ledger.json          what became of all windows, when all is read
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.engine.shedder import Shedder

LIMIT = 900
"""Seconds after which something is wrong."""


GAPS = {"sliding": 3, "top": 2}
"""Query with subset answers → how many windows in a row it may miss."""


def plan_of(batch: int) -> dict[str, Any]:
    """What is shed in a batch: a function of its number alone."""
    of = random.Random(batch)
    return {
        "keep": of.choice([0.2, 0.5, 1.0]),
        "drop": of.choice([0.0, 0.5, 0.9]),
        "mode": of.choice(["on", "on", "on", "on", "monitor", "off"]),
    }


def queries(source: str) -> dict[str, ps.WindowQuery]:
    """Approximate and subset answers, of windows and of windows over windows."""
    files = ps.sources.files(source, most=1)
    packet = ps.stream(files, event_time="ts", slack="2 s", name="packets")
    by_host = packet.window("5 s").by("host").agg(n=ps.count())
    return {
        "sampled": packet.where("size > 500")
        .window("20 s", every="10 s")
        .by("host")
        .agg(packets=ps.count(), bytes=ps.sum("size"), mean=ps.avg("size"))
        .approximate(),
        "sliding": packet.window("10 s", every="5 s")
        .agg(n=ps.count(), b=ps.sum("size"))
        .subset(GAPS["sliding"]),
        "top": by_host.results()
        .window("20 s", every="10 s")
        .agg(top=ps.max("n"))
        .subset(GAPS["top"]),
    }


def session(master: str, conf: dict[str, str]) -> SparkSession:
    """A session that starts fast."""
    builder = SparkSession.builder.master(master).appName("penstock-soak")
    for name, value in conf.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def write(path: Path, content: object) -> None:
    """Writes a file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content))
    part.replace(path)


class Driver:
    """One attempt.

    Args:
        order: `source`, `checkpoint`, `out`, the number of the `attempt` (0), the point at which to
            `die` ("" for nowhere), `idle` where there shall be batches without rows, and `whole`
            where nothing shall be shed.
    """

    def __init__(self, order: dict[str, Any]) -> None:
        self.out, self.attempt = Path(order["out"]), order.get("attempt", 0)
        self.point, self.whole = order.get("die", ""), order.get("whole", False)
        self.answers = ps.sinks.parquet(str(self.out / "answers"))
        self.started = threading.Event()
        # Such a batch stands where the stream had no more rows: where that is, a kill decides.
        idle = "true" if order.get("idle") else "false"
        SparkSession.active().conf.set("spark.sql.streaming.noDataMicroBatches.enabled", idle)
        follow = Shedder.follow

        def followed(
            shedder: Shedder, batch: int, newest: int | None, rows: float | None = None
        ) -> None:
            follow(shedder, batch, newest, rows)
            self.reached("planned")

        Shedder.follow = followed  # type: ignore[assignment, method-assign]
        self.run = ps.Network(**queries(order["source"])).start(
            order["checkpoint"], sink=self.take, trigger={"availableNow": True}, **self.plan(0)
        )
        self.started.set()

    def take(self, frame: DataFrame, number: int) -> None:
        """The sink: writes the answers and notes them, and says what the next batch shall shed."""
        self.answers.write(frame, number)
        self.reached("written")
        rows = pq.read_table(self.out / "answers" / f"batch={number}").to_pylist()
        noted = sorted(json.dumps(row, default=str, sort_keys=True) for row in rows)
        write(self.out / "attempts" / str(number) / f"{self.attempt}.json", noted)
        self.reached("noted")
        assert self.started.wait(LIMIT)
        self.account()
        self.run.shed(**self.plan(number + 1))

    def plan(self, batch: int) -> dict[str, Any]:
        """What is shed in a batch."""
        return {"mode": "off"} if self.whole else plan_of(batch)

    def reached(self, point: str) -> None:
        """Ends this process and Spark's, as `kill -9` would, if this is where it shall die."""
        if point == self.point:
            os.killpg(0, signal.SIGKILL)

    def account(self) -> None:
        """Notes where the rows went of the batches that Spark has told of."""
        running = self.run.parts[0]
        told = running.shed_accounts()
        assert told is not None
        each = {name: told.of(name) for name in running.queries}
        for batch in set.intersection(*map(set, each.values())):
            path = self.out / "accounts" / str(batch) / f"{self.attempt}.json"
            if not path.exists():
                write(path, {name: accounts[batch] for name, accounts in each.items()})

    def finish(self) -> None:
        """Waits until all is read."""
        assert self.run.wait(LIMIT)
        self.account()
        ledger = [json.dumps(row.asDict(), default=str) for row in self.run.ledger().collect()]
        write(self.out / "ledger.json", ledger)
        told = [part.shedder.problems for part in self.run.parts if part.shedder is not None]
        write(self.out / "problems.json", told)


def main() -> None:
    """Gets ready, waits for the word, runs."""
    terms = json.loads(sys.argv[1])
    session(terms["master"], terms["conf"])
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    line = sys.stdin.readline()
    if line.strip():
        Driver(json.loads(line)).finish()
        sys.stdout.write("done\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
