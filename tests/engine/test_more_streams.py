"""Streams beside the naive replay, across restarts, before 1970, and after other operators."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import chain
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

import penstock as ps
from penstock.engine import probe
from penstock.engine.window_query import Windowed, WindowQuery
from penstock.windows import WindowSpec, replay
from penstock.windows.aggregates import COUNT_ALL, MAX, SUM
from penstock.windows.oracle import Aggregates, Result
from tests.engine.answers import assert_same, on_panes, shaped, table, theirs
from tests.engine.streams import SCHEMA, SECOND, START, Files, lost, run_penstock, run_spark
from tests.engine.test_streams import disordered

FOLDS: Aggregates = {"n": (COUNT_ALL, None), "s": (SUM, "v"), "m": (MAX, "v")}
FAR: dict[str, Any] = {"ts": START + 1000 * SECOND, "k": "far", "v": 0}
"""A row that closes every window before it."""


def answers(windowed: Windowed) -> WindowQuery:
    return windowed.by("k").agg(n=ps.count(), s=ps.sum("v"), m=ps.max("v"))


def as_row(result: Result) -> tuple:
    epoch = datetime(1970, 1, 1)  # noqa: DTZ001 - as Spark gives them, with UTC everywhere
    begin, end, *others = result.values()
    return epoch + timedelta(microseconds=begin), epoch + timedelta(microseconds=end), *others


def union(batches: dict[int, list[tuple]]) -> list[tuple]:
    return sorted(chain.from_iterable(batches.values()), key=repr)


def spark_windows(rows: DataFrame, length: str, slide: str) -> DataFrame:
    """Spark's answers to the same; the rows have a watermark."""
    return (
        rows.groupBy(F.window("ts", length, slide), "k")
        .agg(F.count("*").alias("n"), F.sum("v").alias("s"), F.max("v").alias("m"))
        .select("window.start", "window.end", "k", "n", "s", "m")
    )


@pytest.mark.parametrize(
    ("kind", "late", "way"),
    [
        ("sliding", "consistent", (1, 3)),
        ("sliding", "consistent", on_panes(1, 2, 4)),
        ("cumulative", "generous", on_panes(1, 2, 4)),
        ("cumulative", "generous", (1, 2, 4)),
        ("cumulative", "consistent", ()),
    ],
)
def test_every_batch_equals_the_replay_and_so_do_the_accounts(
    spark, tmp_path, monkeypatch, *, kind, late, way
):
    batches = disordered(seed=3, batches=4, rows=60, late=20)
    batches.append([FAR])
    files = Files(spark, tmp_path)
    for batch in batches:
        files.add(batch)
    stream = ps.stream(files.stream(), "ts", slack="2 seconds", late=late)
    windowed = (
        stream.window("11 s", every="2 s")
        if kind == "sliding"
        else stream.cumulative("14 s", every="2 s", origin="3 s")
    )
    assert isinstance(windowed.spec, WindowSpec)
    expected = replay(batches, windowed.spec, ["k"], FOLDS, slack="2 seconds", late=late)
    found: dict = {}
    run = run_penstock(shaped(answers(windowed), monkeypatch, way), tmp_path / "c", found)
    assert found == {
        number: sorted(map(as_row, batch.emitted), key=repr)
        for number, batch in enumerate(expected.batches)
        if batch.emitted
    }
    assert len(found) >= 3
    assert run.accounts == lost(expected.accounts)
    assert run.accounts["late_lost"] > 0


