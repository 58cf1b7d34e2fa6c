"""`penstock init` of a topic: the newest records tell the columns; no secret is in the file."""

from __future__ import annotations

import json

import pytest

from penstock.bench.kafka.broker import PASSWORD, USER
from penstock.cli.init import look, write
from penstock.errors import UsageError
from penstock.network.config import read_config

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
LOGIN = f'{MODULE} required username="{USER}" password="{PASSWORD}";'


def records(count):
    ts = "2024-01-01T00:00:{:02}Z"
    return [json.dumps({"ts": ts.format(i % 60), "size": i}).encode() for i in range(count)]


def test_the_columns_of_a_topic_that_asks_for_a_password(spark, broker, tmp_path):
    topic = broker.topic()
    broker.send(topic, [*records(100), b"no json", None])
    options = {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": "${LOGIN}",
    }
    source = f"kafka://{broker.login}/{topic}"
    start = look(spark, source, options, {"LOGIN": LOGIN}, tmp_path)
    write(start, tmp_path / "a.toml")
    assert PASSWORD not in (tmp_path / "a.toml").read_text()
    (stream,) = read_config(tmp_path / "a.toml").streams.values()
    assert stream.event_time == "ts"
    assert stream.options["schema"] == "size bigint, ts timestamp"
    assert stream.options["kafka.sasl.jaas.config"] == "${LOGIN}"


def test_a_topic_without_times_has_those_of_its_records(spark, broker, tmp_path):
    topic = broker.topic()
    broker.send(topic, [b'{"size": 3}'] * 5)
    start = look(spark, f"kafka://{broker.servers}/{topic}", {}, {}, tmp_path)
    assert [column.name for column in start.times] == ["kafka_timestamp"]


@pytest.mark.parametrize(
    ("values", "message"),
    [([], "must have records to look at"), ([b"\x00\x01avro"] * 3, "must hold JSON")],
)
def test_a_topic_that_tells_nothing_is_refused(spark, broker, tmp_path, values, message):
    topic = broker.topic()
    broker.send(topic, values)
    with pytest.raises(UsageError, match=message):
        look(spark, f"kafka://{broker.servers}/{topic}", {}, {}, tmp_path)
