"""Rows go many ways: each comes once for every way that it goes."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from penstock.engine.slots import WHICH, _exploded


@pytest.mark.parametrize("ways", [3, 6, 7, 62, 63, 130])
def test_a_row_comes_once_for_every_way_that_it_goes(spark: SparkSession, ways: int) -> None:
    rows = spark.range(5)
    # Every fourth way is for all; of the others, some say nothing of some rows.
    taken = [
        None if i % 4 == 3 else F.when(F.col("id") != i % 5, (F.col("id") + i) % 3 == 0)
        for i in range(ways)
    ]
    found = sorted((row["id"], row[WHICH]) for row in _exploded(rows, taken).collect())
    wanted = [
        (n, i)
        for n in range(5)
        for i in range(ways)
        if i % 4 == 3 or (n != i % 5 and (n + i) % 3 == 0)
    ]
    assert found == wanted
