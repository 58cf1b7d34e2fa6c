"""The processes of a pipeline on this machine, and the rows that they get."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from penstock.bench.kafka.broker import Broker
from penstock.bench.kafka.jars import jars
from penstock.errors import PenstockError

_APP = "from penstock.cli.main import app; app()"


@contextlib.contextmanager
def own_broker(folder: Path) -> Iterator[Broker]:
    """A broker that runs; it ends with the block.

    Args:
        folder: for its log.
    """
    found = jars("broker")
    if isinstance(found, str):
        raise PenstockError(found)
    folder.mkdir(parents=True)
    broker = Broker(found, folder)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()


@dataclass
class Feed:
    """Rows for several topics, at a steady rate, whose event time is the time they are sent at.

    Args:
        servers: of a broker; while it does not run, rows wait.
        topics: each gets the same rows.
        rate: of each, in rows per second; may be changed.
        sent: rows so far, to each.
    """

    servers: str
    topics: Sequence[str]
    rate: float
    sent: int = 0
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begins."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        settings: dict[str, Any] = {"bootstrap.servers": self.servers, "log_level": 0}
        more = {"linger.ms": 20, "acks": "all", "enable.idempotence": True}
        producer = Producer({**settings, **more})
        last, left = time.time(), 0.0
        while not self._over.wait(0.05):
            now = time.time()
            due, rate = left + (now - last) * self.rate, self.rate
            for number in range(int(due)):
                at = datetime.fromtimestamp(last + (number + 1 - left) / rate, UTC)
                row = {"ts": at.isoformat(timespec="microseconds"), "n": self.sent}
                for topic in self.topics:
                    producer.produce(topic, json.dumps(row).encode(), partition=0)
                self.sent += 1
            last, left = now, due % 1
            producer.poll(0)
        producer.flush(60)

    def stop(self) -> None:
        """Ends, when all that was sent is there."""
        self._over.set()
        if self._thread is not None:
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

    def start(self, *names: str) -> None:
        """Starts nodes, or the "coordinator".

        Args:
            names: of the processes.
        """
        # Workers of Spark run in another folder.
        paths = os.pathsep.join(str(Path(one).resolve()) for one in sys.path if one)
        for name in names:
            command = ["coordinate", str(self.file)]
            if name != "coordinator":
                report = str(self.folder / f"{name}.json")
                command = ["node", str(self.file), "--node", name, "--report", report]
            with (self.folder / f"{name}.log").open("ab") as said:
                self.processes[name] = subprocess.Popen(  # noqa: S603 - our own command
                    [sys.executable, "-c", _APP, *command],
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    env={**os.environ, "PYTHONPATH": paths},
                    start_new_session=True,
                )

    def kill(self, name: str) -> None:
        """Ends a process at once, and the Java that it has started."""
        process = self.processes.pop(name)
        with contextlib.suppress(ProcessLookupError):
            for one in (*_children(process.pid), process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        """Asks all processes to end, and waits until they have."""
        for process in self.processes.values():
            process.send_signal(signal.SIGINT)
        for name, process in list(self.processes.items()):
            try:
                process.wait(60)
                del self.processes[name]
            except subprocess.TimeoutExpired:
                self.kill(name)

    def check(self) -> None:
        """Raises what a process has died of."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                raise PenstockError(f"{name} has ended: {self.said(name)[-2000:]}")

    def wait(self, seconds: float) -> None:
        """Waits, as long as all processes live.

        Args:
            seconds: how long.
        """
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.check()
            time.sleep(0.2)

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
            self.wait(0.2)
            if time.monotonic() > until:
                raise PenstockError(f"{', '.join(names)} do not run after {seconds:.0f} s")

    def report(self, name: str) -> Mapping[str, Any]:
        """The last report of a node; empty before the first."""
        path = self.folder / f"{name}.json"
        found: Mapping[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return found


def _children(process: int) -> list[int]:
    """All processes below one, the deepest first; Java has a session of its own."""
    found = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [*_children(int(child)), int(child)]
    return found
