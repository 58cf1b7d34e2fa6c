"""Both engines over the same disordered streams, batch by batch, row by row."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from tests.engine.answers import on_panes, shaped
from tests.engine.streams import SECOND, START, Files, run_penstock, run_spark

SHAPES = [
    pytest.param(12, 1, (), id="12 by 1, direct"),
    pytest.param(12, 1, (1,), id="12 by 1, panes"),
    pytest.param(12, 1, (1, 2, 6), id="12 by 1, three rungs"),
    pytest.param(10, 4, (1,), id="10 by 4, panes"),
    pytest.param(23, 2, (1, 4), id="23 by 2, two rungs"),
    pytest.param(12, 1, on_panes(1, 2, 4, 8), id="12 by 1, tall"),
    pytest.param(23, 2, on_panes(1, 2, 4), id="23 by 2, tall"),
    pytest.param(5, 5, (), id="5 by 5, direct"),
]


def disordered(seed: int, batches: int, rows: int, late: int) -> list[list[dict]]:
    """Rows that come up to `late` seconds out of order, some without a time, value or key."""
    draw = random.Random(seed)
    stream = []
    for batch in range(batches):
        now = START + batch * 7 * SECOND
        stream.append(
            [
                {
                    "ts": None
                    if draw.random() < 0.05
                    else now + draw.randint(-late * SECOND, 7 * SECOND),
                    "k": draw.choice(["a", "b", None]),
                    "v": draw.choice([None, draw.randint(-9, 9)]),
                }
                for _ in range(draw.randint(rows // 2, rows))
            ]
        )
    return stream


@dataclass
class Beside:
    """The stream of each length, and what Spark's own windows gave for it in each batch."""

    spark: SparkSession
    folder: Path
    files: dict[int, Files] = field(default_factory=dict)
    answers: dict[tuple[int, int], dict] = field(default_factory=dict)

    def stream(self, length: int) -> DataFrame:
        if length not in self.files:
            self.files[length] = Files(self.spark, self.folder / str(length))
            for batch in disordered(seed=length, batches=6, rows=60, late=35):
                self.files[length].add(batch)
        return self.files[length].stream()

    def theirs(self, length: int, slide: int) -> dict:
        """Once for all shapes of ours."""
        if (length, slide) not in self.answers:
            windows = (
                self.stream(length)
                .withWatermark("ts", "2 seconds")
                .groupBy(F.window("ts", f"{length} seconds", f"{slide} seconds"), "k")
                .agg(F.count("*").alias("n"), F.sum("v").alias("s"), F.max("v").alias("m"))
                .select("window.start", "window.end", "k", "n", "s", "m")
            )
            found = self.answers.setdefault((length, slide), {})
            run_spark(windows, self.folder / f"{length} by {slide}", found)
        return self.answers[length, slide]


@pytest.fixture(scope="module")
def beside(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Beside:
    return Beside(spark, tmp_path_factory.mktemp("beside"))


@pytest.mark.parametrize(("length", "slide", "way"), SHAPES)
def test_generous_equals_spark_batch_by_batch(beside, tmp_path, monkeypatch, *, length, slide, way):
    query = (
        ps.stream(beside.stream(length), "ts", slack="2 seconds")
        .window(f"{length} s", every=f"{slide} s")
        .by("k")
        .agg(n=ps.count(), s=ps.sum("v"), m=ps.max("v"))
    )
    ours: dict = {}
    run = run_penstock(shaped(query, monkeypatch, way), tmp_path / "ours", ours)
    assert ours == beside.theirs(length, slide)
    assert len(ours) > 3
    assert sum(map(len, ours.values())) > 20
    assert run.accounts["late_lost"] > 0
    assert run.accounts["no_time"] > 0
    assert (run.accounts["late_partial"] > 0) == (length > slide)
