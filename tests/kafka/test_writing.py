"""Results as records of a real broker."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import functions as F

import penstock as ps
from penstock.errors import StreamFailed


def test_rows_are_json_and_the_header_has_the_batch(spark, broker):
    topic = broker.topic()
    batch = spark.range(3).selectExpr("id", "timestamp_seconds(id) AS ts", "null AS nothing")
    sink = ps.sinks.kafka(broker.servers, topic)
    sink.write(batch, 7)
    records = broker.records(topic)
    assert sorted(json.loads(value)["id"] for _, value, _ in records) == [0, 1, 2]
    assert {key for key, _, _ in records} == {None}
    assert [headers for _, _, headers in records] == [{"penstock-batch-id": b"7"}] * 3
    assert sink.describe() == f"Kafka topic {topic} at {broker.servers}"


def test_a_batch_that_comes_again_can_be_told_by_its_header(spark, broker):
    topic = broker.topic()
    sink = ps.sinks.kafka(broker.servers, topic, key="id")
    for batch_id in (0, 1, 1):
        sink.write(spark.range(2), batch_id)
    records = broker.records(topic)
    assert len(records) == 6
    once = {(headers["penstock-batch-id"], key) for key, _, headers in records}
    assert once == {(b"0", b"0"), (b"0", b"1"), (b"1", b"0"), (b"1", b"1")}


def test_key_and_value_may_be_the_users_own(spark, broker):
    topic = broker.topic()
    rows = spark.range(1).select("id", F.lit(b"\x00\xff").alias("packed"))
    ps.sinks.kafka(broker.servers, topic, key="id + 41", value="packed").write(rows, 0)
    assert [record[:2] for record in broker.records(topic)] == [(b"41", b"\x00\xff")]


def test_from_topic_to_topic(spark, broker, tmp_path):
    first, second = broker.topic(), broker.topic()
    broker.send(first, [b"%d" % i for i in range(20)])
    source = ps.sources.kafka(broker.servers, first, starting="earliest", most=5)
    sink = ps.sinks.kafka(broker.servers, second, value="cast(value AS string)")
    writer = source.dataframe(spark).writeStream.foreachBatch(sink.write)
    writer = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
    writer.start().awaitTermination()
    records = broker.records(second)
    assert sorted(int(value) for _, value, _ in records) == list(range(20))
    batches = {headers["penstock-batch-id"] for _, _, headers in records}
    assert batches == {b"%d" % i for i in range(len(batches))}
    assert len(batches) >= 4


def test_a_failure_has_no_secret(spark, broker):
    options = {"kafka.ssl.key.password": "hunter2", "kafka.max.block.ms": "hunter2"}
    sink = ps.sinks.kafka(broker.servers, "nowhere", options=options)
    with pytest.raises(StreamFailed) as failure:
        sink.write(spark.range(1), 0)
    assert "hunter2" not in str(failure.value) + failure.value.trace
    assert failure.value.__cause__ is None
