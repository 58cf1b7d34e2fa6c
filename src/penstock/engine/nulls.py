"""Keys without nulls: the fast hash map of Spark's generated code passes over rows with one.

              k0      k1                    nulls   k0      k1
    web       host    -                     10      host    0
    by port   -       443           ─►      01      ""      443
    unknown   -       -                     11      ""      0

Queries that share their panes have different keys, so nearly every row has a null among them. A
number says which keys are null, and they have a value that says nothing in their place.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from penstock.engine.columns import bits

NULLS = "penstock_nulls"
_MOST = 62
_NUMBERS = (ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType)
_TIMES = (DateType, TimestampType, TimestampNTZType)


def can_fill(types: Mapping[str, DataType]) -> bool:
    """Whether there are keys, and Spark has its fast map for all of them."""
    plain = (*_NUMBERS, *_TIMES, BooleanType, StringType)
    return 0 < len(types) <= _MOST and all(isinstance(of, plain) for of in types.values())


def filled(types: Mapping[str, DataType]) -> dict[str, Column]:
    """The keys with a value where they are null, and `NULLS`, which says where that is.

    Args:
        types: of the keys, for which `can_fill` is true.
    """
    nulls = bits((bit, F.col(name).isNull()) for bit, name in enumerate(types))
    values = {name: F.coalesce(F.col(name), _nothing(of)) for name, of in types.items()}
    return {NULLS: nulls, **values}


def restored(rows: DataFrame, types: Mapping[str, DataType]) -> DataFrame:
    """Rows whose keys are null again where they were.

    Args:
        rows: with `NULLS`.
        types: of the keys.
    """
    nulls = F.col(NULLS)
    keys = {
        name: F.when(nulls.bitwiseAND(F.lit(1 << bit).cast("bigint")) == 0, F.col(name))
        for bit, name in enumerate(types)
    }
    return rows.withColumns(keys).drop(NULLS)


def _nothing(of: DataType) -> Column:
    """Any value of a type."""
    if isinstance(of, _TIMES):
        return F.lit("1970-01-01").cast(of)
    if isinstance(of, BooleanType):
        return F.lit(False)
    return F.lit("" if isinstance(of, StringType) else 0).cast(of)
