"""Rare groups keep their rows, heavy ones give more; a restart decides what one run decides."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import penstock as ps
from penstock.engine.toml_network import toml_network
from penstock.errors import PenstockError
from penstock.network.config import parse_config
from tests.engine.streams import SECOND, START, Files
from tests.engine.test_shedding import PACKETS, balanced, delivered, start

ROWS, BATCHES, RARE = 600, 8, 15


def made() -> list[dict]:
    """One host has nine of ten packets, and others a handful in each window of 20 seconds."""
    of, found = random.Random(2), []
    for i in range(ROWS * BATCHES):
        host = "heavy" if of.random() < 0.9 else f"rare{of.randrange(RARE)}"
        at = START + i * 20 * SECOND // ROWS
        found.append({"ts": at, "host": host, "size": of.choice([40, 1500]), "number": i})
    return found


def query(rows: DataFrame, floor: int | None) -> ps.WindowQuery:
    packet = ps.stream(rows, event_time="ts", slack="1 s", identity="number", name="packets")
    window = packet.where("size > 0").window("20 s").by("host")
    return window.agg(n=ps.count(), b=ps.sum("size")).approximate(floor=floor)


def test_rare_groups_are_whole_and_the_share_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    files, rows = Files(spark, tmp_path / "in", PACKETS), made()
    for i in range(0, len(rows), ROWS):
        files.add(rows[i : i + ROWS])
    asked = {"n": query(files.stream(), 8)}
    found: dict[str, dict[int, list[Row]]] = {}
    run = start(asked, tmp_path / "run", found, keep=0.2)
    run.wait()
    exact: dict[tuple, list[int]] = {}
    for one in rows:
        end = (one["ts"] // (20 * SECOND) + 1) * 20 * SECOND
        exact.setdefault((end, one["host"]), []).append(one["size"])
    got = delivered(found["n"])
    # How large groups are is known when the first window is answered, and holds from then on.
    later = [r for r in got if r["window_start"].timestamp() * SECOND >= START + 60 * SECOND]
    told = {(round(r["window_end"].timestamp() * SECOND), r["host"]): r for r in later}
    wanted = {key for key in exact if key[0] >= min(end for end, _ in told)}
    assert {key for key in wanted if key[0] <= max(end for end, _ in told)} == set(told)
    whole, settled = 0, 0
    for key, row in told.items():
        sizes = exact[key]
        assert row["n_low"] <= len(sizes) <= row["n_high"]
        assert row["b_low"] <= sum(sizes) <= row["b_high"]
        if key[1] == "heavy":
            assert 0.05 < row["keep"] < 0.25
        else:
            assert row["keep"] > 0.5
            # What all groups lost before was of batch 2: when batch 5 begins, rows up to batch 3
            # are known of, and windows that begin later had none of it.
            late = key[0] >= START + 100 * SECOND
            settled += late
            whole += row["exact"]
            assert late or not row["exact"]
            assert row["n"] == len(sizes) or not row["exact"]
    # Where a bucket has just lost some, it is not known of the next windows either.
    assert whole > 0.4 * settled > 0
    balanced(run, asked)
    assert 0.15 < run.accounts["n"]["taken"] / len(rows) < 0.3
    record = (tmp_path / "run" / "penstock" / "plans" / str(BATCHES)).read_text()
    assert len(record) < 60_000  # whatever the number of groups


def test_a_restart_decides_what_one_run_decides(spark: SparkSession, tmp_path: Path) -> None:
    setting = "spark.sql.streaming.noDataMicroBatches.enabled"
    spark.conf.set(setting, "false")
    files, rows = Files(spark, tmp_path / "in", PACKETS), made()[: 4 * ROWS]
    found: dict[str, dict[str, dict[int, list[Row]]]] = {"once": {}, "twice": {}}
    try:
        for half in (rows[: 2 * ROWS], rows[2 * ROWS :]):
            for i in range(0, len(half), ROWS):
                files.add(half[i : i + ROWS])
            asked = {"n": query(files.stream(), 8)}
            start(asked, tmp_path / "twice", found["twice"], keep=0.2).wait()
        asked = {"n": query(files.stream(), 8)}
        start(asked, tmp_path / "once", found["once"], keep=0.2).wait()
    finally:
        spark.conf.unset(setting)
    records: list[dict[str, Any]] = [
        {one.name: json.loads(one.read_text())["values"] for one in plans.iterdir()}
        for plans in (tmp_path / name / "penstock" / "plans" for name in found)
    ]
    assert records[0] == records[1]
    assert any(record["orders"]["floors"][0] for record in records[0].values())
    assert found["once"] == found["twice"]


TOML = """
[stream.packets]
source = "files"
event_time = "ts"
[query.n]
answers = "approximate"
floor = 20
cql = "SELECT host, count(*) AS n FROM packets [RANGE 10 s SLIDE 10 s WATTR ts] GROUP BY host"
"""


def test_what_can_have_no_floor_is_refused(spark: SparkSession) -> None:
    rows = spark.createDataFrame([], "ts timestamp, host string, size bigint")
    packet = ps.stream(rows, event_time="ts")
    with pytest.raises(PenstockError, match="floor needs groups"):
        packet.window("10 s").agg(n=ps.count()).approximate(floor=3)
    by_host = packet.window("10 s").by("host").agg(n=ps.count())
    with pytest.raises(PenstockError, match="floor must be"):
        by_host.approximate(floor=0)
    made_up = packet.with_columns(host="upper(host)").window("10 s").by("host").agg(n=ps.count())
    with pytest.raises(PenstockError, match="must have groups by columns of the stream"):
        ps.Network(n=made_up.approximate(floor=3))
    config = parse_config(TOML, "a.toml")
    kinds = toml_network(config, spark, lambda *_: rows).network.kinds
    assert kinds == ps.Network(n=by_host.approximate(floor=20)).kinds
