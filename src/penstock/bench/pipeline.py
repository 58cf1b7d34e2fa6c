"""The network of Fig. 1 as two Spark applications: their file, their processes, their input.

            node A              node B
left  ─► a1, 1 unit  ─►  b1, 3 units  ─► first         a unit is the time that one row takes
right ─► a2, 2 units ─►  b2, 1 unit   ─► second        for the edit distance of two texts
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from penstock.bench.kafka.broker import Broker
from penstock.bench.kafka.jars import jars
from penstock.errors import PenstockError

SIDE = 400
"""Characters of each text: a unit is so many times so many steps."""

_APP = "from penstock.cli.main import app; app()"
_INPUTS = ("left", "right")

_HEAD = """
latency = "{latency}"

[control]
servers = "{servers}"
topic = "{name}.control"
mode = "{mode}"
name = "{name}"

[run]
checkpoint = "{folder}/checkpoints"

[run.spark]
"spark.jars" = "{jars}"
"spark.driver.memory" = "1g"
"spark.sql.shuffle.partitions" = 1

[node.A]
cores = 1
capacity = {capacity}

[node.B]
cores = 1
capacity = {capacity}
"""
_INPUT = """
[input.{input}]
rate = {rate}
most = {most}
source = "kafka"
event_time = "ts"
slack = "500 ms"

[input.{input}.options]
servers = "{servers}"
topics = "{name}.{input}"
schema = "ts timestamp, n bigint"
starting = "earliest"
"""
_RELAY = """
[box.{box}]
node = "A"
from = "{input}"
cost = {cost}
cql = "SELECT ts, n FROM {input} WHERE {work}"
"""
_ANSWER = '''
[box.{box}]
node = "B"
from = "{relay}"
cost = {cost}
cql = """
SELECT count(*) AS rows, sum(n) AS total
FROM {relay} [RANGE 1 second SLIDE 1 second WATTR ts]
WHERE {work}"""

[output.{output}]
from = "{box}"
answers = "subset"
max_gap = 8
sink = {{ format = "parquet", path = "{folder}/{output}" }}
'''


def work(units: int, side: int = SIDE) -> str:
    """A condition that always holds, and takes so many units to find out.

    Args:
        units: how many.
        side: characters of each text.
    """
    texts = f"rpad(cast(n AS string), {side}, 'x'), rpad('y', {units * side}, 'y')"
    return f"levenshtein({texts}) >= 0"


def text(
    broker: Broker,
    folder: Path,
    *,
    name: str,
    mode: str = "coordinator",
    unit: float = 1e-3,
    rate: float = 1000.0,
    latency: str = "8 seconds",
    side: int = SIDE,
    capacity: float = 1.0,
) -> str:
    """The file.

    Args:
        broker: that runs.
        folder: for checkpoints and answers.
        name: of the pipeline.
        mode: who plans.
        unit: in seconds.
        rate: of each input, in rows per second.
        latency: the target.
        side: characters of the texts that rows are kept busy with.
        capacity: seconds of work that each node believes it can do in a second.
    """
    found = jars("connector")
    if isinstance(found, str):
        raise PenstockError(found)
    terms: dict[str, Any] = {
        "servers": broker.servers,
        "folder": folder,
        "name": name,
        "mode": mode,
        "latency": latency,
        "jars": ",".join(map(str, found)),
        "rate": rate,
        "most": 3 * rate,
        "capacity": capacity,
    }
    parts = [_HEAD.format(**terms)]
    for input_, relay, a, box, b, output in (
        ("left", "a1", 1, "b1", 3, "first"),
        ("right", "a2", 2, "b2", 1, "second"),
    ):
        parts.append(_INPUT.format(input=input_, **terms))
        parts.append(_RELAY.format(box=relay, input=input_, cost=a * unit, work=work(a, side)))
        more = {"box": box, "relay": relay, "output": output, "folder": folder}
        parts.append(_ANSWER.format(cost=b * unit, work=work(b, side), **more))
    return "".join(parts)


@dataclass
class Feed:
    """Rows for both inputs, at a steady rate, whose event time is the time at which they are sent.

    Args:
        broker: that runs; while it does not, rows wait.
        name: of the pipeline.
        rate: of each input, in rows per second.
    """

    broker: Broker
    name: str
    rate: float
    sent: int = 0
    began: float = 0.0
    _over: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Begins."""
        self.began = time.time()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        from confluent_kafka import Producer  # noqa: PLC0415 - an extra

        servers = self.broker.servers
        settings: dict[str, Any] = {"bootstrap.servers": servers, "linger.ms": 20, "log_level": 0}
        producer = Producer({**settings, "acks": "all", "enable.idempotence": True})
        while not self._over.wait(0.05):
            now = time.time()
            due = int((now - self.began) * self.rate)
            for number in range(self.sent, due):
                at = datetime.fromtimestamp(self.began + number / self.rate, UTC)
                row = json.dumps({"ts": at.isoformat(timespec="microseconds"), "n": number})
                for input_ in _INPUTS:
                    producer.produce(f"{self.name}.{input_}", row.encode(), partition=0)
            self.sent = max(due, self.sent)
            producer.poll(0)
        producer.flush(60)

    def stop(self) -> None:
        """Ends, when all that was sent is there."""
        self._over.set()
        if self.began:
            self._thread.join(90)


@dataclass
class Fleet:
    """The processes of a pipeline.

    Args:
        file: the pipeline.
        folder: for what they say and report.
    """

    file: Path
    folder: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str) -> None:
        """Starts a node, or the "coordinator".

        Args:
            name: of the process.
        """
        command = ["coordinate", str(self.file)]
        if name != "coordinator":
            report = str(self.folder / f"{name}.json")
            command = ["node", str(self.file), "--node", name, "--report", report]
        # Workers of Spark run in another folder.
        paths = os.pathsep.join(str(Path(one).resolve()) for one in sys.path if one)
        environ = {**os.environ, "PYTHONPATH": paths}
        with (self.folder / f"{name}.log").open("ab") as said:
            self.processes[name] = subprocess.Popen(  # noqa: S603 - our own command
                [sys.executable, "-c", _APP, *command],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=environ,
                start_new_session=True,
            )

    def kill(self, name: str) -> None:
        """Ends a process at once."""
        process = self.processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        """Asks all processes to end, and waits until they have."""
        for process in self.processes.values():
            process.send_signal(signal.SIGINT)
        for process in self.processes.values():
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()

    def check(self) -> None:
        """Raises what a process has died of."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                raise PenstockError(f"{name} has ended: {self.said(name)[-2000:]}")

    def said(self, name: str) -> str:
        """The log of a process."""
        path = self.folder / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def running(self, *names: str, seconds: float = 120.0) -> None:
        """Waits until nodes run.

        Args:
            names: of nodes.
            seconds: how long to wait at most.
        """
        until = time.monotonic() + seconds
        while not all(" running" in self.said(name) for name in names):
            self.check()
            if time.monotonic() > until:
                raise PenstockError(f"{', '.join(names)} do not run after {seconds:.0f} s")
            time.sleep(0.2)

    def report(self, name: str) -> Mapping[str, Any]:
        """The last report of a node; empty before the first."""
        path = self.folder / f"{name}.json"
        found: Mapping[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return found


def make_topics(broker: Broker, name: str) -> None:
    """The topics of the inputs.

    Args:
        broker: that runs.
        name: of the pipeline.
    """
    for input_ in _INPUTS:
        broker.topic(1, f"{name}.{input_}")
