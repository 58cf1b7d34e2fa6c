"""Seven queries as one network against seven streams of Spark, over the same files, in one run.

Spark's seven run at once in one session, as a user would start them. Both run first to warm up:
Spark once, and penstock three times, which takes about as long; Java goes on compiling what is
generated for seven queries for more than ten batches. Then both run twice, in both orders, timed by
the clock from the second batch on, since the first is start-up, to the last that brings rows. What
both deliver is compared.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from penstock.bench.data import source
from penstock.bench.packets import BELOW, SCHEMA, WORKLOAD, ours, sparks, write
from penstock.control.observation import Observation
from penstock.control.settings import Warmup
from penstock.control.statistics import Statistics

MILLION = 1_000_000
WANTED = {"speedup": 6, "marginal": 1.5, "prediction_error": 0.25}
NAMES = list(WORKLOAD)
WARM = 3
"""Runs of penstock before it is measured."""


@dataclass
class Measured:
    """What one engine did.

    Args:
        seconds: for each run, the seconds of its measured batches, by the clock.
        answers: what was delivered: query and window → rows and a hash over them.
    """

    seconds: list[float] = field(default_factory=list)
    answers: dict[tuple[str, object], tuple[int, int]] = field(default_factory=dict)

    @property
    def median(self) -> float:
        """Seconds of a run."""
        return statistics.median(self.seconds)


def run(spark: SparkSession, *, quick: bool, say: Callable[[str], None]) -> dict[str, object]:
    """Runs all of it.

    Args:
        spark: a session with two cores.
        quick: fewer rows.
        say: where progress goes.
    """
    # Large batches, so that what a batch costs by itself does not hide what a row costs.
    rows, per_batch, batches = (MILLION, 4, 4) if not quick else (MILLION // 5, 1, 3)
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as name:
        folder = Path(name)
        (folder / "data").mkdir()
        say("writing packets")
        files = write(spark, folder / "data", per_batch * batches, rows)
        case = _Case(spark, folder, files, per_batch, say)
        mine, theirs, one = Measured(), Measured(), Measured()
        say("warming up")
        case.spark_all(Measured())
        for _ in range(WARM):
            case.penstock(NAMES, Measured())
        for number, order in enumerate(("penstock", "Spark"), start=1):
            for engine in (order, *({"penstock", "Spark"} - {order})):
                say(f"run {number}: seven queries, {engine}")
                if engine == "penstock":
                    case.penstock(NAMES, mine)
                else:
                    case.spark_all(theirs)
        for query in NAMES:
            say(f"one query: {query}")
            case.penstock([query], Measured())
            case.penstock([query], one)
        error = _prediction_error(case, say)
    measured = rows * per_batch * (batches - 1)
    compared = [k for k in theirs.answers if k in mine.answers]
    differ = sum(theirs.answers[k] != mine.answers[k] for k in compared)
    return {
        "speedup": round(theirs.median / mine.median, 2),
        "marginal": round(mine.median / one.median, 2),
        "prediction_error": round(error, 3),
        "wanted": WANTED,
        "rows": measured,
        "penstock_us_per_row": round(mine.median / measured * 1e6, 3),
        "spark_us_per_row": round(theirs.median / measured * 1e6, 3),
        "spark_seconds_per_batch": round(theirs.median / (batches - 1), 2),
        "one_query_us_per_row": round(one.median / measured * 1e6, 3),
        "a_a": {
            "penstock": round(mine.seconds[0] / mine.seconds[-1], 2),
            "spark": round(theirs.seconds[0] / theirs.seconds[-1], 2),
        },
        "compared": len(compared),
        "differ": differ,
    }


@dataclass
class _Case:
    spark: SparkSession
    folder: Path
    files: list[Path]
    per_batch: int
    say: Callable[[str], None]
    runs: int = 0
    kinds: dict[str, str] = field(default_factory=dict)

    def observed(self, files: int, keep: float) -> list[Observation]:
        """Batches of so many files, of which a share of the packets is looked at.

        The share is part of the code that Spark generates, and Java has to get warm with it anew:
        so the first run does not count.
        """
        for _ in range(2):
            found = self._observed_once(files, keep)
        return found

    def _observed_once(self, files: int, keep: float) -> list[Observation]:
        self.runs += 1
        where = self.folder / f"source-{self.runs}-all"
        rows = source(self.spark, where, self.files, files, SCHEMA)
        network = ours(rows, NAMES, keep)
        run = network.start(
            str(self.folder / f"checkpoint-{self.runs}"),
            sink=_look,
            trigger={"availableNow": True},
        )
        run.wait()
        run.statistics()
        measure = run.parts[0].measure
        assert measure is not None  # noqa: S101 - the network is one part
        self.kinds = measure.kinds
        return list(measure.observations)[1:]  # the first is start-up

    def penstock(self, names: list[str], into: Measured) -> None:
        """The queries as one network."""
        self.runs += 1
        rows = self._rows("all")
        network = ours(rows, names)

        def sink(batch: DataFrame, _: int) -> None:
            into.answers |= _hashes(batch)

        started = network.start(
            str(self.folder / f"checkpoint-{self.runs}"), sink=sink, trigger={"availableNow": True}
        )
        started.wait()
        into.seconds.append(_seconds(started.streams))

    def spark_all(self, into: Measured) -> None:
        """The queries as seven streams, all at once."""
        self.runs += 1
        started = []
        for name in NAMES:
            windows = sparks(self._rows(name), name)

            def sink(batch: DataFrame, _: int) -> None:
                into.answers |= _hashes(batch)

            writer = windows.writeStream.outputMode("append").foreachBatch(sink)
            where = str(self.folder / f"checkpoint-{self.runs}-{name}")
            writer = writer.option("checkpointLocation", where).trigger(availableNow=True)
            started.append(writer.start())
        for query in started:
            query.awaitTermination()
        into.seconds.append(_seconds(started))

    def _rows(self, of: str) -> DataFrame:
        where = self.folder / f"source-{self.runs}-{of}"
        return source(self.spark, where, self.files, self.per_batch, SCHEMA)


SEEN = ((2, 1.0), (4, 0.5), (4, 1.0), (2, 0.25), (2, 0.5))
UNSEEN = ((4, 0.75), (3, 0.75), (4, 0.125))
"""Files in a batch, and the share of the packets that is kept: to learn from, and to predict."""


def _prediction_error(case: _Case, say: Callable[[str], None]) -> float:
    """How far predicted durations are off, as a share of the real ones (the median)."""
    learnt: Statistics | None = None
    whole: dict[str, float] = {}
    for files, keep in SEEN:
        say(f"learning: {files} files a batch, {keep:g} of the packets kept")
        for seen in case.observed(files, keep):
            if learnt is None:
                none = Warmup(seconds=0, batches=0)
                learnt = Statistics(case.kinds, ["packets"], NAMES, warmup=none)
            if keep == 1:
                whole = {n: f.rows_in / seen.rows["packets"] for n, f in seen.operators.items()}
            learnt.observe(replace(seen, batch=learnt.now.batches, at=float(learnt.now.batches)))
    assert learnt is not None  # noqa: S101 - there were batches
    errors = []
    for files, keep in UNSEEN:
        say(f"predicting: {files} files a batch, {keep:g} of the packets kept")
        for seen in case.observed(files, keep):
            rows = seen.rows["packets"]
            # The stream and the drop see all packets; what is above the drop sees those it keeps.
            expected = {n: rows * share * (1 if n in BELOW else keep) for n, share in whole.items()}
            errors.append(abs(learnt.predict(expected) - seen.seconds) / seen.seconds)
    return statistics.median(errors)


def _seconds(streams: list[StreamingQuery]) -> float:
    """By the clock, from the start of the first second batch to the end of the last with rows."""
    begins, ends = [], []
    for query in streams:
        batches = [_times(p) for p in query.recentProgress if p.numInputRows]
        begins.append(next(begin for begin, _, number in batches if number == 1))
        ends.append(max(end for _, end, _ in batches))
    return max(ends) - min(begins)


def _times(progress: Any) -> tuple[float, float, int]:  # noqa: ANN401 - Spark's own type
    begin = datetime.fromisoformat(progress.timestamp).timestamp()
    return begin, begin + progress.durationMs["triggerExecution"] / 1000, progress.batchId


def _look(batch: DataFrame, _: int) -> None:
    _hashes(batch)


def _hashes(batch: DataFrame) -> dict[tuple[str, object], tuple[int, int]]:
    others = sorted(set(batch.columns) - {"query", "window_start", "window_end"})
    windows = batch.groupBy("query", "window_end").agg(
        F.count(F.lit(1)).alias("rows"),
        # A hash passes over nulls, so columns that only other queries have change nothing.
        F.bit_xor(F.xxhash64(*others)).alias("hash"),
    )
    return {(r["query"], r["window_end"]): (r["rows"], r["hash"]) for r in windows.collect()}
