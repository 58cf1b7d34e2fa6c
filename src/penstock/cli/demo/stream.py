"""The demo's query, and what is known of its run so far."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import penstock as ps
from penstock.cli.demo.packets import SECOND, SLACK
from penstock.engine.run import ACCOUNTS, accounts_of

RANGE, SLIDE = 10 * SECOND, SECOND
TITLE = "windows of 10 s every 1 s, by host"


class Answer(NamedTuple):
    """One window of one host; times are microseconds since the epoch."""

    start: int
    end: int
    host: str
    packets: int
    bytes: int
    mean: float
    largest: int


def ask(packets: DataFrame) -> ps.WindowQuery:
    """What the demo asks of the packets."""
    return (
        ps.stream(packets, event_time="ts", slack=SLACK)
        .window(RANGE, every=SLIDE)
        .by("host")
        .agg(packets=ps.count(), bytes=ps.sum("size"), mean=ps.avg("size"), largest=ps.max("size"))
    )


def answers(windows: DataFrame) -> list[Answer]:
    """The rows of windows; times as numbers, which no time zone can change."""
    times = (F.unix_micros("window_start"), F.unix_micros("window_end"))
    rows = windows.select(*times, "host", "packets", "bytes", "mean", "largest")
    return [Answer(*row) for row in rows.collect()]


@dataclass
class Seen:
    """What has come out of the run so far.

    Args:
        seconds: how long the run is to be.
        elapsed: how long it has been, in seconds since its first batch was done.
        rows: packets in.
        batch_ms: how long each batch took, in milliseconds.
        accounts: packets that do not count in full.
    """

    seconds: float
    elapsed: float = 0.0
    rows: int = 0
    batch_ms: list[int] = field(default_factory=list)
    accounts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ACCOUNTS, 0))
    _delivered: dict[int, list[Answer]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _sink: threading.Lock = field(default_factory=threading.Lock)
    _closed: bool = False
    _last: int = -1
    _began: float = 0.0
    _ended: list[datetime] = field(default_factory=list)
    _warm_rows: int = 0

    def keep(self, batch: DataFrame, number: int) -> None:
        """The sink of the stream; it is called in a thread of its own."""
        with self._sink:
            if self._closed:
                return
            came = answers(batch)
            with self._lock:
                self._delivered[number] = came  # once, even if Spark repeats the batch

    def close(self) -> None:
        """Takes no batch any more; one that is being taken is waited for.

        A stream that is stopped meanwhile would be stopped in the middle of a batch.
        """
        with self._sink:
            self._closed = True

    def note(self, progress: dict[str, Any]) -> None:
        """Takes in Spark's report of a batch, if it is a new one and was delivered here."""
        if progress["batchId"] <= self._last or progress["batchId"] not in self._delivered:
            return
        self._last = progress["batchId"]
        self.rows += progress["numInputRows"]
        self.batch_ms.append(progress["durationMs"]["triggerExecution"])
        for name, rows in accounts_of(progress).items():
            self.accounts[name] += rows
        started = datetime.fromisoformat(progress["timestamp"])
        self._ended.append(started + timedelta(milliseconds=self.batch_ms[-1]))
        if not self._began:
            self._began, self._warm_rows = time.monotonic(), self.rows

    def tick(self) -> None:
        """Lets the time pass."""
        if self._began:
            self.elapsed = time.monotonic() - self._began

    @property
    def per_second(self) -> float:
        """Packets per second, from the end of the first batch to the end of the last."""
        if self.batches <= 1:
            return 0.0
        return (self.rows - self._warm_rows) / (self._ended[-1] - self._ended[0]).total_seconds()

    @property
    def batches(self) -> int:
        """Batches that are done and reported."""
        return self._last + 1

    def delivered(self) -> list[Answer]:
        """The answers of those batches, in the order in which they came."""
        with self._lock:
            kept = sorted(self._delivered.items())
        return [answer for number, came in kept if number <= self._last for answer in came]


def report(run: ps.Run) -> dict[str, Any] | None:
    """Spark's report of the last batch."""
    last = run.query.lastProgress
    return None if last is None else json.loads(last.json)
