"""Records of a real broker, as a table and as a stream."""

from __future__ import annotations

import contextlib
import io
import json

import pytest
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

import penstock as ps
from penstock.bench.kafka.broker import PASSWORD, USER
from penstock.errors import PenstockError

SCHEMA = "ts timestamp, host string, size bigint"
ROWS = [
    {"ts": f"2024-01-01T00:00:{i % 60:02d}Z", "host": f"h{i % 3}", "size": i} for i in range(400)
]


def lines(rows=ROWS):
    return [json.dumps(row).encode() for row in rows]


@pytest.fixture(scope="module")
def topic(broker):
    name = broker.topic()
    broker.send(name, lines())
    return name


def stream_rows(frame, checkpoint, **trigger):
    """All rows of a stream, read to its present end."""
    sink = ps.sinks.memory("rows")
    writer = frame.writeStream.foreachBatch(sink.write).option("checkpointLocation", checkpoint)
    writer.trigger(**(trigger or {"availableNow": True})).start().awaitTermination()
    return sink.table(frame.sparkSession)


def test_json_by_a_schema_gives_the_rows_that_were_sent(spark, broker, topic):
    source = ps.sources.kafka(broker.servers, topic, parse=ps.sources.json(SCHEMA), batch=True)
    rows = source.dataframe(spark)
    assert rows.columns == [
        *("ts", "host", "size"),
        *("kafka_key", "kafka_value", "kafka_topic", "kafka_partition", "kafka_offset"),
        *("kafka_timestamp", "malformed"),
    ]
    assert source.identity == ("kafka_partition", "kafka_offset")
    found = rows.orderBy("size").collect()
    assert [row["size"] for row in found] == list(range(400))
    assert found[7]["ts"].isoformat() == "2024-01-01T00:00:07"
    assert (bytes(found[7]["kafka_value"]), found[7]["malformed"]) == (lines()[7], None)
    assert rows.select(*source.identity).distinct().count() == 400


