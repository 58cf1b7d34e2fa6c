"""Both engines over the same disordered streams, batch by batch, row by row."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta

import pytest
from pyspark.sql import functions as F

import penstock as ps
from penstock.engine.stream import WindowQuery
from penstock.windows import Evaluation, replay
from penstock.windows.aggregates import COUNT_ALL, MAX, SUM
from tests.engine.streams import SECOND, START, Files, instant, lost, run_penstock, run_spark

SHAPES = {"direct": (), "panes": (1,), "two rungs": (1, 4), "three rungs": (1, 2, 6)}
FOLDS = {"n": (COUNT_ALL, None), "s": (SUM, "v"), "m": (MAX, "v")}


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
                    if draw.random() < 0.03
                    else now + draw.randint(-late * SECOND, 7 * SECOND),
                    "k": draw.choice(["a", "b", None]),
                    "v": draw.choice([None, draw.randint(-9, 9)]),
                }
                for _ in range(draw.randint(0, rows))
            ]
        )
    return [batch or [{"ts": START, "k": "a", "v": 1}] for batch in stream]


def shaped(query: WindowQuery, monkeypatch, rungs: tuple[int, ...]) -> WindowQuery:
    """The query, computed in that way whatever would be chosen."""
    monkeypatch.setattr(WindowQuery, "evaluation", Evaluation(rungs, "as the test says"))
    return replace(query, density=ps.Density(1))


def asked(files: Files, late: str = "generous") -> ps.Stream:
    return ps.stream(files.stream(), "ts", slack="2 seconds", late=late)


def answers(windowed) -> WindowQuery:
    return windowed.by("k").agg(n=ps.count(), s=ps.sum("v"), m=ps.max("v"))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("range_", "slide"), [(12, 1), (10, 4)], ids=["12 by 1", "10 by 4"])
def test_generous_equals_spark_batch_by_batch(spark, tmp_path, monkeypatch, shape, range_, slide):
    if SHAPES[shape][-1:] > (range_ // slide - 1,):
        shape = "panes"
    files = Files(spark, tmp_path)
    for batch in disordered(seed=range_, batches=7, rows=40, late=25):
        files.add(batch)
    query = answers(asked(files).window(f"{range_} s", every=f"{slide} s"))
    ours: dict = {}
    run = run_penstock(shaped(query, monkeypatch, SHAPES[shape]), tmp_path / "ours", ours)
    window = F.window("ts", f"{range_} seconds", f"{slide} seconds")
    spark_windows = (
        files.stream()
        .withWatermark("ts", "2 seconds")
        .groupBy(window, "k")
        .agg(F.count("*").alias("n"), F.sum("v").alias("s"), F.max("v").alias("m"))
        .select("window.start", "window.end", "k", "n", "s", "m")
    )
    theirs: dict = {}
    run_spark(spark_windows, tmp_path / "theirs", theirs)
    assert ours == theirs
    assert sum(map(len, ours.values())) > 50
    assert run.accounts["late_partial"] > 0
    assert run.accounts["late_lost"] > 0
    assert run.accounts["no_time"] > 0
