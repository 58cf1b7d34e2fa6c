"""An answer is not called exact, nor bounded as if, because all rows that were dropped are gone."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import penstock as ps
from penstock.drops.bounds import unseen
from penstock.drops.kinds import Approximate
from penstock.engine.estimates import Estimates
from penstock.engine.groups import HEAVIEST, MAY_MISS, ROWS, stands_for
from tests.engine.streams import SECOND, START, Files
from tests.engine.test_shedding import balanced, delivered, start

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", tz="UTC")),
        ("host", pa.string()),
        ("size", pa.int64()),
        ("number", pa.int64()),
    ]
)
HOSTS = ("a", "b", "c", "d", "e", "f", "rare", "alarm")
Bounds = Literal["variance", "hoeffding"]
LENGTHS: dict[Bounds, int] = {"variance": 40, "hoeffding": 32}
"""Bounds → seconds of the windows that have them."""

PACKETS = 160
"""Rows of a batch, one each tenth of a second."""


def some_rows(batch: int) -> list[dict]:
    numbers = range(batch * PACKETS, (batch + 1) * PACKETS)
    return [
        {
            "ts": START + i * SECOND // 10,
            "host": HOSTS[i % 8] if i % 8 < 6 or i % 40 < 8 else "a",
            "size": i % 7 + 1,
            "number": i,
        }
        for i in numbers
    ]


def asked(rows: DataFrame, floor: int | None = None) -> dict[str, ps.WindowQuery]:
    packet = ps.stream(
        rows, event_time="ts", identity="number", never_shed="host = 'alarm'", name="packets"
    )
    functions = {"n": ps.count(), "s": ps.sum("size"), "m": ps.avg("size")}
    return {
        bounds: packet.window(f"{length} s", every="8 s")
        .by("host")
        .agg(**functions)
        .approximate(bounds=bounds, floor=floor)
        for bounds, length in LENGTHS.items()
    }


def test_what_a_group_may_have_that_is_not_shown(spark: SparkSession) -> None:
    weights = [1.0, 1.5, 50.0, 2.0**62]
    rows = spark.createDataFrame([(w,) for w in weights], "w double")
    asked_for = Estimates(Approximate(), {MAY_MISS: "w", HEAVIEST: "w", stands_for(ROWS): "w"})
    shown = rows.withColumn(ROWS, rows.w).select(asked_for.columns({}, grouped=True)["unseen"])
    found = [row[0] for row in shown.collect()]
    assert found[:3] == pytest.approx([unseen(1 / w, 0.01) for w in weights[:3]])
    assert found[3] > 1e15


def for_a_while(
    spark: SparkSession, folder: Path, floor: int | None = None
) -> dict[str, list[Row]]:
    """Nothing is dropped, then nearly all, then nothing; the last batches close the windows."""
    files = Files(spark, folder, SCHEMA)
    found: dict[str, dict[int, list[Row]]] = {}
    for keep, batches in ((1.0, range(2)), (0.02, range(2, 4)), (1.0, range(4, 11))):
        for batch in batches:
            files.add(some_rows(batch))
        queries = asked(files.stream(), floor)
        run = start(queries, folder / "checkpoint", found, keep=keep)
        run.wait()
        balanced(run, queries, sheds=None)
    return {name: delivered(found[name]) for name in found}


def sizes_of(length: int) -> dict[tuple[int, str], list[int]]:
    """End of a window and host → the sizes of its packets."""
    truth: dict[tuple[int, str], list[int]] = defaultdict(list)
    for one in (one for batch in range(11) for one in some_rows(batch)):
        end = one["ts"] - one["ts"] % (8 * SECOND) + 8 * SECOND
        for k in range(length // 8):
            truth[end + k * 8 * SECOND, one["host"]].append(one["size"])
    return truth


def test_a_group_with_a_floor_of_which_all_is_gone_for_a_while(
    spark: SparkSession, tmp_path: Path
) -> None:
    found = for_a_while(spark, tmp_path, floor=1)
    for name, length in LENGTHS.items():
        truth, states, shows_nothing = sizes_of(length), set(), 0
        for row in found[name]:
            n = len(truth[round(row["window_end"].timestamp() * SECOND), row["host"]])
            assert row["unseen"] is None
            if row["exact"]:
                assert row["n"] == row["n_low"] == row["n_high"] == n
            elif row["n"] == row["sample"] < n:
                # All rows that were thinned are gone: those that are left stand for themselves.
                shows_nothing += 1
                assert row["n_low"] <= n <= row["n_high"]
            states.add(row["exact"])
        assert states == {True, False}
        assert shows_nothing > 3


def test_a_group_of_which_all_is_gone_for_a_while(spark: SparkSession, tmp_path: Path) -> None:
    found = for_a_while(spark, tmp_path)
    for name, length in LENGTHS.items():
        rows, truth = found[name], sizes_of(length)
        wrong = held = 0
        states = defaultdict(set)
        shown: dict[int, set[str]] = defaultdict(set)
        most: dict[int, float] = {}
        for row in rows:
            end = round(row["window_end"].timestamp() * SECOND)
            sizes = truth[end, row["host"]]
            exact = {"n": len(sizes), "s": sum(sizes), "m": sum(sizes) / len(sizes)}
            if row["exact"]:
                assert all(abs(row[of] - value) < 1e-9 for of, value in exact.items()), row
            for of, value in exact.items():
                inside = row[f"{of}_low"] - 1e-9 <= value <= row[f"{of}_high"] + 1e-9
                held += inside
                wrong += not inside
            states[row["host"]].add(row["exact"])
            shown[end].add(row["host"])
            most[end] = row["unseen"]
        assert wrong <= 0.01 * (held + wrong)
        # Of a group that is not shown, an answer of the same window says how large it may be.
        for end, hosts in shown.items():
            assert all(len(truth[end, host]) <= most[end] for host in HOSTS if host not in hosts)
        assert 0 in most.values()
        assert max(most.values()) == pytest.approx(unseen(0.02, 0.01))
        assert states["alarm"] == {True}  # by its key it is known that none of its rows may go
        assert states["rare"] == states["a"] == {True, False}  # before and after, and in between
