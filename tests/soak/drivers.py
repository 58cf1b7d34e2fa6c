"""Starts drivers, tells them what to do, and kills them."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from tests.engine.streams import SECOND, START, instant

SCRIPT = Path(__file__).with_name("driver.py")
LIMIT = 900
"""Seconds that a driver may take, on however slow a machine."""

SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", tz="UTC")), ("host", pa.string()), ("size", pa.int64())]
)
SPAN, ROWS = 4, 120
"""Seconds of event time in a file, and how many rows it has."""


JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -Xshare:auto"
VFORK = "-Djdk.lang.Process.launchMechanism=VFORK"
"""Java starts a process directly, not by a helper: each file of a checkpoint has one or two."""


def settings(scratch: Path) -> dict[str, str]:
    """What makes Spark start fast, and keeps it to this machine."""
    return {
        "spark.driver.memory": "600m",
        "spark.driver.extraJavaOptions": f"{JAVA} {VFORK}",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.local.dir": str(scratch / "local"),
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.pollingDelay": "10ms",
        "spark.python.unix.domain.socket.enabled": "true",
        # A machine that is slow is not dead.
        "spark.network.timeout": "1200s",
    }


def environment() -> dict[str, str]:
    """That of the tests, without another Spark's settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    kept.pop("PYSPARK_SUBMIT_ARGS", None)
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    # A driver runs in a folder of its own.
    here = {"PYTHONPATH": os.pathsep.join(str(Path(one).resolve()) for one in sys.path if one)}
    return kept | python | here | {"SPARK_LOCAL_IP": "127.0.0.1", "TZ": "UTC"}


def make_files(folder: Path, first: int, last: int) -> None:
    """Files of packets, a batch each, some of which come late; `last` is left out."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(first, last):
        of = random.Random(number)
        rows = []
        for i in range(ROWS):
            at = START + number * SPAN * SECOND + i * SPAN * SECOND // ROWS
            if of.random() < 0.05:
                at -= of.randrange(12) * SECOND
            host, size = of.choice(["a", "a", "a", "b"]), of.choice([40, 40, 576, 1500])
            rows.append({"ts": instant(at), "host": host, "size": size})
        add(folder, number, rows)


def flush(folder: Path, number: int) -> None:
    """A file with one row far ahead: what is left open is closed by it."""
    add(folder, number, [{"ts": instant(START + 3600 * SECOND), "host": "z", "size": 40}])


def add(folder: Path, number: int, rows: list[dict[str, Any]]) -> None:
    """One more file; Spark takes the oldest first, and tells their ages in milliseconds."""
    path = folder / f"{number:04d}.parquet"
    part = path.with_suffix(".part")
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), part)
    os.utime(part, (1_600_000_000 + number, 1_600_000_000 + number))
    part.rename(path)


@dataclass
class Driver:
    """A driver in processes of its own: Python's and Java's, which end together.

    Args:
        scratch: a folder for it.
        master: as for Spark.
        more: settings of Spark.
    """

    scratch: Path
    master: str = "local[2]"
    more: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scratch.mkdir(parents=True, exist_ok=True)
        terms = {"master": self.master, "conf": settings(self.scratch) | self.more}
        self.said = (self.scratch / "stderr.txt").open("w")
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPT), json.dumps(terms)],
            cwd=self.scratch,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.said,
            text=True,
            bufsize=1,
            start_new_session=True,
        )

    def expect(self, word: str) -> None:
        """Waits until it says a word."""
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], LIMIT)
        said = self.process.stdout.readline().strip() if ready else "nothing"
        assert said == word, f"{said!r}: {self.complaints}"

    @property
    def complaints(self) -> str:
        """The end of what it has written to its standard error."""
        return (self.scratch / "stderr.txt").read_text()[-3000:]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def begin(self, source: Path, checkpoint: Path, out: Path, **more: object) -> None:
        """Lets it begin, once it is ready.

        Args:
            source: the folder of files that it reads.
            checkpoint: of its stream.
            out: where it writes down what it gives.
            more: of what it is told (`driver.Driver`).
        """
        self.expect("ready")
        order = {"source": str(source), "checkpoint": str(checkpoint), "out": str(out)}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order | more) + "\n")

    def finish(self) -> None:
        """Waits until it has read all there is."""
        self.expect("done")
        assert self.wait() == 0

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def kill(self) -> None:
        """Ends it and its Java, now."""
        if self.runs:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.wait()

    def wait(self) -> int:
        """Waits until it ends."""
        code = self.process.wait(LIMIT)
        for pipe in (self.process.stdin, self.process.stdout, self.said):
            assert pipe is not None
            pipe.close()
        return code

    def wait_for(self, path: Path) -> None:
        """Waits until a file is there, or the driver has ended."""
        until = time.monotonic() + LIMIT
        while self.runs and not path.exists() and time.monotonic() < until:
            time.sleep(0.001)
