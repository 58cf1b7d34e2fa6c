"""Answers of Penstock beside those of Spark's own `window()`: doubles to 1e-9, all else exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.engine.step import quoted
from penstock.engine.window_query import WindowQuery
from penstock.network.aggregates import Aggregate
from penstock.windows import Evaluation, parse_duration

SECOND = 1_000_000
DIRECT, PANES = (), (1,)

Asked = Mapping[str, Aggregate]
"""Result column → aggregate; its text is SQL that Spark understands."""


def on_panes(*rungs: int) -> Evaluation:
    """A tall ladder."""
    return Evaluation(rungs, "as the test says", tall=True)


def shaped(query: WindowQuery, monkeypatch, way: tuple[int, ...] | Evaluation) -> WindowQuery:
    """The query, computed in that way whatever would be chosen."""
    way = way if isinstance(way, Evaluation) else Evaluation(way, "as the test says")
    monkeypatch.setattr(WindowQuery, "evaluation", way)
    return replace(query, density=ps.Density(1))


def ours(
    rows: DataFrame,
    asked: Asked,
    window: tuple[str, str],
    *,
    keys: Iterable[str] = ("k",),
    time: str = "ts",
    origin: Any = 0,
) -> WindowQuery:
    windowed = ps.stream(rows, time).window(window[0], every=window[1], origin=origin)
    return windowed.by(*keys).agg(**asked)


def theirs(
    rows: DataFrame,
    asked: Asked,
    window: tuple[str, str],
    *,
    keys: Iterable[str] = ("k",),
    time: str = "ts",
    origin: str | None = None,
) -> DataFrame:
    """The same by Spark, with the same columns."""
    length, slide = (spelled(text) for text in window)
    of = F.window(F.col(quoted(time)), length, slide, origin)
    by = [F.col(quoted(key)) for key in keys]
    answers = rows.groupBy(of.alias("w"), *by).agg(
        *(F.expr(str(aggregate)).alias(name) for name, aggregate in asked.items())
    )
    return answers.select(
        F.col("w.start").alias("window_start"),
        F.col("w.end").alias("window_end"),
        *by,
        *(F.col(quoted(name)) for name in asked),
    )


def spelled(duration: str) -> str:
    """A duration as Spark reads it."""
    return f"{parse_duration(duration)} microseconds"


def table(windows: DataFrame, keys: int = 1) -> dict[str, tuple[Any, ...]]:
    """Window and keys → answers. Windows are in µs: Python knows no year before 1 or after 9999."""
    micros = [F.unix_micros(name).alias(name) for name in ("window_start", "window_end")]
    others = [
        # Python has no type for them.
        F.col(quoted(name)).cast("string" if of.startswith("interval year") else of).alias(name)
        for name, of in types(windows)[2:]
    ]
    found = [tuple(row) for row in windows.select(*micros, *others).collect()]
    by_window = {repr(row[: 2 + keys]): row[2 + keys :] for row in found}
    assert len(by_window) == len(found)
    return by_window


def assert_same(left: dict[str, tuple], right: dict[str, tuple], names: Iterable[str]) -> None:
    assert left.keys() == right.keys()
    wrong = [
        (where, name, mine, other)
        for where in left
        for name, mine, other in zip(names, left[where], right[where], strict=True)
        if not same(mine, other)
    ]
    assert not wrong, f"{len(wrong)} answers differ, such as {wrong[:5]}"


def same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)
    return type(left) is type(right) and left == right


def types(windows: DataFrame) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in windows.schema.fields]


def at(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def frame(spark: SparkSession, rows: list[dict]) -> DataFrame:
    made = spark.createDataFrame(
        [(row["ts"], row.get("k", row.get("key")), row.get("v", row.get("value"))) for row in rows],
        "t bigint, k string, v bigint",
    )
    return made.select(F.timestamp_micros("t").alias("ts"), "k", "v")
