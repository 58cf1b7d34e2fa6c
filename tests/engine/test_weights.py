"""Rows that come with a weight stand for several: answers are scaled, and say how sure they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

import penstock as ps
from penstock.drops.coins import HASH_BITS
from penstock.engine.toml_network import toml_network
from penstock.errors import PenstockError
from penstock.network.config import parse_config
from tests.engine.streams import Files
from tests.engine.test_shedding import PACKETS, ROWS, balanced, delivered, packets, start

SCHEMA = PACKETS.append(pa.field("w", pa.float64()))
UPSTREAM = {"a": 0.4, "b": 1.0}


def thinned(spark: SparkSession) -> list[dict]:
    """What a penstock upstream has left of the packets: it hashes the same identity."""
    made = packets()
    numbers = spark.createDataFrame([(row["number"],) for row in made], "number bigint")
    hashed = numbers.selectExpr("number", f"xxhash64(number) & {2**HASH_BITS - 1} AS u").collect()
    u = {row["number"]: row["u"] / 2**HASH_BITS for row in hashed}
    return [
        {**row, "w": None if row["host"] == "b" else 1 / UPSTREAM[row["host"]]}
        for row in made
        if u[row["number"]] < UPSTREAM[row["host"]]
    ]


def asked(rows: DataFrame) -> ps.WindowQuery:
    packet = ps.stream(rows, event_time="ts", slack="20 s", identity="number", weight="W")
    window = packet.window("20 s", every="10 s").by("host")
    return window.agg(n=ps.count(), b=ps.sum("size"), mean=ps.avg("size")).approximate()


@pytest.fixture(scope="module")
def exact(spark: SparkSession) -> dict[tuple, Row]:
    """The answers that the rows have of which the weighted ones are a sample."""
    rows = spark.createDataFrame(
        [(r["ts"], r["host"], r["size"]) for r in packets()], "t bigint, host string, size bigint"
    ).selectExpr("timestamp_micros(t) AS ts", "host", "size")
    window = ps.stream(rows, "ts").window("20 s", every="10 s").by("host")
    answers = window.agg(n=ps.count(), b=ps.sum("size"), mean=ps.avg("size")).dataframe()
    return {(row["window_end"], row["host"]): row for row in answers.collect()}


def within(found: list[Row], exact: dict[tuple, Row]) -> None:
    assert {(row["window_end"], row["host"]) for row in found} <= set(exact)
    held = [
        row[f"{name}_low"] <= exact[row["window_end"], row["host"]][name] <= row[f"{name}_high"]
        for row in found
        for name in ("n", "b", "mean")
    ]
    assert sum(held) >= 0.97 * len(held)


def test_weights_multiply_with_what_is_dropped_here(
    spark: SparkSession, tmp_path: Path, exact: dict[tuple, Row]
) -> None:
    files, made = Files(spark, tmp_path / "in", SCHEMA), thinned(spark)
    for i in range(0, len(made), ROWS):
        files.add(made[i : i + ROWS])
    found: dict[str, dict[int, list[Row]]] = {}
    queries = {"n": asked(files.stream())}
    run = start(queries, tmp_path / "run", found, keep=0.5)
    run.wait()
    balanced(run, queries)
    got = delivered(found["n"])
    assert len(got) > 10
    within(got, exact)
    assert not any(row["exact"] for row in got)
    assert {row["unseen"] for row in got} == {None}
    # The same identity was hashed upstream: half of what came from there is dropped all the same.
    assert 0.45 * len(made) < run.accounts["n"]["taken"] < 0.55 * len(made)
    for host, share in UPSTREAM.items():
        mine = [row for row in got if row["host"] == host and row["sample"] > 30]
        assert all(0.35 * share < row["keep"] < 0.65 * share for row in mine)
        total = sum(row["n"] for row in mine)
        wanted = sum(exact[row["window_end"], host]["n"] for row in mine)
        assert total == pytest.approx(wanted, rel=0.1)


def test_of_a_group_that_upstream_has_dropped_all_nothing_is_claimed(
    spark: SparkSession, tmp_path: Path
) -> None:
    files, made = Files(spark, tmp_path / "in", SCHEMA), thinned(spark)
    files.add([row for row in made if row["host"] == "b"])  # each of which stands for itself
    found: dict[str, dict[int, list[Row]]] = {}
    queries = {"n": asked(files.stream())}
    run = start(queries, tmp_path / "run", found)
    run.wait()
    balanced(run, queries, sheds=False)
    got = delivered(found["n"])
    assert {(row["exact"], row["unseen"]) for row in got} == {(True, None)}


def test_a_batch_is_weighted_too(spark: SparkSession, exact: dict[tuple, Row]) -> None:
    fields = [("ts", "bigint"), ("host", "string"), ("size", "bigint"), ("number", "bigint")]
    ddl = ", ".join(f"{name} {of}" for name, of in [*fields, ("w", "double")])
    listed = [
        tuple(row[n] for n in ("ts", "host", "size", "number", "w")) for row in thinned(spark)
    ]
    rows = spark.createDataFrame(listed, ddl).selectExpr(
        "timestamp_micros(ts) AS ts", "host", "size", "number", "w"
    )
    got = ps.Network(n=asked(rows)).batch()["n"].collect()
    within(got, exact)
    assert {(row["host"], row["exact"]) for row in got} == {("a", False), ("b", True)}
    for row in got:
        if row["host"] == "b":
            assert row["n"] == row["n_low"] == row["n_high"] == row["sample"]
    with pytest.raises(PenstockError, match="must be in a network"):
        asked(rows).dataframe()


@pytest.mark.parametrize("w", ["0.5", "double('nan')", "double('inf')"])
def test_what_is_no_weight_is_not_counted(spark: SparkSession, w: str) -> None:
    rows = spark.range(3).selectExpr("timestamp_seconds(id) AS ts", f"{w} AS w")
    query = ps.stream(rows, "ts", weight="w").window("10 s").agg(n=ps.count()).approximate()
    answers = ps.Network(n=query).batch()["n"]
    with pytest.raises(PySparkException, match="weight must be 1 or more"):
        answers.collect()


def _subset(query: ps.WindowQuery) -> ps.WindowQuery:
    return query.subset(2)


@pytest.mark.parametrize("kind", [lambda query: query, _subset])
def test_other_answers_than_approximate_are_refused(
    spark: SparkSession, kind: Callable[[ps.WindowQuery], ps.WindowQuery]
) -> None:
    rows = spark.range(3).selectExpr("timestamp_seconds(id) AS ts", "id", "2 AS w")
    packet = ps.stream(rows, "ts", weight="w", name="packets")
    query = kind(packet.window("10 s").agg(n=ps.count()))
    with pytest.raises(PenstockError, match=r"must have approximate answers: rows of packets"):
        ps.Network(n=query).batch()


def test_rows_hand_on_their_weight(spark: SparkSession) -> None:
    rows = spark.range(3).selectExpr("timestamp_seconds(id) AS ts", "id", "2 AS w")
    packet = ps.stream(rows, "ts", weight="w", name="packets")
    assert [row["w"] for row in ps.Network(some=packet.where("id > 0")).batch()["some"].collect()]
    with pytest.raises(PenstockError, match=r"must hand on the weight of packets, w"):
        ps.Network(some=packet.select("id")).batch()
    with pytest.raises(PenstockError, match=r"weight must be a column of the stream"):
        ps.stream(rows, "ts", weight="weight")
    with pytest.raises(PenstockError, match=r"weight must be a column of numbers"):
        ps.stream(rows, "ts", weight="ts")


TOML = """
answers = "approximate"
[stream.packets]
source = "files"
event_time = "ts"
weight = "w"
[query.n]
cql = "SELECT {what} AS n FROM packets [RANGE 10 s SLIDE 10 s WATTR ts]"
"""


def test_a_file_names_the_weight(spark: SparkSession) -> None:
    rows = spark.range(3).selectExpr("timestamp_seconds(id) AS ts", "id", "2 AS w")

    def network(what: str) -> ps.Network:
        config = parse_config(TOML.format(what=what), "a.toml")
        return toml_network(config, spark, lambda *_: rows).network

    (row,) = network("count(*)").batch()["n"].collect()
    assert (row["n"], row["sample"], row["keep"], row["exact"]) == (6.0, 3, 0.5, False)
    with pytest.raises(PenstockError, match=r"a.toml: \[query.n\] answers: query n must have appr"):
        network("max(id)")
