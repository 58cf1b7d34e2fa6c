"""The seven queries of the benchmark give what Spark's own seven streams give."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from penstock.bench import network
from penstock.bench.packets import WORKLOAD, write


def test_one_network_and_seven_streams_give_the_same(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    files = write(spark, tmp_path / "data", 3, 2_000, rate=20)
    said: list[str] = []
    case = network._Case(spark, tmp_path, files, 1, said.append)
    ours, theirs = network.Measured(), network.Measured()
    case.penstock(list(WORKLOAD), ours)
    case.spark_all(theirs)
    assert {query for query, _ in theirs.answers} == set(WORKLOAD)
    assert ours.answers == theirs.answers
    assert ours.median > 0
    assert theirs.median > 0


def test_what_a_network_takes_is_observed(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    files = write(spark, tmp_path / "data", 4, 2_000, rate=20)
    case = network._Case(spark, tmp_path, files, 1, print)
    seen = case.observed(1, 0.5)
    assert [observation.rows["packets"] for observation in seen] == [2_000, 2_000]
    flows = seen[-1].operators
    assert set(case.kinds) == set(flows)
    assert flows["filter 1"].rows_in == 2_000
    kept = flows["filter 1"].rows_out
    assert kept is not None
    assert 0.2 < kept / 2_000 < 0.8  # a sample of one row in 64 of half of them
