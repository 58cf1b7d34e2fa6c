"""What Spark makes of a network: Java compiles all of it, and rows take the short ways."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.engine.arrivals import is_as_read
from tests.engine.test_network_answers import stream

COMPILED = 8_000
"""Bytes of a method that Java still compiles."""
COMPILED_WELL = 55
"""Parameters on the stack, of a method and the one that it calls, with which Java's best compiler
takes it, on processors with long vectors."""
_METHOD = re.compile(r"^private void (\w*[dD]oConsume_\d+)\(([^)]*)\)", re.MULTILINE)


def generated(spark: SparkSession, run: ps.NetworkRun) -> list[Any]:
    """What was generated for the last batch of a run: plan, code, and what is known of it."""
    jvm = spark._jvm
    assert jvm is not None
    debug = getattr(jvm.org.apache.spark.sql.execution.debug, "package$")
    pieces = getattr(debug, "MODULE$").codegenStringSeq(run.streams[0]._jsq)
    return [pieces.apply(i) for i in range(pieces.size())]


def longest_method(spark: SparkSession, run: ps.NetworkRun) -> int:
    """Of what was generated, in bytes."""
    return max(int(piece._3().maxMethodCodeSize()) for piece in generated(spark, run))


def on_stack(parameters: str) -> int:
    """Those for which there is no register."""
    each = [one.split()[-2] for one in parameters.split(",") if one.strip()]
    numbers = sum(of in ("double", "float") for of in each)
    return max(0, numbers - 8) + max(0, len(each) - numbers - 5)


def most_parameters(spark: SparkSession, run: ps.NetworkRun) -> int:
    """On the stack, of a method that hands rows on, and of the one that it hands them to."""
    most = 0
    for piece in generated(spark, run):
        code = re.sub(r"(?m)^/\* \d+ \*/ *", "", piece._2())
        found = list(_METHOD.finditer(code))
        many = {one[1]: on_stack(one[2]) for one in found}
        ends = [*(one.start() for one in found[1:]), len(code)]
        for one, end in zip(found, ends, strict=False):
            body = code[one.end() : end]
            called = [n for name, n in many.items() if f"{name}(" in body]
            most = max(most, many[one[1]] + max(called, default=0))
    return most


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
    assert 0 < most_parameters(spark, run) < COMPILED_WELL


def test_the_rows_of_files_are_counted_by_spark_itself(spark: SparkSession, tmp_path: Path) -> None:
    files = stream(spark, tmp_path, batches=1)
    read = ps.stream(files, event_time="ts").window("5 s").agg(n=ps.count())
    fewer = ps.stream(files.where("port > 0"), event_time="ts").window("5 s").agg(n=ps.count())
    assert is_as_read(ps.Network(read=read).graph.sources[0])
    assert not is_as_read(ps.Network(fewer=fewer).graph.sources[0])
