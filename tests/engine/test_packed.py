"""What is packed into few keys comes back as it was, and each combination is a group of its own."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from itertools import product

from pyspark.sql import DataFrame, SparkSession

from penstock.engine.packed import Packed

SCHEMA = (
    "g int not null, b boolean, tiny tinyint, small smallint, n int, m int, "
    "day date, big bigint, t string"
)
VALUES = (
    (-3, 0, 2),
    (None, False, True),
    (None, 0, -128, 127),
    (None, -1),
    (None, 0, -(1 << 31), (1 << 31) - 1),
    (None, -7),
    (None, date(1969, 12, 31), date(2026, 1, 1)),
    (None, 0, -(1 << 63)),
    (None, "", "TCP"),
)


def of(frame: DataFrame, group: int = 32, masks: dict[str, int] | None = None) -> Packed:
    types = {f.name: f.dataType for f in frame.schema if f.name != "g"}
    return Packed(("g", group), types, masks or {})


def test_what_is_packed_comes_back(spark: SparkSession) -> None:
    rows = list(product(*VALUES))
    frame = spark.createDataFrame(rows, SCHEMA)
    packed = of(frame)
    grouped = frame.select(*packed.columns()).groupBy(*packed.names).count()
    assert not any(field.nullable for field in frame.select(*packed.columns()).schema)
    back = packed.restored(grouped).where("count = 1").select(*frame.columns)
    assert back.schema.simpleString() == frame.schema.simpleString()
    assert {tuple(row) for row in back.collect()} == set(rows)


def test_small_keys_share_a_column(spark: SparkSession) -> None:
    # group 3 bits, nulls 4, mask 5, one number of 32; two more numbers; the text.
    schema = "g int, port int, dst int, src int, mask bigint, protocol string"
    keys = of(spark.createDataFrame([], schema), 3, {"mask": 5})
    assert len(keys.names) == 3


def test_a_mask_that_is_null_is_0(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, 31), (2, None), (3, 0)], "g int, mask bigint")
    packed = of(frame, 3, {"mask": 5})
    back = packed.restored(frame.select(*packed.columns())).select("g", "mask")
    found = {g: mask & 31 for g, mask in back.collect()}  # further bits say nothing
    assert found == {1: 31, 2: 0, 3: 0}


def test_keys_that_cannot_be_packed_stay_as_they_are(spark: SparkSession) -> None:
    schema = "g int, amount decimal(30, 2), tags array<int>, n int"
    rows = [(1, None, None, 5), (2, Decimal("1.50"), [1], None)]
    frame = spark.createDataFrame(rows, schema)
    packed = of(frame)
    back = packed.restored(frame.select(*packed.columns())).select(*frame.columns)
    assert sorted(map(tuple, back.collect())) == rows
