"""In large batches rows are dropped before the watermark, and what is answered stays the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import penstock as ps
from penstock.engine import shedder
from tests.engine.streams import SECOND, START, Files
from tests.engine.test_shedding import PACKETS, balanced, delivered, start

BATCHES, ROWS = 6, 400


def ordered(spark: SparkSession, folder: Path) -> DataFrame:
    """Packets of 6 batches of 20 s; none is late, so no answer depends on the watermark."""
    files = Files(spark, folder, PACKETS)
    for batch in range(BATCHES):
        numbers = range(batch * ROWS, (batch + 1) * ROWS)
        files.add(
            [
                {"ts": START + i * SECOND // 20, "host": "ab"[i % 3 == 0], "size": i, "number": i}
                for i in numbers
            ]
        )
    return files.stream()


def queries(rows: DataFrame) -> dict[str, ps.WindowQuery]:
    packet = ps.stream(rows, event_time="ts", identity="number", name="packets")
    return {
        "sampled": packet.window("20 s", every="10 s").by("host").agg(n=ps.count()).approximate(),
        "some": packet.window("5 s").agg(n=ps.count(), b=ps.sum("size")).subset(4),
    }


Found = dict[str, dict[int, list[Row]]]


def shed(spark: SparkSession, folder: Path) -> tuple[ps.NetworkRun, Found]:
    asked, found = queries(ordered(spark, folder)), Found()
    run = start(asked, folder / "run", found, keep=0.3, drop=0.7)
    run.wait()
    balanced(run, asked)
    return run, found


def early(folder: Path) -> list[bool]:
    """Of each batch whether it was told that it is large."""
    records = sorted((folder / "run" / "penstock" / "plans").iterdir(), key=lambda p: int(p.name))
    return ['"large":true' in record.read_text().replace(" ", "") for record in records]


def test_rows_that_stay_are_the_same(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, behind = shed(spark, tmp_path / "behind")
    assert not any(early(tmp_path / "behind"))
    monkeypatch.setattr(shedder, "LARGE", 1)
    run, before = shed(spark, tmp_path / "before")
    assert any(early(tmp_path / "before"))
    assert run.accounts["some"]["shed_at_stream"] > BATCHES * ROWS // 10
    for name in ("sampled", "some"):
        known = {
            (r["window_end"], r["host"] if name == "sampled" else ""): r
            for r in delivered(behind[name])
        }
        mine = delivered(before[name])
        assert mine
        for row in mine:
            key = row["window_end"], row["host"] if name == "sampled" else ""
            assert row == known.get(key, row)
        assert any((r["window_end"], r["host"] if name == "sampled" else "") in known for r in mine)


def test_answers_of_windows_that_are_delivered_are_exact(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shedder, "LARGE", 1)
    _, found = shed(spark, tmp_path)
    for row in delivered(found["some"]):
        first = round((row["window_start"].timestamp() - START / SECOND) * 20)
        numbers = range(first, first + 100)
        assert (row["n"], row["b"]) == (100, sum(numbers))


def test_the_drop_stands_below_the_watermark(spark: SparkSession, tmp_path: Path) -> None:
    told: list[str] = []

    def look(batch: DataFrame, _: int) -> None:
        # While it runs: the last batch has no rows, and Spark leaves out what would look at them.
        told.extend(query._jsq.explainInternal(False) for query in spark.streams.active)
        batch.collect()

    run = ps.Network(**queries(ordered(spark, tmp_path))).start(
        str(tmp_path / "run"),
        sinks=dict.fromkeys(("sampled", "some"), look),
        trigger={"availableNow": True},
        keep=0.3,
    )
    run.wait()
    said = next(plan for plan in told if "Scan parquet" in plan)
    lines = [line for line in said.splitlines() if "Filter" in line or "EventTimeWatermark" in line]
    mark = next(i for i, line in enumerate(lines) if "EventTimeWatermark" in line)
    assert any("early" in line for line in lines[mark + 1 :])
    assert not any("early" in line for line in lines[:mark])


def test_one_row_in_sixty_four_tells_the_time(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all windows but a few are dropped, the watermark goes on, and windows close."""
    monkeypatch.setattr(shedder, "LARGE", 1)
    files, folder = Files(spark, tmp_path, PACKETS), tmp_path / "run"
    for batch in range(4):
        at = START + batch * 40 * SECOND
        files.add(
            [
                {"ts": at + i * 10_000, "host": "a", "size": 1, "number": batch * 4000 + i}
                for i in range(4000)
            ]
        )
    packet = ps.stream(files.stream(), event_time="ts", identity="number", name="packets")
    found: Found = {}
    asked = {"some": packet.window("1 s").agg(n=ps.count()).subset(1000)}
    run = start(asked, folder, found, drop=1.0)
    run.wait()
    reports = [json.loads(p.json) for p in run.streams[0].recentProgress]
    marks = [r["eventTime"]["watermark"] for r in reports if r["eventTime"].get("watermark")]
    assert len(set(marks)) >= 4
    assert run.accounts["some"]["shed_at_stream"] >= 8000
