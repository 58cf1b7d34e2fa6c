"""A look at a source that nobody has described yet: its columns, and which may be a time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.errors import UsageError, complaint
from penstock.network.event_times import Column, guessed, looks_like
from penstock.network.starter import Start, stream_name
from penstock.sources import said
from penstock.sources.files import Files, Format
from penstock.sources.kafka import Kafka, kafka
from penstock.sources.options import Options, without_login

ROWS = 1_000
"""How many are looked at."""

_ENDINGS: dict[str, Format] = {
    "parquet": "parquet",
    "pq": "parquet",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "csv": "csv",
}
_BACK = (60, 3_600, 86_400, None)
"""Seconds that the newest records of a topic may be old; None for all of them."""
_CORRUPT = "_corrupt_record"
_LOOKED_AT = ("string", "int", "bigint", "timestamp", "timestamp_ntz")


def sample_files(spark: SparkSession, path: str) -> Start:
    """What is in the files of a folder, or in one file.

    Args:
        spark: the session.
        path: of parquet, JSON or CSV files.
    """
    try:
        listed = spark.read.format("binaryFile").option("recursiveFileLookup", value=True)
        found = [row["path"] for row in listed.load(path).select("path").limit(ROWS).collect()]
        form = _format(path, found)
        options = {"header": True, "inferSchema": True} if form == "csv" else {}
        rows = spark.read.options(**options).format(form).load(path)
        columns, looked = _columns(rows, form)
    except PySparkException as error:
        words = said.words(error)
        raise UsageError(complaint(without_login(path), "must be readable", words)) from error
    last = PurePath(path.rstrip("/")).name
    single = PurePath(found[0]).name == last
    # A stream of files reads a folder or a pattern, not one file.
    given: dict[str, object] = {"path": f"{path}*" if single else path, "format": form}
    ntz = any(field.dataType.typeName() == "timestamp_ntz" for field in rows.schema.fields)
    if form != "parquet" or ntz:
        given["schema"] = _ddl(columns)
    if form == "csv":
        given["options"] = {"header": True}
    return Start(
        without_login(path),
        stream_name(last.split(".")[0]),
        "files",
        given,
        columns,
        [c for c in guessed(columns) if c.looks != "text"],
        looked,
        apart=form == "parquet",
    )


def sample_kafka(
    spark: SparkSession, servers: str, topic: str, options: Mapping[str, str], folder: str
) -> Start:
    """What is in the newest records of a topic, which must be JSON.

    Args:
        spark: the session, with Spark's Kafka connector.
        servers: of the cluster, as "host:port".
        topic: its name.
        options: of the connector and the consumer, with their secrets.
        folder: for a while, for the records that are looked at.
    """
    values = _newest(spark, servers, topic, options)
    if not values:
        hint = "send some records first, or write the file by hand: docs/sources.md"
        raise UsageError(complaint(f"topic {topic}", "must have records to look at", 0, hint))
    spark.createDataFrame([(v,) for v in values], "value string").write.text(folder)
    rows = spark.read.json(folder)
    if _CORRUPT in rows.columns:
        # Spark does not tell what is no JSON without a column that is asked for beside it.
        good = rows.drop(_CORRUPT).dropna(how="all").count() if len(rows.columns) > 1 else 0
        if 2 * good < len(values):
            hint = "for Avro and others give ps.sources.kafka(parse=…) in Python: docs/sources.md"
            got = f"{len(values) - good} of {len(values)} records that are none"
            raise UsageError(complaint(f"topic {topic}", "must hold JSON", got, hint))
        rows = rows.drop(_CORRUPT)
    columns, _ = _columns(rows, "json")
    own = Column("kafka_timestamp", "timestamp", "timestamp")
    return Start(
        f"kafka://{servers}/{topic}",
        stream_name(topic),
        "kafka",
        {"servers": servers, "topics": topic, "schema": _ddl(columns)},
        [*columns, own],
        [*(c for c in guessed(columns) if c.looks != "text"), own],
        len(values),
    )


def _newest(spark: SparkSession, servers: str, topic: str, options: Mapping[str, str]) -> list[str]:
    for seconds in _BACK:
        source = kafka(servers, topic, options={**_since(seconds), **options}, batch=True)
        try:
            values = source.raw(spark).select(F.col("value").cast("string")).limit(ROWS).collect()
        except (PySparkException, Py4JError) as error:
            words = Options(options).hide(said.words(error))
            raise UsageError(complaint(source.describe(), "must be readable", words)) from None
        found = [row["value"] for row in values if row["value"]]
        if len(found) >= ROWS or seconds is None:
            return found
    return []


def _since(seconds: int | None) -> dict[str, object]:
    """Options for the records of the last seconds; a topic with few of them answers at once."""
    quick: dict[str, object] = {"kafka.fetch.min.bytes": 1, "kafka.request.timeout.ms": 10_000}
    if seconds is None:
        return quick
    since = int((time.time() - seconds) * 1000)
    strategy = {"startingOffsetsByTimestampStrategy": "latest"}
    return {**quick, **strategy, "startingTimestamp": since}


def _format(path: str, found: list[str]) -> Format:
    endings = Counter(
        _ENDINGS[word]
        for one in found
        for word in PurePath(one).name.lower().removesuffix(".gz").rsplit(".", 1)[1:]
        if word in _ENDINGS
    )
    if not endings:
        rule = "must have files that end in .parquet, .json or .csv"
        got = ", ".join(sorted(PurePath(one).name for one in found)[:3]) or "none"
        raise UsageError(complaint(without_login(path), rule, got))
    return endings.most_common(1)[0][0]


def _columns(rows: DataFrame, form: str) -> tuple[list[Column], int]:
    """The columns with the types that a file is to give them, and how many rows were looked at."""
    types = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    some = [name for name, of in types.items() if of in _LOOKED_AT]
    values = rows.select(*(F.col(f"`{name}`") for name in some)).limit(ROWS).collect()
    found = []
    for name, of in types.items():
        seen = [row[some.index(name)] for row in values] if name in some else []
        one = Column(name, of, looks_like(name, of, seen))
        # JSON has no times: Spark reads them from text, and from numbers of seconds.
        if of == "timestamp_ntz" or (form == "json" and one.looks in ("text", "seconds")):
            one = replace(one, type="timestamp", looks="timestamp")
        found.append(one)
    return found, len(values)


def _ddl(columns: list[Column]) -> str:
    return ", ".join(f"{_quoted(column.name)} {column.type}" for column in columns)


def _quoted(name: str) -> str:
    plain = name.isidentifier() and name.isascii()
    return name if plain else "`" + name.replace("`", "``") + "`"


def recent(source: object, spark: SparkSession) -> DataFrame | None:
    """Rows that are there already, as a table; None of a source that makes them as time goes.

    Args:
        source: one of ours.
        spark: the session.
    """
    if isinstance(source, Kafka):
        for seconds in _BACK:
            options = Options({**source.options, **_since(seconds)})
            table = replace(source, batch=True, starting="earliest", most=None, options=options)
            rows = table.dataframe(spark)
            if seconds is None or rows.limit(ROWS).count() >= ROWS:
                return rows
    if isinstance(source, Files):
        return replace(source, batch=True, most=None).dataframe(spark)
    return None
