"""The streams whose costs are compared do what they are said to do."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from penstock.bench import overhead
from penstock.bench.data import source
from penstock.bench.packets import SCHEMA, write


def test_rows_are_dropped_or_only_could_be(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    files = write(spark, tmp_path / "data", 3, 2_000, rate=20)
    case = overhead._Case(spark, tmp_path, files)
    assert len(case.seconds(case.window(25, 0.5, sheds=True), 1)) == 2
    assert len(case.seconds(case.reading(), 3)) == 0
    rows = source(spark, tmp_path / "in", files, 1, SCHEMA)
    run = case.seven(overhead.NOTHING)(rows, str(tmp_path / "run"))
    run.wait()
    told = run.accounts["traffic"]
    assert told["rows_in"] == 6_000
    assert told["shed_at_stream"] > 5_900
    assert told["taken"] < 100
