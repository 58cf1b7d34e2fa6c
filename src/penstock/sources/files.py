"""Files of a folder, as they come or all at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

from penstock.errors import SchemaError, SpecificationError, UsageError, complaint, did_you_mean
from penstock.sources import checks, said
from penstock.sources.malformed import MALFORMED, METRIC, counted
from penstock.sources.options import Options, without_login
from penstock.sources.parse import fields

Format = Literal["parquet", "json", "csv"]
PLACE = ("file_path", "file_row")
"""Where a row of a parquet file stands: it tells rows apart."""
RAW = "malformed_text"
"""The text of a line that is malformed."""


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one format below a path.

    Args:
        path: a folder, or a pattern such as "in/*.csv".
        format: parquet, json (an object per line) or csv.
        schema: of the rows; None to look into the files that are there (parquet only).
        identity: the columns that tell two rows apart.
        most: files that a batch of a stream takes at most; None for all there are.
        options: of Spark's reader.
        batch: whether the files that are there are read once.
    """

    path: str
    format: Format
    schema: StructType | str | None
    identity: tuple[str, ...] = ()
    most: int | None = None
    options: Options = field(default_factory=Options)
    batch: bool = False

    def dataframe(self, spark: SparkSession) -> DataFrame:
        """The rows; those of JSON and CSV with the reason if a line is malformed."""
        try:
            rows = self._parquet(spark) if self.format == "parquet" else self._text(spark)
        except PySparkException as error:
            words = self.options.hide(said.words(error))
            raise UsageError(complaint(self.describe(), "must be readable", words)) from error
        for name in self.identity:
            if name not in rows.columns:
                hint = did_you_mean(name, rows.columns)
                raise SchemaError(complaint("identity", "must be a column", name, hint))
        return rows

    def stored(self, since: int, until: int) -> Files:
        """All files that are there: Spark skips those whose statistics say that they are others."""
        del since, until
        return replace(self, batch=True)

    def hide(self, text: str) -> str:
        """A text, such as an error of Spark's, without the secrets of this source."""
        return self.options.hide(text)

    def describe(self) -> str:
        """One line for a report."""
        return f"{self.format} files in {without_login(self.path)}"

    def _load(self, spark: SparkSession, schema: StructType) -> DataFrame:
        options = dict(self.options)
        if self.format != "parquet":
            options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": RAW}
        if self.batch:
            return spark.read.schema(schema).options(**options).format(self.format).load(self.path)
        if self.most is not None:
            options["maxFilesPerTrigger"] = str(self.most)
        stream = spark.readStream.schema(schema).options(**options)
        return stream.format(self.format).load(self.path)

    def _parquet(self, spark: SparkSession) -> DataFrame:
        there = spark.read.options(**self.options)
        schema = fields(self.schema) if self.schema else there.parquet(self.path).schema
        checks.no_clash("files", schema.names, PLACE)
        place = [F.col("_metadata.file_path"), F.col("_metadata.row_index")]
        rows = self._load(spark, schema)
        return rows.select("*", *(c.alias(name) for c, name in zip(place, PLACE, strict=True)))

    def _text(self, spark: SparkSession) -> DataFrame:
        schema = fields(self.schema or "")
        checks.no_clash("files", schema.names, (RAW, MALFORMED))
        rows = self._load(spark, StructType([*schema.fields]).add(RAW, StringType()))
        # The reason is made of all columns: Spark does not look at a column that no one asks for,
        # and would take a line for good or malformed according to what is done with it.
        nothing = [F.when(F.col(f"`{name}`").isNull(), name) for name in schema.names]
        reason = F.concat(F.lit("does not fit the schema, has no "), F.concat_ws(", ", *nothing))
        rows = rows.withColumn(MALFORMED, F.when(F.col(RAW).isNotNull(), reason))
        good = F.col(MALFORMED).isNull()
        columns = [F.when(good, F.col(f"`{n}`")).alias(n) for n in schema.names]
        return counted(rows.select(*columns, RAW, MALFORMED), f"{METRIC} {self.path}")


def files(
    path: str,
    format: Format = "parquet",  # noqa: A002 - as in Spark's readers
    schema: StructType | str | None = None,
    *,
    identity: str | tuple[str, ...] | list[str] = (),
    most: int | None = None,
    options: Mapping[str, object] | None = None,
    batch: bool = False,
) -> Files:
    """Files of a folder: a stream takes new ones as they come.

    Args:
        path: a folder, or a pattern such as "in/*.csv".
        format: "parquet", "json" (an object per line) or "csv".
        schema: of the rows, as a StructType or DDL; parquet files are asked if there is none.
        identity: the columns that tell two rows apart. Parquet needs none: file and row do.
        most: files that a batch of a stream takes at most.
        options: of Spark's reader, such as {"header": True}.
        batch: read the files that are there once, as a table.

    >>> files("in", "csv", "ts timestamp, size bigint").describe()
    'csv files in in'
    """
    if format not in get_args(Format):
        hint = did_you_mean(str(format), get_args(Format))
        raise SpecificationError(complaint("format", "must be one that is known", format, hint))
    if most is not None:
        checks.whole("most", most)
    if schema is None and format != "parquet":
        raise SpecificationError(complaint("schema", f"must be given for {format} files", None))
    given = checks.names("identity", identity)
    if not given and format == "parquet":
        given = PLACE
    return Files(checks.text("path", path), format, schema, given, most, Options(options), batch)
