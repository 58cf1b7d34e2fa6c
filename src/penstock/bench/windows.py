"""Windows of penstock against Spark's own, as streams over the same files, in one run.

Each engine runs twice (the second time is its A/A run), warmed up, and is measured only after event
time has passed one RANGE, so that windows close. What both deliver is compared.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.bench.data import Shape, source, write

DENSE, SPARSE = Shape(keys=100, rows=100), Shape(keys=8_333, rows=2)
DAY = 8_640
MILLION = 1_000_000
WANTED: dict[str, Any] = {
    "dense": {"1": 0.95, "6": 2, "60": 8, "600": 80},
    "sparse": {"1": 0.95, "6": 1, "60": 3},
    "free": 1.5,
    "day": 3,
}


@dataclass(frozen=True, slots=True)
class Case:
    """One overlap on one kind of data.

    Args:
        name: "dense" or "sparse".
        shape: its keys and rows per pane and key.
        overlap: RANGE / SLIDE.
        files: rows of each file.
        per_batch: files that penstock takes in a batch.
        spark_files: how many of the files Spark's side runs; none if it is not compared.
        spark_per_batch: files that Spark's side takes in a batch.
        filler: panes of thin data before the files.
    """

    name: str
    shape: Shape
    overlap: int
    files: tuple[int, ...]
    per_batch: int
    spark_files: int
    spark_per_batch: int
    filler: int = 0


@dataclass
class Measured:
    """What one engine did in one case, both runs together.

    Args:
        times: microseconds per row of each measured batch, for each of the two runs.
        rows: rows of the measured batches of one run.
        windows: window end → number of result rows and a hash over them.
        state: state rows per key at the end.
        explained: how penstock computed the windows.
    """

    times: list[list[float]] = field(default_factory=list)
    rows: int = 0
    windows: dict[object, tuple[int, int]] = field(default_factory=dict)
    state: float = 0.0
    explained: str = ""

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
    """All cases; quick ones have fewer rows, and leave out what takes minutes."""
    # Large batches, so that what a batch costs by itself does not hide what a row costs.
    size, per_batch = (MILLION, 12) if not quick else (MILLION // 2, 4)
    dense, sparse = (size,) * (per_batch * 4), (size,) * (16 if not quick else 8)
    yield Case("dense", DENSE, 1, dense, per_batch, len(dense), per_batch)
    yield Case("dense", DENSE, 6, dense, per_batch, len(dense), per_batch)
    yield Case("dense", DENSE, 60, dense, per_batch, 12 if not quick else 4, 4 if not quick else 2)
    if not quick:
        # Spark's side folds each row 600 times: it gets the filler and the small files only.
        few = (20_000,) * 3 + (MILLION,) * (per_batch * 5 - 4)
        yield Case("dense", DENSE, 600, few, per_batch, 4, 1, filler=600)
        # A day has passed after eight of the twelve batches.
        yield Case("dense", DENSE, DAY, (MILLION,) * (per_batch * 12), per_batch, 0, 0)
    batch = 4 if not quick else 2
    yield Case("sparse", SPARSE, 1, sparse, batch, len(sparse), batch)
    yield Case("sparse", SPARSE, 6, sparse, batch, len(sparse), batch)
    yield Case("sparse", SPARSE, 60, sparse, batch, 8 if not quick else 4, batch)


def run(spark: SparkSession, *, quick: bool, say: Callable[[str], None]) -> dict[str, object]:
    """Runs all cases.

    Args:
        spark: a session with two cores.
        quick: fewer rows, without the overlaps 600 and 8,640.
        say: where progress goes.
    """
    result: dict[str, Any] = {"dense": {}, "sparse": {}, "wanted": WANTED, "cases": []}
    mine: dict[tuple[str, int], float] = {}
    todo = list(cases(quick=quick))
    warm = Case("dense", DENSE, 6, (MILLION // 2,) * 12, 2, 12, 2)
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        say("warming up")
        _measure(spark, Path(folder), warm, lambda _: None)
        for number, case in enumerate(todo, start=1):
            say(f"{number}/{len(todo)} {case.name}, overlap {case.overlap}")
            ours, theirs = _measure(spark, Path(folder), case, say)
            mine[case.name, case.overlap] = ours.per_row
            result["cases"].append(_report(case, ours, theirs))
            if theirs is not None:
                result[case.name][str(case.overlap)] = round(theirs.per_row / ours.per_row, 2)
            say(_line(result["cases"][-1]))
    one = mine["dense", 1]
    result["free"] = round(mine["dense", 60] / one, 2)
    result["day"] = round(mine["dense", DAY] / one, 2) if ("dense", DAY) in mine else None
    return result


def _measure(
    spark: SparkSession, folder: Path, case: Case, say: Callable[[str], None]
) -> tuple[Measured, Measured | None]:
    data = folder / "data"
    data.mkdir()
    files = write(spark, data, case.shape, list(case.files), case.filler)
    ours, theirs = Measured(), Measured()
    engines = [("penstock", _penstock, ours, files, case.per_batch)]
    if case.spark_files:
        some = files[: case.spark_files]
        engines.append(("Spark", _spark, theirs, some, case.spark_per_batch))
    # Warmed up, one after the other, and the other way round: neither is always the first.
    for run, order in (("warming up", engines), ("run 1", engines), ("run 2", engines[::-1])):
        for name, start, into, some, per_batch in order:
            say(f"   {run}: {name}")
            warm = run == "warming up"
            taken = some[: 2 * per_batch] if warm else some
            rows = source(spark, folder / "source", taken, per_batch)
            _run(rows, folder, case, into=Measured() if warm else into, start=start)
    shutil.rmtree(data)
    return ours, theirs if case.spark_files else None


Start = Callable[[DataFrame, Case, str, Callable[[DataFrame, int], None]], tuple[Any, str]]


def _run(rows: DataFrame, folder: Path, case: Case, *, into: Measured, start: Start) -> None:
    def compare(batch: DataFrame, _: int) -> None:
        windows = batch.groupBy("window_end").agg(
            F.count(F.lit(1)).alias("rows"),
            F.bit_xor(F.xxhash64("window_start", "k", "n", "s", "m")).alias("hash"),
        )
        into.windows.update({r["window_end"]: (r["rows"], r["hash"]) for r in windows.collect()})

    query, into.explained = start(rows, case, str(folder / "checkpoint"), compare)
    query.awaitTermination()
    batches = [b for b in map(_batch, query.recentProgress) if b["rows"]]
    measured = _measured(batches, case)
    into.times.append([b["ms"] * 1000 / b["rows"] for b in measured])
    into.rows = round(sum(b["rows"] for b in measured))
    into.state = batches[-1]["state"] / case.shape.keys
    shutil.rmtree(folder / "source")
    shutil.rmtree(folder / "checkpoint")


def _penstock(
    rows: DataFrame, case: Case, checkpoint: str, sink: Callable[[DataFrame, int], None]
) -> tuple[Any, str]:
    query = (
        ps.stream(rows, event_time="ts")
        .window(f"{case.overlap} seconds", every="1 second")
        .by("k")
        .agg(n=ps.count(), s=ps.sum("v"), m=ps.max("v"))
    )
    started = query.start(checkpoint, foreach_batch=sink, trigger={"availableNow": True})
    return started.query, started.explained


def _spark(
    rows: DataFrame, case: Case, checkpoint: str, sink: Callable[[DataFrame, int], None]
) -> tuple[Any, str]:
    window = F.window("ts", f"{case.overlap} seconds", "1 second")
    answers = (
        rows.withWatermark("ts", "0 seconds")
        .groupBy(window.alias("w"), "k")
        .agg(F.count("*").alias("n"), F.sum("v").alias("s"), F.max("v").alias("m"))
        .selectExpr("w.start AS window_start", "w.end AS window_end", "k", "n", "s", "m")
    )
    writer = answers.writeStream.outputMode("append").foreachBatch(sink)
    writer = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    return writer.start(), "window()"


def _batch(progress: Any) -> dict[str, float]:  # noqa: ANN401 - Spark's progress
    operators = progress["stateOperators"]
    return {
        "rows": progress["numInputRows"],
        "ms": progress["durationMs"]["triggerExecution"],
        "state": sum(operator["numRowsTotal"] for operator in operators),
    }


def _measured(batches: list[dict[str, float]], case: Case) -> list[dict[str, float]]:
    """The batches after warm-up: a third of them, and those before RANGE has passed."""
    needed = 0 if case.filler else case.overlap * case.shape.per_pane
    first = max(1, len(batches) // 3)
    while first < len(batches) - 1 and sum(b["rows"] for b in batches[:first]) < needed:
        first += 1
    return batches[first:]


def _report(case: Case, ours: Measured, theirs: Measured | None) -> dict[str, object]:
    report: dict[str, object] = {
        "data": case.name,
        "overlap": case.overlap,
        "keys": case.shape.keys,
        "rows_per_pane_and_key": case.shape.rows,
        "penstock": _side(ours),
        "computed": ours.explained.split("computed")[-1].splitlines()[0].strip(),
    }
    if theirs is not None:
        both = ours.windows.keys() & theirs.windows.keys()
        report["spark"] = _side(theirs)
        report["ratio"] = round(theirs.per_row / ours.per_row, 2)
        report["windows_compared"] = len(both)
        report["rows_compared"] = sum(ours.windows[w][0] for w in both)
        report["different"] = len([w for w in both if ours.windows[w] != theirs.windows[w]])
    return report


def _side(measured: Measured) -> dict[str, object]:
    return {
        "us_per_row": round(measured.per_row, 3),
        "rows": measured.rows,
        "rows_per_batch": measured.rows // max(1, len(measured.times[0])),
        "a_a": round(measured.a_a, 2),
        "state_rows_per_key": round(measured.state, 1),
    }


def _line(report: dict[str, Any]) -> str:
    ours = report["penstock"]
    text = f"   penstock {ours['us_per_row']} µs per row (A/A {ours['a_a']})"
    if "spark" in report:
        theirs = report["spark"]
        text += f", Spark {theirs['us_per_row']} (A/A {theirs['a_a']}): {report['ratio']} times"
        text += f"; {report['rows_compared']} rows compared, {report['different']} differ"
    return text
