"""The streams whose costs are compared do what they are said to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.bench import overhead
from penstock.bench.data import source
from penstock.bench.packets import SCHEMA, write


@pytest.mark.parametrize("share", [share for share in overhead.SELECTIVITIES if share < 1])
def test_a_filter_passes_the_share_that_it_is_named_for(
    spark: SparkSession, tmp_path: Path, share: float
) -> None:
    files = write(spark, tmp_path, 2, 5_000)
    packets = spark.read.schema(SCHEMA).parquet(*map(str, files))
    passed = packets.where(overhead.passes(share)).count() / packets.count()
    assert passed == pytest.approx(share, abs=0.005)


def test_rows_are_dropped_or_only_could_be(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    written = write(spark, tmp_path / "data", 6, 2_000, rate=20)
    files = written[:3]
    case = overhead._Case(spark, tmp_path, overhead._Some(1, 3, files))
    compared = case.compared(25, 0.5, written, warm=0, measured=1)
    assert compared.drops.low <= compared.drops.value <= compared.drops.high
    assert compared.a_a.value > 0
    assert len(case.seconds(case.window(25, 0.5, sheds=True), 1)) == 2
    assert len(case.seconds(case.reading(), 3)) == 0
    rows = source(spark, tmp_path / "in", files, 1, SCHEMA)
    run = case.seven(overhead.NOTHING)(rows, str(tmp_path / "run"))
    run.wait()
    told = run.accounts["traffic"]
    assert told["rows_in"] == 6_000
    assert told["shed_at_stream"] > 5_900
    assert told["taken"] < 100
