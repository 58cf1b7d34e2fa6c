"""The parse step: what it may be, and what it costs."""

from __future__ import annotations

import contextlib
import io

import pytest
from pyspark.sql import functions as F

import penstock as ps
from penstock.errors import PenstockError

SCHEMA = "ts timestamp, host string, size bigint"
VALUES = [b'{"ts": "2024-01-01T00:00:00Z", "host": "a", "size": 1}', b"?"]


@pytest.fixture(scope="module")
def raw(spark):
    """Records as the connector gives them."""
    rows = [(b"k", value, "t", 0, i) for i, value in enumerate(VALUES)]
    schema = "key binary, value binary, topic string, partition int, offset long"
    return spark.createDataFrame(rows, schema).withColumn(
        "timestamp", F.timestamp_seconds("offset")
    )


def test_a_record_is_parsed_once_also_where_malformed_ones_are_taken_out(raw):
    source = ps.sources.kafka("h:1", "t", parse=ps.sources.json(SCHEMA))
    rows = ps.sources.good(source.parsed(raw)).groupBy("host").agg(F.sum("size"), F.max("ts"))
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        rows.explain()
    assert shown.getvalue().count("from_json") == 1
    assert "kafka_key" not in shown.getvalue(), "what no one asks for is not read"
    assert [row["sum(size)"] for row in rows.collect()] == [1]


def test_options_of_the_parser(raw):
    parse = ps.sources.json("host string, size string", primitivesAsString=True)
    rows = ps.sources.kafka("h:1", "t", parse=parse).parsed(raw)
    assert [row["size"] for row in ps.sources.good(rows).collect()] == ["1"]


@pytest.mark.parametrize(
    ("parse", "message"),
    [
        ("cast(value AS string)", "parse must give a struct, got 'string'"),
        ("no_function(value)", "parse must fit the records"),
        (lambda raw: 5, "parse must give a Column, or a list of Columns, got 'int'"),
        (lambda raw: [raw["topic"].alias("kafka_topic")], "a name that the source adds"),
    ],
)
def test_refusals(raw, parse, message):
    with pytest.raises(PenstockError, match=message):
        ps.sources.kafka("h:1", "t", parse=parse).parsed(raw)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"topics": ()}, "topics must be named, or described by a pattern"),
        ({"topics": "a", "pattern": "b"}, "but not both"),
        ({"topics": "a", "starting": "first"}, "starting must be 'latest', 'earliest', or offsets"),
        ({"topics": "a", "most": 0}, "most must be a whole number"),
        ({"topics": "a", "malformed": ""}, "malformed must be a text"),
    ],
)
def test_refusals_of_settings(settings, message):
    with pytest.raises(PenstockError, match=message):
        ps.sources.kafka("h:1", **settings)


def test_a_schema_has_no_column_with_the_name_of_the_reason(raw):
    parse = ps.sources.json("size bigint, Malformed string")
    with pytest.raises(PenstockError, match="a name that the source adds, got 'Malformed'"):
        ps.sources.kafka("h:1", "t", parse=parse).parsed(raw)


def test_several_topics():
    source = ps.sources.kafka("h:1", "a, b")
    assert source.settings()["subscribe"] == "a,b"
    assert source.identity[0] == "kafka_topic"
    assert ps.sources.kafka("h:1", ["a"]).topics == ("a",)


def test_without_the_column_rows_cannot_be_told_apart(spark):
    with pytest.raises(PenstockError, match="must have a column malformed"):
        ps.sources.good(spark.range(1))


def test_without_a_folder_nothing_is_kept_aside(spark):
    with pytest.raises(PenstockError, match="malformed must be a folder"):
        ps.sources.Aside(ps.sources.kafka("h:1", "t"), spark)
