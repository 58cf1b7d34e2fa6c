"""Both engines over the same disordered streams, batch by batch, row by row."""

from __future__ import annotations

import random

import pytest
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


@pytest.mark.parametrize(("length", "slide", "way"), SHAPES)
def test_generous_equals_spark_batch_by_batch(spark, tmp_path, monkeypatch, *, length, slide, way):
    files = Files(spark, tmp_path)
    for batch in disordered(seed=length, batches=6, rows=60, late=35):
        files.add(batch)
    query = (
        ps.stream(files.stream(), "ts", slack="2 seconds")
        .window(f"{length} s", every=f"{slide} s")
        .by("k")
        .agg(n=ps.count(), s=ps.sum("v"), m=ps.max("v"))
    )
    ours: dict = {}
    run = run_penstock(shaped(query, monkeypatch, way), tmp_path / "ours", ours)
    windows = (
        files.stream()
        .withWatermark("ts", "2 seconds")
        .groupBy(F.window("ts", f"{length} seconds", f"{slide} seconds"), "k")
        .agg(F.count("*").alias("n"), F.sum("v").alias("s"), F.max("v").alias("m"))
        .select("window.start", "window.end", "k", "n", "s", "m")
    )
    theirs: dict = {}
    run_spark(windows, tmp_path / "theirs", theirs)
    assert ours == theirs
    assert len(ours) > 3
    assert sum(map(len, ours.values())) > 20
    assert run.accounts["late_lost"] > 0
    assert run.accounts["no_time"] > 0
    assert (run.accounts["late_partial"] > 0) == (length > slide)
