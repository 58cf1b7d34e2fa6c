"""What a row number is: the same whoever reads the rows, in a batch and in a stream."""

from __future__ import annotations

import random
from typing import Any

import pytest

import penstock as ps
from penstock.engine.packing import thaw
from penstock.engine.stateful import PAYLOAD
from penstock.errors import SchemaError
from tests.engine.streams import SECOND, START, Files, run_penstock

ASKED = {"n": ps.count(), "s": ps.sum("v")}


def _tied(number: int = 300) -> list[dict[str, Any]]:
    """Rows of which many have the same time."""
    draw = random.Random(5)
    times = sorted(draw.randrange(0, 40) for _ in range(number))
    return [
        {"ts": START + t * SECOND, "k": draw.choice("abc"), "v": draw.randint(0, 9)} for t in times
    ]


def _answers(query: ps.WindowQuery) -> list[tuple]:
    return sorted((tuple(row) for row in query.dataframe().collect()), key=repr)


@pytest.mark.parametrize("window", [ps.rows(50, 20), ps.rows(10, 5, by="k")], ids=str)
def test_numbers_do_not_depend_on_tasks(spark, tmp_path, window):
    files = Files(spark, tmp_path)
    files.add(_tied())
    rows = spark.read.parquet(str(tmp_path / "source"))
    found = [
        _answers(ps.stream(spread, "ts").window(window).by("k").agg(**ASKED))
        for spread in (rows, rows.repartition(5, "v"), rows.repartition(3).orderBy("v"))
    ]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("window", [ps.rows(50, 20), ps.rows(10, 5, by="k")], ids=str)
def test_a_stream_in_order_numbers_rows_as_a_batch_does(spark, tmp_path, window):
    """Each batch has the rows of ten seconds; a window that a stream delivers is in the batch."""
    rows = _tied()
    files = Files(spark, tmp_path)
    for second in range(0, 40, 10):
        begin, end = START + second * SECOND, START + (second + 10) * SECOND
        files.add([row for row in rows if begin <= row["ts"] < end])
    found: dict[int, list[tuple]] = {}
    query = ps.stream(files.stream(), "ts").window(window).by("k").agg(**ASKED)
    run_penstock(query, tmp_path / "checkpoint", found)
    delivered = {row for results in found.values() for row in results}
    batch = spark.read.parquet(str(tmp_path / "source"))
    everything = set(_answers(ps.stream(batch, "ts").window(window).by("k").agg(**ASKED)))
    assert delivered <= everything
    # What only the batch has are windows that the rows do not fill.
    last = max(row[0] for row in delivered)
    assert len(delivered) > 30
    assert all(row[0] > last - 40 for row in everything - delivered)


def test_the_order_has_to_be_known(spark):
    rows = spark.sql("SELECT id, 'a' AS k FROM range(9)")
    with pytest.raises(SchemaError, match="order must be given where a window counts rows"):
        ps.stream(rows).window(ps.rows(3)).agg(n=ps.count())
    counted = ps.stream(rows, order="id").window(ps.rows(4, 2)).agg(n=ps.count(), s=ps.sum("id"))
    assert _answers(counted)[:3] == [(0, 2, 1), (1, 4, 6), (2, 4, 14)]


def test_the_state_of_windows_that_rows_end_has_no_rows(spark, tmp_path):
    """Two thousand rows at five times are five partials for each key, and their text is nowhere."""
    files = Files(spark, tmp_path)
    files.add(
        [{"ts": START + i % 5 * SECOND, "k": "ab"[i % 2], "v": 987_654_321} for i in range(2000)]
    )
    query = ps.stream(files.stream(), "ts").window(ps.slide_by_tuple("1 hour", on="ts")).by("k")
    run_penstock(query.agg(n=ps.count(), s=ps.sum("v")), tmp_path / "checkpoint", {})
    store = spark.read.format("statestore").load(str(tmp_path / "checkpoint"))
    [(state,)] = store.select(f"value.groupState.{PAYLOAD}").collect()
    assert len(state) < 3_000
    bins = thaw(bytes(state))["windows"]["bins"]
    assert len(bins) == 10
    counts, sums = bins.states
    assert counts[0].tolist() == [200] * 10
    assert sums[0].tolist() == [200 * 987_654_321] * 10
