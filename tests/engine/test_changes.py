"""What may be changed of a network that goes on from its checkpoint, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import penstock as ps
from penstock.engine.record import FORM
from penstock.errors import UsageError
from tests.engine.streams import SECOND, START, Files
from tests.engine.test_shedding import balanced, delivered, start

SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", tz="UTC")), ("size", pa.int64()), ("number", pa.int64())]
)
ROWS = 200
"""Rows of a batch; one each tenth of a second."""


def some_rows(batch: int) -> list[dict]:
    numbers = range(batch * ROWS, (batch + 1) * ROWS)
    return [{"ts": START + i * SECOND // 10, "size": i * 7 % 50, "number": i} for i in numbers]


def stream(rows: DataFrame, **changed: Any) -> ps.Stream:
    terms: dict[str, Any] = {"slack": "1 s", "identity": "number", "name": "packets"}
    return ps.stream(rows, event_time="ts", **terms | changed)


def queries(rows: DataFrame, **changed: Any) -> dict[str, ps.WindowQuery]:
    packet = stream(rows, **changed)
    large = packet.where("size > 10")
    return {
        "n": packet.window("5 s").agg(n=ps.count()).approximate(),
        "some": packet.window("4 s").agg(size=ps.sum("size")).subset(2),
        "large": large.window("4 s").agg(most=ps.max("size")).subset(2),
    }


class Job:
    """A network over files that are there, from one checkpoint."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.files = Files(spark, folder, SCHEMA)
        self.checkpoint = folder / "checkpoint"
        self._found: dict[str, dict[int, list[Row]]] = {}

    def start(self, asked: dict[str, ps.WindowQuery], **terms) -> ps.NetworkRun:
        run = start(asked, self.checkpoint, self._found, **terms)
        run.wait()
        balanced(run, asked, sheds=None)
        return run

    def found(self, name: str) -> list[Row]:
        """The answers of a query so far."""
        return delivered(self._found[name])