def test_the_answers_are_those_from_files(spark, broker, topic, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_bytes(b"\n".join(lines()))
    parse = ps.sources.json(SCHEMA)
    sources: dict[str, ps.sources.Source] = {
        "kafka": ps.sources.kafka(broker.servers, topic, parse=parse, starting="earliest", most=90),
        "table": ps.sources.kafka(broker.servers, topic, parse=parse, batch=True),
        "files": ps.sources.files(str(tmp_path / "in"), "json", SCHEMA),
    }
    answers = {}
    for name, source in sources.items():
        rows = ps.sources.good(source.dataframe(spark))
        query = ps.stream(rows, "ts", slack="100 s").window("10 s").by("host").agg(s=ps.sum("size"))
        if rows.isStreaming:
            # A row far in the future closes all windows of the stream.
            found = stream_rows(rows.select("ts", "host", "size"), str(tmp_path / name))
            query = ps.stream(found, "ts").window("10 s").by("host").agg(s=ps.sum("size"))
        answers[name] = sorted(map(tuple, query.dataframe().collect()), key=repr)
    assert len(answers["table"]) == 18
    assert answers["kafka"] == answers["table"] == answers["files"]


def test_windows_of_a_stream_are_those_of_the_table(spark, broker, tmp_path):
    topic = broker.topic()
    broker.send(topic, lines())
    broker.send(topic, lines([{"ts": "2024-01-02T00:00:00Z", "host": "end", "size": 0}]))
    parse = ps.sources.json(SCHEMA)
    of_stream = ps.sources.kafka(broker.servers, topic, parse=parse, starting="earliest", most=150)
    of_table = ps.sources.kafka(broker.servers, topic, parse=parse, batch=True)

    def query(source):
        rows = ps.stream(source.dataframe(spark), "ts", slack="10 minutes")
        return rows.window("10 s", every="5 s").by("host").agg(n=ps.count(), s=ps.sum("size"))

    sink = ps.sinks.parquet(str(tmp_path / "out"))
    run = query(of_stream).start(
        str(tmp_path / "checkpoint"), foreach_batch=sink.write, trigger={"availableNow": True}
    )
    run.wait()
    found = spark.read.parquet(str(tmp_path / "out")).drop("batch").collect()
    exact = [row for row in query(of_table).dataframe().collect() if row["host"] != "end"]
    assert len(exact) == 39
    assert sorted(map(tuple, found), key=repr) == sorted(map(tuple, exact), key=repr)


def test_bytes_without_a_parse_step(spark, broker, topic):
    rows = ps.sources.kafka(broker.servers, topic, batch=True).dataframe(spark)
    (row,) = rows.where("kafka_partition = 1 and kafka_offset = 0").collect()
    assert (bytes(row["key"]), bytes(row["value"])) == (b"1", lines()[1])


@pytest.mark.parametrize(
    "parse",
    [
        pytest.param(
            lambda raw: F.from_json(raw["value"].cast("string"), SCHEMA), id="function to struct"
        ),
        pytest.param(f"from_json(cast(value AS string), '{SCHEMA}')", id="SQL"),
        pytest.param(
            lambda raw: [
                F.get_json_object(raw["value"].cast("string"), "$.size").cast("long").alias("size")
            ],
            id="function to columns",
        ),
        pytest.param(
            lambda raw: {
                "size": F.get_json_object(raw["value"].cast("string"), "$.size").cast("long")
            },
            id="function to named columns",
        ),
    ],
)
def test_a_parse_step_of_the_users_own(spark, broker, topic, parse):
    rows = ps.sources.kafka(broker.servers, topic, parse=parse, batch=True).dataframe(spark)
    assert rows.agg(F.sum("size"), F.count("malformed")).first() == (sum(range(400)), 0)


def test_offsets_bound_a_table(spark, broker, topic):
    source = ps.sources.kafka(
        *(broker.servers, topic),
        starting={topic: {0: 10, 1: 20}},
        ending={topic: {0: 15, 1: 20}},
        batch=True,
    )
    found = source.dataframe(spark).select("kafka_partition", "kafka_offset").collect()
    assert sorted(map(tuple, found)) == [(0, i) for i in range(10, 15)]


def test_a_pattern_finds_topics_and_the_topic_tells_rows_apart(spark, broker, topic):
    source = ps.sources.kafka(broker.servers, pattern=topic.replace("-", "."), batch=True)
    assert source.identity == ("kafka_topic", "kafka_partition", "kafka_offset")
    assert source.dataframe(spark).count() == 400


def test_most_bounds_a_batch_and_the_users_options_win(spark, broker, topic, tmp_path):
    source = ps.sources.kafka(
        *(broker.servers, topic),
        starting="earliest",
        most=7,
        options={"maxOffsetsPerTrigger": 100, "kafka.fetch.max.wait.ms": 20},
    )
    settings = source.settings()
    assert settings["kafka.max.poll.records"] == "20000"
    assert settings["kafka.fetch.max.wait.ms"] == "20"
    rows = stream_rows(source.dataframe(spark), str(tmp_path))
    assert [row["count"] for row in rows.groupBy("batch").count().collect()] == [100] * 4


def test_a_password_opens_the_door_and_is_seen_nowhere(spark, broker, topic, tmp_path, request):
    # Spark's log goes to the error output that it was started with.
    capture = request.config.pluginmanager.getplugin("capturemanager")
    if not capture.is_globally_capturing():
        pytest.skip("the log is not captured: run without -s")
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    options = {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": f'{module} username="{USER}" password="{PASSWORD}";',
    }
    source = ps.sources.kafka(broker.login, topic, options=options, starting="earliest")
    spark.sparkContext.setLogLevel("INFO")
    try:
        frame = source.dataframe(spark)
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            frame.explain(extended=True)
        assert stream_rows(frame, str(tmp_path)).count() == 400
        answers = ps.sinks.kafka(broker.login, topic, options=options)
    finally:
        spark.sparkContext.setLogLevel("ERROR")
    logged = capture.read_global_capture().err
    assert "SASL_PLAINTEXT" in logged, "the log must have told of the connection"
    for text in (logged, shown.getvalue(), repr(source), source.describe(), repr(answers)):
        assert PASSWORD not in text
    assert "***" in repr(source)


AVRO = """{"type": "record", "name": "r", "fields": [{"name": "size", "type": "long"}]}"""


def test_avro_by_sparks_own_function(spark, broker):
    topic = broker.topic()
    # In Avro a long is a zigzag number: 2 n.
    broker.send(topic, [bytes([2 * n]) for n in range(10)] + [b""])
    source = ps.sources.kafka(
        *(broker.servers, topic),
        parse=lambda raw: from_avro(raw["value"], AVRO, {"mode": "PERMISSIVE"}),
        batch=True,
    )
    rows = source.dataframe(spark)
    assert ps.sources.good(rows).agg(F.sum("size")).collect() == [(45,)]
    assert [row["malformed"] for row in ps.sources.bad(rows).collect()] == [
        "the parse step gave nothing"
    ]


def test_an_error_of_the_connector_has_no_secret(spark, broker, topic):
    options = {"kafka.ssl.key.password": "hunter2", "startingOffsets": "hunter2"}
    source = ps.sources.kafka(broker.servers, topic, options=options, batch=True)
    with pytest.raises(PenstockError, match="kafka must be readable") as failure:
        source.dataframe(spark).count()
    assert "hunter2" not in str(failure.value)
    assert failure.value.__cause__ is None