def test_a_restart_with_another_density_goes_on_as_if_nothing_had_been(spark, tmp_path):
    """A watermark of the user's own is honoured; open windows are carried over."""
    files = Files(spark, tmp_path)
    before: list[list[dict[str, Any]]] = [
        [
            {"ts": START + (5 * batch + n % 7 - 2) * SECOND, "k": "ab"[n % 2], "v": n}
            for n in range(21)
        ]
        for batch in range(2)
    ]
    # Not late for anybody: while a stream stands still, its watermark moves on.
    after = [[{**row, "ts": row["ts"] + 9 * SECOND} for row in batch] for batch in before] + [[FAR]]

    def query(density: ps.Density) -> WindowQuery:
        rows = files.stream().withWatermark("ts", "3 seconds")
        return replace(answers(ps.stream(rows, "ts").window("9 s", every="1 s")), density=density)

    found: dict = {}
    for batch in before:
        files.add(batch)
    first = run_penstock(query(ps.Density(1e6)), tmp_path / "c", found)
    newest = max(row["ts"] for batch in before for row in batch)
    watermark = datetime.fromisoformat(first.progress[-1]["eventTime"]["watermark"])
    assert watermark.timestamp() * SECOND == newest - 3 * SECOND
    for batch in after:
        files.add(batch)
    again = run_penstock(query(ps.Density(0.01, panes=1e5)), tmp_path / "c", found)
    for run in (first, again):
        assert {len(p["stateOperators"]) for p in run.progress} == {2}
        assert "computed  panes" in run.explained
    undisturbed: dict = {}
    rows = files.stream().withWatermark("ts", "3 seconds")
    run_spark(spark_windows(rows, "9 seconds", "1 second"), tmp_path / "d", undisturbed)
    assert union(found) == union(undisturbed)


def test_times_before_1970_are_late_in_a_stream_as_they_are_for_spark(spark, tmp_path, monkeypatch):
    """The watermark begins at the epoch."""
    files = Files(spark, tmp_path)
    first: list[dict[str, Any]] = [{"ts": t * SECOND, "k": "a", "v": t} for t in range(-12, 6)]
    first += [{"ts": t, "k": "a", "v": 0} for t in (-1, 0, 1)]
    for batch in (first, [{"ts": -3 * SECOND, "k": "b", "v": 1}], [FAR]):
        files.add(batch)
    windowed = ps.stream(files.stream(), "ts").window("6 s", every="2 s")
    ours: dict = {}
    run = run_penstock(shaped(answers(windowed), monkeypatch, (1, 2)), tmp_path / "c", ours)
    rows = files.stream().withWatermark("ts", "0 seconds")
    theirs_: dict = {}
    run_spark(spark_windows(rows, "6 seconds", "2 seconds"), tmp_path / "d", theirs_)
    assert ours == theirs_
    # [-6, 0) and all before it are over: rows of -4 s and later have a window that ends after 0.
    assert run.accounts["late_lost"] == sum(row["ts"] < -4 * SECOND for row in first)
    assert run.accounts["late_partial"] > 0


TYPED = pa.schema([*SCHEMA, ("d", pa.decimal128(10, 2)), ("x", pa.float64()), ("t", pa.string())])


