"""In large batches rows are dropped before the watermark, and what is answered stays the same."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import penstock as ps
from penstock.engine import orders, shedder
from penstock.engine.books import placed
from penstock.engine.tally import BOOKED, ONE_IN
from tests.engine.streams import SECOND, START, Files
from tests.engine.test_shedding import PACKETS, balanced, delivered, start

BATCHES, ROWS = 6, 400
SCAN = "Scan parquet"


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
    sampled = packet.window("20 s", every="10 s").by("host").agg(packets=ps.count())
    return {
        "sampled": sampled.approximate(),
        "some": packet.window("5 s").agg(n=ps.count(), b=ps.sum("size")).subset(4),
    }


Found = dict[str, dict[int, list[Row]]]


@dataclass
class Shed:
    """A run that drops, with what was found of it; tests only look at it."""

    folder: Path
    run: ps.NetworkRun
    found: Found = field(default_factory=dict)
    plans: list[str] = field(default_factory=list)

    @property
    def early(self) -> list[bool]:
        """Of each batch whether it was told that it is large."""
        plans = self.folder / "run" / "penstock" / "plans"
        records = sorted(plans.iterdir(), key=lambda p: int(p.name))
        return ['"large":true' in record.read_text().replace(" ", "") for record in records]


def shed(spark: SparkSession, folder: Path) -> Shed:
    asked, found, plans = queries(ordered(spark, folder)), Found(), list[str]()

    def look(_: DataFrame) -> None:
        # While it runs: the last batch has no rows, and Spark leaves out what would look at them.
        if not any(SCAN in plan for plan in plans):
            plans.extend(query._jsq.explainInternal(False) for query in spark.streams.active)

    run = start(asked, folder / "run", found, look=look, keep=0.3, drop=0.7)
    run.wait()
    balanced(run, asked)
    return Shed(folder, run, found, plans)


@pytest.fixture(scope="module")
def behind(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shed:
    """Batches that are not large."""
    return shed(spark, tmp_path_factory.mktemp("behind"))


@pytest.fixture(scope="module")
def before(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shed:
    """The same, and each counts as large."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shedder, "LARGE", 1)
        return shed(spark, tmp_path_factory.mktemp("before"))


def test_rows_that_stay_are_the_same(behind: Shed, before: Shed) -> None:
    assert not any(behind.early)
    assert any(before.early)
    assert before.run.accounts["some"]["shed_at_stream"] > BATCHES * ROWS // 10
    for name in ("sampled", "some"):
        known = {
            (r["window_end"], r["host"] if name == "sampled" else ""): r
            for r in delivered(behind.found[name])
        }
        mine = delivered(before.found[name])
        assert mine
        for row in mine:
            key = row["window_end"], row["host"] if name == "sampled" else ""
            assert row == known.get(key, row)
        assert any((r["window_end"], r["host"] if name == "sampled" else "") in known for r in mine)


def test_answers_of_windows_that_are_delivered_are_exact(before: Shed) -> None:
    for row in delivered(before.found["some"]):
        first = round((row["window_start"].timestamp() - START / SECOND) * 20)
        numbers = range(first, first + 100)
        assert (row["n"], row["b"]) == (100, sum(numbers))


def test_the_drop_stands_below_the_watermark(behind: Shed) -> None:
    said = next(plan for plan in behind.plans if SCAN in plan)
    lines = [line for line in said.splitlines() if "Filter" in line or "EventTimeWatermark" in line]
    mark = next(i for i, line in enumerate(lines) if "EventTimeWatermark" in line)
    assert any("early" in line for line in lines[mark + 1 :])
    assert not any("early" in line for line in lines[:mark])


def sampled(spark: SparkSession, folder: Path) -> ps.NetworkRun:
    """Two queries that keep the same share of their rows."""
    packet = ps.stream(ordered(spark, folder), event_time="ts", identity="number", name="packets")
    asked = {
        "every": packet.window("10 s").by("host").agg(n=ps.count()).approximate(),
        "big": packet.where("size >= 300").window("10 s").agg(b=ps.sum("size")).approximate(),
    }
    run = start(asked, folder / "run", Found(), keep=0.3)
    run.wait()
    balanced(run, asked)
    return run


def booked(run: ps.NetworkRun) -> set[int]:
    """The batches of which rows are in the books."""
    part, progress = run.parts[0].part, run.parts[0].run.progress
    assert part is not None
    metrics = (report.get("observedMetrics", {}).get(part.metric, {}) for report in progress)
    entries = (entry for one in metrics for entry in one.get(BOOKED) or ())
    return {placed(entry["group"], len(part.places))[0] for entry in entries}


def test_rows_that_stay_for_all_are_counted_at_the_watermark_and_not_booked(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_books = sampled(spark, tmp_path / "books")
    monkeypatch.setattr(shedder, "LARGE", 1)
    by_count = sampled(spark, tmp_path / "count")
    assert booked(by_books) >= set(range(BATCHES))
    # That batches are large is told with the progress of the first, after the second has begun.
    assert not booked(by_count) - {0, 1}
    # The same rows stay, whoever counts them.
    assert by_count.accounts["every"]["shed_at_stream"] > BATCHES * ROWS // 2
    for name, accounts in by_books.accounts.items():
        assert by_count.accounts[name] == accounts


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
    # But for one in 256, which may go other ways.
    assert run.accounts["some"]["shed_at_stream"] >= 8000 * (1 - 4 / orders.WARM_ONE_IN)
    balanced(run, asked)


def test_a_few_rows_go_to_queries_that_are_dropped_and_no_answer_has_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or Java would have no code for the first rows of a query that is kept again."""
    monkeypatch.setattr(shedder, "LARGE", 1)
    monkeypatch.setattr(orders, "WARM_ONE_IN", ONE_IN)
    files, found = Files(spark, tmp_path, PACKETS), Found()
    for batch in range(4):
        numbers = range(batch * 4000, (batch + 1) * 4000)
        files.add(
            [
                {"ts": START + i * SECOND // 100, "host": "ab"[i % 2], "size": 1, "number": i}
                for i in numbers
            ]
        )
    packet = ps.stream(files.stream(), event_time="ts", identity="number", name="packets")
    asked = {
        "some": packet.window("1 s").agg(n=ps.count()).subset(1000),
        "hosts": packet.where("host = 'a'").window("2 s").by("host").agg(n=ps.count()).subset(1000),
    }
    run = start(asked, tmp_path / "run", found, drop=1.0)
    run.wait()
    balanced(run, asked)
    accounts = run.parts[0].shed_accounts()
    assert accounts is not None
    for name in asked:
        taken = [accounts.of(name)[batch]["taken"] for batch in (2, 3)]
        assert min(taken) > 4000 / ONE_IN / 3, taken
        assert max(taken) < 4000 / ONE_IN * 3, taken
        rows = delivered(found[name])
        assert len(rows) < 90  # of the first batches, in which nothing was dropped yet
        assert {row["n"] for row in rows} <= {100}
