"""What may be changed of a network that goes on from its checkpoint, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import penstock as ps
from penstock.engine.record import FORM
from penstock.errors import UsageError
from tests.engine.streams import SECOND, START, Files

SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", tz="UTC")), ("size", pa.int64()), ("number", pa.int64())]
)
ROWS = 200
"""Rows of a batch; one each tenth of a second."""


def some_rows(batch: int) -> list[dict]:
    numbers = range(batch * ROWS, (batch + 1) * ROWS)
    return [{"ts": START + i * SECOND // 10, "size": i * 7 % 50, "number": i} for i in numbers]


def queries(rows: DataFrame) -> dict[str, ps.WindowQuery]:
    packet = ps.stream(rows, event_time="ts", slack="1 s", identity="number", name="packets")
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
        self.found: dict[str, list[Row]] = {}

    def start(self, asked: dict[str, ps.WindowQuery], **terms) -> ps.NetworkRun:
        def keep(name: str) -> Callable[[DataFrame, int], None]:
            rows = self.found.setdefault(name, [])
            return lambda batch, _: rows.extend(batch.collect())

        run = ps.Network(**asked).start(
            str(self.checkpoint),
            sinks={name: keep(name) for name in asked},
            trigger={"availableNow": True},
            **terms,
        )
        run.wait()
        return run


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
    before = len(job.found["n"])
    changed = {
        "n": asked["n"].approximate(0.9, "hoeffding"),
        "some": asked["some"].subset(5),
        "large": asked["large"].subset(1),
    }
    run = job.start(changed, keep=0.25, drop={"some": 0.9}, mode="on")
    assert run.accounts["n"]["taken"] < 0.4 * 3 * ROWS
    job.files.add(some_rows(6))
    job.start(queries(job.files.stream()), mode="off")
    exact = [row for batch in range(7) for row in some_rows(batch)]
    counted = job.found["n"]
    assert len(counted) > before
    held = [
        row["n_low"] <= len([r for r in exact if _within(r, row)]) <= row["n_high"]
        for row in counted
    ]
    assert sum(held) >= 0.9 * len(held)  # the smaller of the two confidences
    # Windows that were open while all was changed are right, or are not there.
    for name, least in (("some", 0), ("large", 11)):
        assert job.found[name]
        for row in job.found[name]:
            sizes = [r["size"] for r in exact if _within(r, row) and r["size"] >= least]
            answer = sum(sizes) if name == "some" else max(sizes)
            assert row[2] == answer, (name, row)


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