def test_every_aggregate_of_a_stream_equals_the_batch(spark, tmp_path, monkeypatch):
    files = Files(spark, tmp_path, schema=TYPED)
    for batch in range(3):
        files.add(
            [
                {
                    "ts": START + (4 * batch + n % 4) * SECOND,
                    "k": "ab"[n % 2],
                    "v": n if n % 5 else None,
                    "d": Decimal(n * 37 - 400).scaleb(-2),
                    "x": float("nan") if n == 7 else n / 8,
                    "t": f"host {n % 9}",
                }
                for n in range(40)
            ]
        )
    files.add([{**FAR, "d": None, "x": None, "t": None}])
    asked = {
        "n": ps.count(),
        "c": ps.count("v"),
        "s": ps.sum("d"),
        "a": ps.avg("d"),
        "b": ps.avg("v"),
        "lo": ps.min("x"),
        "hi": ps.max("t"),
        "vs": ps.var_samp("v"),
        "vp": ps.var_pop("x"),
        "ss": ps.stddev_samp("d"),
        "sp": ps.stddev_pop("v"),
    }
    sketches = {"u": ps.approx_count_distinct("t"), "p": ps.approx_percentile("v", 1.0)}
    windowed = ps.stream(files.stream(), "ts").window("6 s", every="1 s").by("k")
    found: dict = {}
    query = shaped(windowed.agg(**asked, **sketches), monkeypatch, (1, 2))
    run_penstock(query, tmp_path / "c", found)
    rows = spark.read.parquet(str(files.folder / "source"))
    exact = asked | {"u": ps.count("DISTINCT t"), "p": ps.max("double(v)")}
    expected = table(theirs(rows.where("k != 'far'"), exact, ("6 s", "1 s")))
    epoch = datetime(1970, 1, 1)  # noqa: DTZ001 - as Spark gives them, with UTC everywhere
    microsecond = timedelta(microseconds=1)
    ours = {
        repr(((row[0] - epoch) // microsecond, (row[1] - epoch) // microsecond, row[2])): row[3:]
        for batch in found.values()
        for row in batch
    }
    assert_same(ours, expected, exact)


def test_late_rows_cannot_spoil_the_windows(spark, tmp_path, monkeypatch):
    """Nothing need be computed of rows that count nowhere: Spark's `window()` drops them first."""
    files = Files(spark, tmp_path)
    late = {"ts": START, "k": "a", "v": 2**63 - 1}
    for batch in ([FAR], [FAR], [late, late], [{**FAR, "ts": FAR["ts"] + 60 * SECOND}]):
        files.add(batch)
    windowed = ps.stream(files.stream(), "ts").window("4 s", every="1 s")
    found: dict = {}
    run = run_penstock(shaped(answers(windowed), monkeypatch, (1,)), tmp_path / "c", found)
    assert {row[3] for batch in found.values() for row in batch} == {2}
    assert run.accounts["late_lost"] == 2


# --- the look at the first batch ------------------------------------------------------------------


def test_a_look_tells_the_density_and_takes_nothing(spark, tmp_path):
    files = Files(spark, tmp_path)
    for batch in range(3):
        files.add(
            [
                {"ts": START + (20 * batch + n % 20) * SECOND, "k": str(n % 3), "v": n}
                for n in range(600)
            ]
        )
    files.add([FAR])
    query = answers(ps.stream(files.stream(), "ts").window("20 s", every="2 s"))
    density = probe.look(files.stream(), query.query)
    assert density is not None
    assert density.rows == pytest.approx(20, rel=0.1)  # 600 rows, 10 panes, 3 keys
    assert density.panes == pytest.approx(10, rel=0.1)
    found: dict = {}
    run = run_penstock(query, tmp_path / "c", found)  # looks once more
    assert "20 rows per pane and key:" in run.explained
    counted = sum(row[3] for batch in found.values() for row in batch if row[2] != "far")
    assert counted == 3 * 600 * 10


def test_a_look_does_not_wait_for_a_stream_without_rows(spark, tmp_path):
    files = Files(spark, tmp_path)
    files.add([])
    query = answers(ps.stream(files.stream(), "ts").window("20 s", every="2 s"))
    assert probe.look(files.stream(), query.query) is None


class Ends(StreamingQueryListener):
    """Why the streams of a session have ended."""

    def __init__(self) -> None:
        self.reasons: list[str | None] = []

    def onQueryStarted(self, event: QueryStartedEvent) -> None: ...  # noqa: N802 - Spark's name

    def onQueryProgress(self, event: QueryProgressEvent) -> None: ...  # noqa: N802 - as above

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - as above
        self.reasons.append(event.exception)


def test_a_look_ends_without_an_error_that_spark_would_log(spark, tmp_path):
    files = Files(spark, tmp_path)
    files.add([{"ts": START, "k": "a", "v": 1}] * 5)
    files.add([FAR])
    query = answers(ps.stream(files.stream(), "ts").window("20 s", every="2 s"))
    ends = Ends()
    spark.streams.addListener(ends)
    try:
        assert probe.look(files.stream(), query.query) is not None
        until = time.monotonic() + 60
        while not ends.reasons and time.monotonic() < until:  # they are told after the fact
            time.sleep(0.01)
    finally:
        spark.streams.removeListener(ends)
    assert ends.reasons == [None]


def test_a_look_leaves_the_files_of_a_source_that_cleans_up(spark, tmp_path):
    """Spark deletes files once the batch after them begins, and a look is a stream, too."""
    files = Files(spark, tmp_path)
    files.add([{"ts": None, "k": "a", "v": 1}] * 5)
    for batch in range(2):
        files.add([{"ts": START + batch * SECOND, "k": "a", "v": 1}] * 5)
    source = files.folder / "source"
    reader = spark.readStream.schema(files.stream().schema).option("maxFilesPerTrigger", 1)
    rows = reader.option("cleanSource", "delete").parquet(str(source))
    query = answers(ps.stream(rows, "ts").window("20 s", every="2 s"))
    there = sorted(source.glob("*.parquet"))
    probe.look(rows, query.query)
    assert sorted(source.glob("*.parquet")) == there
