"""What Spark makes of a network: Java compiles all of it, and rows take the short ways."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.engine.arrivals import is_as_read
from tests.engine.test_network_answers import stream

COMPILED = 8_000
"""Bytes of a method that Java still compiles."""


def longest_method(spark: SparkSession, run: ps.NetworkRun) -> int:
    """Of what was generated for the last batch of a run, in bytes."""
    jvm = spark._jvm
    assert jvm is not None
    debug = getattr(jvm.org.apache.spark.sql.execution.debug, "package$")
    pieces = getattr(debug, "MODULE$").codegenStringSeq(run.streams[0]._jsq)
    return max(int(pieces.apply(i)._3().maxMethodCodeSize()) for i in range(pieces.size()))


@pytest.mark.parametrize("kind", ["exact", "approximate", "subset"])
def test_java_compiles_what_twenty_queries_become(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    rows = ps.stream(stream(spark, tmp_path, batches=1), event_time="ts")
    asked = {}
    for i in range(20):
        some = rows.where(f"port = {i} AND size > {i * 10}").window("10 s", every="5 s")
        query = some.by(*(["host"] if i % 2 else [])).agg(n=ps.count(), b=ps.sum("size"))
        changed = {"exact": query, "approximate": query.approximate(), "subset": query.subset(2)}
        asked[f"q{i}"] = changed[kind]
    run = ps.Network(**asked).start(
        str(tmp_path / "run"),
        sink=lambda batch, _: batch.collect(),
        trigger={"availableNow": True},
        keep=0.5 if kind == "approximate" else 1.0,
        drop=0.5 if kind == "subset" else 0.0,
    )
    run.wait()
    assert 0 < longest_method(spark, run) < COMPILED


def test_the_rows_of_files_are_counted_by_spark_itself(spark: SparkSession, tmp_path: Path) -> None:
    files = stream(spark, tmp_path, batches=1)
    read = ps.stream(files, event_time="ts").window("5 s").agg(n=ps.count())
    fewer = ps.stream(files.where("port > 0"), event_time="ts").window("5 s").agg(n=ps.count())
    assert is_as_read(ps.Network(read=read).graph.sources[0])
    assert not is_as_read(ps.Network(fewer=fewer).graph.sources[0])
