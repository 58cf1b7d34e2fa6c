"""From the bytes of a record to columns.

A parse step is one of
    json(schema)            JSON by a schema
    a function              of the DataFrame with key, value, topic, partition, offset, timestamp
    a Column, or SQL text   over those columns, such as from_avro(...)
and gives a struct, whose fields become columns, or a list of columns with names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from typing import cast

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

from penstock.errors import SchemaError, SpecificationError, complaint
from penstock.sources import checks, said
from penstock.sources.malformed import MALFORMED
from penstock.sources.options import Options

Columns = Column | Sequence[Column] | Mapping[str, Column]
Parse = Callable[[DataFrame], Columns] | Column | str

_ROW = "penstock_row"
_CORRUPT = "penstock_corrupt"


@dataclass(frozen=True, slots=True)
class Json:
    """JSON by a schema; what does not fit is malformed.

    Args:
        schema: as a StructType, or as DDL such as "ts timestamp, size bigint".
        options: those of Spark's `from_json`, such as timestampFormat.
    """

    schema: StructType | str
    options: Options = field(default_factory=Options)

    def __call__(self, raw: DataFrame) -> Column:
        """The record as a struct, with one more field if it is malformed."""
        del raw
        schema = fields(self.schema)
        checks.no_clash("schema", schema.names, [MALFORMED])
        schema.add(_CORRUPT, StringType())
        options = {**self.options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
        return F.from_json(F.col("value").cast("string"), schema, options)


def fields(schema: StructType | str) -> StructType:
    """A schema, as a copy; Spark reads DDL only where there is a session.

    Args:
        schema: as a StructType, or as DDL such as "ts timestamp, size bigint".
    """
    if isinstance(schema, StructType):
        return StructType(list(schema.fields))
    try:
        return cast("StructType", StructType.fromDDL(schema))
    except PySparkException as error:
        rule = "must be columns and types such as 'ts timestamp, size bigint'"
        raise SpecificationError(complaint("schema", rule, schema)) from error


def json(schema: StructType | str, **options: object) -> Json:
    """Reads records as JSON by a schema.

    Args:
        schema: as a StructType, or as DDL such as "ts timestamp, size bigint".
        options: those of Spark's `from_json`, such as timestampFormat="yyyy-MM-dd".
    """
    if not isinstance(schema, StructType):
        checks.text("schema", schema)
    return Json(schema, Options(options))


def parsed(raw: DataFrame, parse: Parse, kept: Mapping[str, str]) -> DataFrame:
    """The columns of the records, the reason where there are none, and what is kept of the raw.

    Args:
        raw: records with key, value, topic, partition, offset and timestamp.
        parse: the parse step.
        kept: new name → column of `raw` that is handed on under it.
    """
    aside = [F.col(name).alias(new) for new, name in kept.items()]
    row, is_whole = _row(raw, parse)
    try:
        step = raw.select(row.alias(_ROW), *aside)
        inner = step.schema[_ROW].dataType
    except PySparkException as error:
        words = said.words(error)
        raise SchemaError(complaint("parse", "must fit the records", words)) from error
    if not isinstance(inner, StructType):
        hint = "or a list of columns with names"
        raise SchemaError(complaint("parse", "must give a struct", inner.simpleString(), hint))
    found = [name for name in inner.names if name not in (_CORRUPT, MALFORMED)]
    checks.no_clash("parse", found, [MALFORMED, *kept])
    reason = _reason(found, of_json=isinstance(parse, Json)) if is_whole else F.lit(None)
    if MALFORMED in inner.names:
        reason = F.coalesce(reason, F.col(_ROW)[MALFORMED].cast("string"))
    step = step.withColumn(MALFORMED, reason.cast("string"))
    # A record of which only a part fits the schema is malformed as a whole.
    good = F.col(MALFORMED).isNull()
    columns = [F.when(good, F.col(_ROW)[name]).alias(name) for name in found]
    return step.select(*columns, *kept, MALFORMED)


def _row(raw: DataFrame, parse: Parse) -> tuple[Column, bool]:
    """The record as a struct, and whether the parse step made it as a whole."""
    given: object = F.expr(parse) if isinstance(parse, str) else parse
    if not isinstance(given, Column) and callable(given):
        given = given(raw)
    if isinstance(given, Column):
        return given, True
    if isinstance(given, Mapping):
        given = [column.alias(name) for name, column in given.items()]
    if not isinstance(given, Sequence) or not all(isinstance(c, Column) for c in given):
        rule = "must give a Column, or a list of Columns"
        raise SpecificationError(complaint("parse", rule, type(given).__name__))
    return F.struct(*given), False


def _reason(fields: Sequence[str], *, of_json: bool) -> Column:
    """Why a record is malformed; null if it is not."""
    row, value = F.col(_ROW), F.col("kafka_value")
    missing = F.when(value.isNull(), "the record has no value")
    if of_json:
        is_json = F.get_json_object(value.cast("string"), "$").isNotNull()
        wrong = F.when(is_json, "does not fit the schema").otherwise("is not JSON")
        return missing.when(row.isNull() | row[_CORRUPT].isNotNull(), wrong)
    # In their mode PERMISSIVE Spark's functions give null, or a struct of nothing but nulls.
    nothing = reduce(and_, (row[name].isNull() for name in fields), F.lit(True))
    return missing.when(nothing, "the parse step gave nothing")