@pytest.fixture(scope="module")
def job(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Job:
    """One that has begun, with half of the rows dropped."""
    made = Job(spark, tmp_path_factory.mktemp("changes"))
    for batch in range(3):
        made.files.add(some_rows(batch))
    made.start(queries(made.files.stream()), keep=0.5, drop=0.5)
    return made


def test_how_much_is_shed_and_what_is_said_of_it_may_change(job: Job) -> None:
    for batch in range(3, 6):
        job.files.add(some_rows(batch))
    asked = queries(job.files.stream())
    before = len(job.found("n"))
    changed = {
        "n": asked["n"].approximate(0.9, "hoeffding"),
        "some": asked["some"].subset(5),
        "large": asked["large"].subset(1),
    }
    run = job.start(changed, keep=0.25, drop={"some": 0.9}, mode="on")
    assert run.accounts["n"]["taken"] < 0.4 * 3 * ROWS
    job.files.add(some_rows(6))
    job.start(queries(job.files.stream()), mode="off")
    assert len(job.found("n")) > before
    right(job, 7)


def right(job: Job, batches: int) -> None:
    """Windows that were open while something was changed are right, or are not there."""
    exact = [row for batch in range(batches) for row in some_rows(batch)]
    held = [
        row["n_low"] <= len([r for r in exact if _within(r, row)]) <= row["n_high"]
        for row in job.found("n")
    ]
    assert sum(held) >= 0.9 * len(held)  # the smallest confidence that was asked for
    for name, least in (("some", 0), ("large", 11)):
        assert job.found(name)
        for row in job.found(name):
            sizes = [r["size"] for r in exact if _within(r, row) and r["size"] >= least]
            answer = sum(sizes) if name == "some" else max(sizes)
            assert row[2] == answer, (name, row)


STREAMS: dict[str, dict[str, Any]] = {
    "slack": {"slack": "3 s"},
    "less slack": {"slack": "0 s"},
    "late": {"late": "consistent"},
    "identity": {"identity": ("number", "size")},
    "never shed": {"never_shed": "size > 40"},
}
"""What may be said of the stream in other words, one after the other."""


def test_what_is_said_of_a_stream_may_change_and_so_may_the_sink(
    spark: SparkSession, tmp_path: Path
) -> None:
    job, batches = Job(spark, tmp_path), 0
    for changed in ({}, *STREAMS.values()):
        for batch in range(batches, batches + 2):
            job.files.add(some_rows(batch))
        batches += 2
        before = {name: len(job.found(name)) for name in ("n", "some") if batches > 2}
        job.start(queries(job.files.stream(), **changed), keep=0.5, drop=0.5)
        assert all(len(job.found(name)) > count for name, count in before.items()), changed
    right(job, batches)
    # Another sink gets what comes from then on.
    job.files.add(some_rows(batches))
    job.files.add(some_rows(batches + 1))
    got: dict[str, list[Row]] = {name: [] for name in ("n", "some", "large")}
    run = ps.Network(**queries(job.files.stream(), **STREAMS["never shed"])).start(
        str(job.checkpoint),
        sinks={name: _into(rows) for name, rows in got.items()},
        trigger={"availableNow": True},
    )
    run.wait()
    assert all(got.values())
    last = max(row["window_end"] for row in job.found("n"))
    assert min(row["window_end"] for row in got["n"]) > last


def _into(rows: list[Row]) -> Callable[[DataFrame, int], None]:
    return lambda batch, _: rows.extend(batch.collect())


def by_size(rows: DataFrame, *, floor: int | None = None, **changed: Any) -> ps.Network:
    windows = stream(rows, **changed).window("5 s").by("size")
    return ps.Network(n=windows.agg(n=ps.count()).approximate(floor=floor))


def test_a_weight_or_a_floor_more_or_less_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    files, refused = Files(spark, tmp_path, SCHEMA), r"must belong to the same network"
    files.add(some_rows(0))
    rows = files.stream()

    def begin(network: ps.Network, where: str) -> None:
        network.start(
            str(tmp_path / where), sink=_into([]), trigger={"availableNow": True}, keep=0.5
        ).wait()

    begin(by_size(rows), "plain")
    begin(by_size(rows, floor=3), "floor")
    begin(by_size(rows, floor=9), "floor")  # another number is fine
    for network, where in (
        (by_size(rows, floor=3), "plain"),
        (by_size(rows), "floor"),
        (by_size(rows, weight="number"), "plain"),
    ):
        with pytest.raises(UsageError, match=refused):
            begin(network, where)


def _within(row: dict, window: Row) -> bool:
    start, end = (window[name].timestamp() * SECOND for name in ("window_start", "window_end"))
    return bool(start <= row["ts"] < end)


def _renamed(asked: dict[str, ps.WindowQuery]) -> dict[str, ps.WindowQuery]:
    return {"count" if name == "n" else name: query for name, query in asked.items()}


def _added(asked: dict[str, ps.WindowQuery]) -> dict[str, ps.WindowQuery]:
    return asked | {"more": asked["n"].stream.window("5 s").agg(top=ps.max("size"))}


def _filtered_elsewhere(asked: dict[str, ps.WindowQuery]) -> dict[str, ps.WindowQuery]:
    large = asked["large"].stream
    return asked | {"some": large.window("4 s").agg(size=ps.sum("size")).subset(2)}


CHANGES: dict[str, Callable[[dict[str, ps.WindowQuery]], dict[str, ps.WindowQuery]]] = {
    "a query more": _added,
    "a query less": lambda asked: {name: asked[name] for name in ("n", "some")},
    "another name": _renamed,
    "another window": lambda asked: (
        asked | {"some": asked["some"].stream.window("2 s").agg(size=ps.sum("size")).subset(2)}
    ),
    "other rows": _filtered_elsewhere,
    "subset, was approximate": lambda asked: asked | {"n": asked["n"].subset(2)},
    "approximate, was subset": lambda asked: asked | {"some": asked["some"].approximate()},
    "exact, was subset": lambda asked: asked | {"some": replace(asked["some"], answers=None)},
    "exact, was approximate": lambda asked: asked | {"n": replace(asked["n"], answers=None)},
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_the_state_does_not_fit_is_refused(job: Job, change: str) -> None:
    asked = CHANGES[change](queries(job.files.stream()))
    with pytest.raises(UsageError, match=r"must belong to the same network.*checkpoint of its own"):
        job.start(asked, keep=0.5)


def test_a_checkpoint_that_does_not_say_its_form_is_of_the_first(job: Job) -> None:
    path = job.checkpoint / "penstock" / "form.json"
    kept = path.read_text()
    path.unlink()
    try:
        with pytest.raises(UsageError, match=r"is of form 1, made by penstock 0\.1"):
            job.start(queries(job.files.stream()))
        assert not path.exists()
    finally:
        path.write_text(kept)


def test_state_of_the_same_form_may_be_of_another_version(
    spark: SparkSession, tmp_path: Path
) -> None:
    job = Job(spark, tmp_path)
    job.files.add(some_rows(0))
    job.start(queries(job.files.stream()), keep=0.5, drop=0.5)
    path = job.checkpoint / "penstock" / "form.json"
    path.write_text(json.dumps({"form": FORM, "penstock": "99.1"}))
    for batch in (1, 2):
        job.files.add(some_rows(batch))
    job.start(queries(job.files.stream()), keep=0.5, drop=0.5)
    right(job, 3)


def test_state_of_another_form_is_refused_with_the_version_that_made_it(job: Job) -> None:
    path = job.checkpoint / "penstock" / "form.json"
    kept = path.read_text()
    assert json.loads(kept)["form"] == FORM
    path.write_text(json.dumps({"form": FORM + 1, "penstock": "7.0"}))
    try:
        said = rf"is of form {FORM + 1}, made by penstock 7\.0.*; go on with that version"
        with pytest.raises(UsageError, match=said):
            job.start(queries(job.files.stream()))
    finally:
        path.write_text(kept)
