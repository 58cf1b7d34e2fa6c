"""One scan and one shuffle for all queries; what cannot run is refused before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.errors import PenstockError, SchemaError, SpecificationError, UsageError
from tests.engine.test_network_answers import (
    HOSTS,
    frame,
    packets,
    queries,
    run_all,
    run_apart,
    stream,
)


def test_ten_queries_have_one_scan_and_as_few_operators_with_state_as_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = ps.stream(stream(spark, tmp_path, batches=2), event_time="ts")
    asked = {
        f"q{i}": rows.where(f"port = {port}")
        .window(f"{length} s", every="5 s")
        .by(*keys)
        .agg(n=ps.count(), b=ps.sum("size"))
        for i, (port, length, keys) in enumerate(
            (p, n, k) for p in (80, 443) for n in (10, 20, 30) for k in ((), ("host",))
        )
    }
    sink = ps.sinks.memory("ten")
    run = ps.Network(**asked).start(
        str(tmp_path / "run"), sink=sink, trigger={"availableNow": True}
    )
    run.wait()
    batches = run.parts[0].run.progress
    with_rows = [b for b in batches if b["numInputRows"]]
    assert [b["numInputRows"] for b in with_rows] == [500, 500]
    assert {len(b["stateOperators"]) for b in batches} == {2}
    assert {row["query"] for row in sink.table(spark).collect()} == set(asked)


@pytest.mark.parametrize(("depth", "operators"), [(1, 2), (3, 4)])
def test_each_level_of_windows_adds_one_operator_with_state(
    spark: SparkSession, tmp_path: Path, depth: int, operators: int
) -> None:
    rows = ps.stream(stream(spark, tmp_path, batches=2), event_time="ts")
    query = rows.window("10 s", every="5 s").agg(n=ps.count())
    asked = {"q1": query}
    for level in range(2, depth + 1):
        query = query.results().window(f"{10 * level} s").agg(n=ps.sum("n"))
        asked[f"q{level}"] = query
    network = ps.Network(**asked)
    run = run_all(network, tmp_path / "run", {})
    assert len(run.parts[0].run.progress[-1]["stateOperators"]) == operators
    assert f"{operators} operators with state" in network.explain()


def test_tumbling_windows_need_no_panes(spark: SparkSession, tmp_path: Path) -> None:
    rows = ps.stream(stream(spark, tmp_path, batches=2), event_time="ts")
    asked = {
        "all": rows.window("10 s").agg(n=ps.count()),
        "by_host": rows.where("port = 80").window("20 s").by("host").agg(n=ps.count()),
    }
    run = run_all(ps.Network(**asked), tmp_path / "run", {})
    assert len(run.parts[0].run.progress[-1]["stateOperators"]) == 1


def test_windows_that_spark_has_no_operator_for_run_beside_the_others(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = ps.stream(stream(spark, tmp_path), event_time="ts")
    asked = {
        "time": rows.window("10 s").agg(n=ps.count()),
        "last": rows.window(ps.rows(100, 50)).agg(b=ps.sum("size")),
    }
    network = ps.Network(**asked)
    assert list(network.split.alone) == ["last"]
    assert "alone     last: tuple windows" in network.explain()
    found: dict[str, list[tuple]] = {}
    run = run_apart(network, tmp_path / "run", found)
    assert found["time"]
    assert len(found["last"]) == 1500 // 50
    assert set(run.accounts) == {"time", "last"}


def test_a_condition_guards_what_stands_above_it(spark: SparkSession) -> None:
    """A query must not fail on rows that it does not ask for."""
    rows = ps.stream(frame(spark, packets(200, 3, late=False)), event_time="ts")
    odd = rows.where("port <> 80").with_columns(x="1 / (port - 80)")
    asked = {
        "odd": odd.where("x > 0").window("20 s").agg(s=ps.sum("1 / (port - 80)")),
        "all": rows.window("20 s").agg(n=ps.count()),
    }
    answers = ps.Network(**asked).batch()
    assert answers["odd"].count() > 0
    assert [tuple(r) for r in answers["all"].agg(F.sum("n")).collect()] == [(200,)]


def refused(make, error: type[PenstockError], *parts: str) -> None:
    with pytest.raises(error) as told:
        make()
    for part in parts:
        assert part in str(told.value)
    assert "\n" not in str(told.value)


def test_refusals(spark: SparkSession, tmp_path: Path) -> None:
    rows = ps.stream(frame(spark, packets(20, 3, late=False)), event_time="ts")
    query = rows.window("10 s").agg(n=ps.count())
    refused(ps.Network, SpecificationError, "needs a query")
    refused(lambda: ps.Network(query), SpecificationError, "needs a name")
    twice = (query.named("a"), query.named("A"))
    refused(lambda: ps.Network(*twice), SpecificationError, "one query only", "'A'")
    wrong: Any = 3
    refused(lambda: ps.Network(a=wrong), SpecificationError, "query a", "'int'")
    refused(lambda: rows.where("sise > 1"), SchemaError, "where()", "sise")
    refused(lambda: rows.with_columns(k="sise / 2"), SchemaError, "column k", "sise")
    refused(lambda: rows.select("sise"), SchemaError, "sise", "did you mean 'size'")
    refused(lambda: rows.with_columns(ts="now()"), SpecificationError, "event time")
    other = ps.stream(frame(spark, packets(20, 3, late=False)), event_time="ts")
    both = {"a": query, "b": other.window("10 s").agg(n=ps.count())}
    refused(lambda: ps.Network(**both), SpecificationError, "one stream only", "name=")
    refused(lambda: rows.union(rows.select("ts", "host")), SchemaError, "same columns")
    double = spark.createDataFrame([(HOSTS[0], 1), (HOSTS[0], 2)], "host string, rack int")
    joined = rows.join(double, "host").window("10 s").agg(n=ps.count())
    refused(lambda: ps.Network(a=joined).batch(), UsageError, "each key once", HOSTS[0])
    refused(lambda: ps.Network(a=query).start(str(tmp_path)), UsageError, "batch()")
    refused(lambda: rows.select("host").window("10 s"), UsageError, "event time")


def test_refusals_of_streams(spark: SparkSession, tmp_path: Path) -> None:
    asked = queries(stream(spark, tmp_path))
    network = ps.Network(traffic=asked["traffic"], tcp=asked["tcp"])
    path = str(tmp_path / "c")
    refused(network.batch, UsageError, "start()")
    refused(lambda: network.start(path), UsageError, "sink for every query", "traffic")
    sinks = {"trafic": lambda *_: None}
    refused(lambda: network.start(path, sinks=sinks), UsageError, "trafic", "known: traffic, tcp")
    refused(lambda: asked["busy"].dataframe(path), UsageError, "ps.Network")
    text = asked["tcp"].stream.window("20 s").agg(n=ps.max("protocol"))
    clash = ps.Network(traffic=asked["traffic"], text=text)
    sink = ps.sinks.memory("clash")
    refused(lambda: clash.start(path, sink=sink), SchemaError, "column n", "bigint", "text: string")
    run_all(network, tmp_path / "c", {})
    other = ps.Network(traffic=asked["traffic"], web=asked["web"])
    refused(lambda: run_all(other, tmp_path / "c", {}), UsageError, "same network")
