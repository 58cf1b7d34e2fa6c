"""The stateful kinds against a twin that buffers rows and evaluates each extent anew.

Both run as streams over the same files, with the same Spark plan, packing and progress; only what
computes the windows is another: `penstock.processors`, or `penstock.bench.buffering`. Each runs
twice (the second time is its A/A run), warmed up. What they deliver is compared batch by batch.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.bench.buffering import BufferedWindows
from penstock.bench.data import Shape, source, write
from penstock.engine import stateful
from penstock.engine.layout import Processor, processor
from penstock.engine.progress import watermarked
from penstock.network.query import Query
from penstock.windows import WindowSpec
from penstock.windows.kinds import TUPLE_KINDS

ROWS_A_SECOND = 1_000
MANY, FEW = (Shape(keys=n, rows=ROWS_A_SECOND // n) for n in (100, 4))
MILLION = 1_000_000
WARM_UP = 2
"""Batches of each run that are not measured; windows are full after them."""
FILES_A_BATCH = 4
WANTED: dict[str, dict[str, int]] = {
    "tuple": {"ratio": 5, "penstock": 250_000},
    "slide by tuple": {"ratio": 3},
}

Sweep = Literal["by_overlap", "by_range", "grouped", "by_key"]


@dataclass(frozen=True, slots=True)
class Case:
    """One window over rows that come one a millisecond.

    Args:
        window: of a stateful kind.
        overlap: in how many windows a row is; None if there is no end to them.
        keys: GROUP BY.
        data: how many keys there are.
        sweep: in which series it is; None for the case that its kind is known by.
        batch: rows in a batch.
        batches: how many, those of the warm-up included.
    """

    window: WindowSpec
    overlap: int | None
    keys: tuple[str, ...] = ()
    data: Shape = MANY
    sweep: Sweep | None = None
    batch: int = MILLION
    batches: int = WARM_UP + 3

    @property
    def kind(self) -> str:
        """The kind of the window."""
        return self.window.kind.value


@dataclass
class Measured:
    """What one engine did in one case, both runs together.

    Args:
        times: microseconds per row of each measured batch, for each of the two runs.
        answers: of each batch, the number of results and a hash over them.
    """

    times: list[list[float]] = field(default_factory=list)
    answers: dict[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def per_row(self) -> float:
        """The median, in microseconds per row."""
        return statistics.median(t for run in self.times for t in run)

    @property
    def a_a(self) -> float:
        """The first run's median over the second's: what noise alone does to a ratio."""
        first, second = (statistics.median(run) for run in self.times)
        return first / second


def cases(*, quick: bool) -> Iterator[Case]:
    """The case that each kind is known by, and then the sweeps, unless it has to be quick."""
    second, often = f"{ROWS_A_SECOND} milliseconds", 10
    kinds = (
        Case(ps.rows(40, 1), 40, batch=2 * MILLION, batches=WARM_UP + 2),
        Case(ps.rows(40, 1, by=["k"]), 40),
        Case(
            ps.slide_by_tuple(second, on="ts"),
            ROWS_A_SECOND,
            batch=2 * MILLION,
            batches=WARM_UP + 2,
        ),
        Case(ps.slide_by_rows(second, on="ts", every=often), ROWS_A_SECOND // often),
        Case(ps.slide_by_rank(second, on="ts", every=often), ROWS_A_SECOND // often),
        # The twin keeps every row that ever came: it gets fewer.
        Case(ps.landmark("10 seconds", on="ts"), None, ("k",), batch=MILLION // 5),
    )
    if quick:
        yield from (replace(case, batch=MILLION // 10, batches=WARM_UP + 1) for case in kinds)
        return
    yield from kinds
    yield Case(ps.rows(40, 1), 40, ("k",), FEW, "by_key", batches=WARM_UP + 2)
    few = MILLION // 4  # the twin would take minutes for more
    for slide in (1000, 100, 10, 1):  # as in Fig. 8
        yield Case(ps.rows(4000, slide), 4000 // slide, batch=few, sweep="by_overlap")
    for range_ in (4, 40, 400):
        yield Case(ps.rows(range_, 1), range_, batch=few, sweep="by_range")
    for range_ in (10, 40, 160):
        window = ps.rows(range_, 1)
        yield Case(window, range_, ("k",), FEW, "grouped", batch=few, batches=WARM_UP + 1)
    for rows in (100, 1_000, 10_000):  # a row comes every millisecond
        window = ps.slide_by_tuple(f"{rows} milliseconds", on="ts")
        yield Case(window, rows, batch=few, sweep="by_overlap")


def run(spark: SparkSession, *, quick: bool, say: Callable[[str], None]) -> dict[str, object]:
    """Runs all cases.

    Args:
        spark: a session with two cores.
        quick: fewer rows, and no sweeps.
        say: where progress goes.
    """
    result: dict[str, Any] = {}
    todo = list(cases(quick=quick))
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        say("warming up")
        warm = replace(todo[0], batch=MILLION // 10, batches=WARM_UP + 4)
        measure(spark, Path(folder), warm, lambda _: None)
        for number, case in enumerate(todo, start=1):
            say(f"{number}/{len(todo)} {case.kind}: {case.window}")
            report = measure(spark, Path(folder), case, say)
            say(_line(report))
            if case.sweep is None:
                result[case.kind] = report
            else:
                result[case.kind].setdefault(case.sweep, []).append(report)
    return {**result, "wanted": WANTED}


def measure(
    spark: SparkSession, folder: Path, case: Case, say: Callable[[str], None]
) -> dict[str, Any]:
    """Runs one case.

    Args:
        spark: a session.
        folder: for files and checkpoints, which are removed again.
        case: which one.
        say: where progress goes.
    """
    data = folder / "data"
    data.mkdir()
    sizes = [case.batch // FILES_A_BATCH] * (FILES_A_BATCH * case.batches)
    files = write(spark, data, case.data, sizes)
    ours, theirs = Measured(), Measured()
    both = (("penstock", ours, processor), ("buffering", theirs, BufferedWindows))
    # One after the other and then the other way round, so that neither is always the first.
    for number in range(2):
        for name, into, make in both if not number else reversed(both):
            say(f"   run {number + 1}: {name}")
            rows = source(spark, folder / "source", files, FILES_A_BATCH)
            _run(rows, folder, case, into, make)
    shutil.rmtree(data)
    return _report(case, ours, theirs)


def _run(rows: DataFrame, folder: Path, case: Case, into: Measured, make: Processor) -> None:
    def compare(batch: DataFrame, number: int) -> None:
        hashed = F.bit_xor(F.xxhash64(*batch.columns))
        answers = batch.agg(F.count(F.lit(1)), hashed).first()
        assert answers is not None  # noqa: S101 - an aggregate has a row
        into.answers[number] = answers[0], answers[1] or 0

    timed = case.window.kind not in TUPLE_KINDS
    rows = watermarked(rows, "ts", 0, None) if timed else rows
    aggregates = {"n": ps.count(), "s": ps.sum("v"), "m": ps.max("v")}
    query = Query(case.window, case.keys, aggregates, order=("ts",))
    answers = stateful.windows(rows, query, "accounts", make)
    writer = answers.writeStream.outputMode("append").foreachBatch(compare)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    stream = writer.trigger(availableNow=True).start()
    stream.awaitTermination()
    batches = [p for p in stream.recentProgress if p["numInputRows"]]
    into.times.append(
        [b["durationMs"]["triggerExecution"] * 1000 / case.batch for b in batches[WARM_UP:]]
    )
    shutil.rmtree(folder / "source")
    shutil.rmtree(folder / "checkpoint")


def _report(case: Case, ours: Measured, theirs: Measured) -> dict[str, Any]:
    batches = ours.answers.keys() | theirs.answers.keys()
    same = [b for b in batches if ours.answers.get(b) == theirs.answers.get(b)]
    return {
        "penstock": round(MILLION / ours.per_row),
        "buffering": round(MILLION / theirs.per_row),
        "ratio": round(theirs.per_row / ours.per_row, 2),
        "window": str(case.window),
        "group_by": list(case.keys),
        "keys": case.data.keys if case.keys or case.window.pattr else 1,
        "overlap": case.overlap,
        "us_per_row": {"penstock": round(ours.per_row, 3), "buffering": round(theirs.per_row, 3)},
        "a_a": {"penstock": round(ours.a_a, 2), "buffering": round(theirs.a_a, 2)},
        "rows_per_batch": case.batch,
        "batches_measured": 2 * (case.batches - WARM_UP),
        "results_compared": sum(ours.answers[b][0] for b in same),
        "batches_different": len(batches) - len(same),
    }


def _line(report: dict[str, Any]) -> str:
    a_a = report["a_a"]
    return (
        f"   penstock {report['penstock']:,} rows/s (A/A {a_a['penstock']}), "
        f"buffering {report['buffering']:,} (A/A {a_a['buffering']}): {report['ratio']} times; "
        f"{report['results_compared']:,} results compared, "
        f"{report['batches_different']} batches differ"
    )
