"""Gaps of a run over a topic are filled from the topic, while it has the records."""

from __future__ import annotations

import json
import time

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

import penstock as ps
from penstock.engine.stored import Tables
from penstock.sources.kafka import AHEAD
from penstock.sources.kafka_log import held_by
from penstock.sources.retention import complete_since

SCHEMA = "ts timestamp, size bigint"
FUTURE = "2099-01-01T00"
"""Events that are ahead of their records: Kafka cannot be asked for them by their time."""


def records(hour: str) -> list[bytes]:
    return [
        json.dumps({"ts": f"{hour}:{i // 60:02}:{i % 60:02}Z", "size": i}).encode()
        for i in range(200)
    ]


def test_gaps_are_filled_from_the_topic(spark, broker, tmp_path):
    topic = broker.topic()
    broker.send(topic, records(FUTURE))
    source = ps.sources.kafka(
        broker.servers, topic, parse=ps.sources.json(SCHEMA), starting="earliest", most=50
    )
    sizes = ps.stream(source, "ts", slack="10 s", name="records").window("10 s")
    network = ps.Network(sizes=sizes.agg(n=ps.count(), s=ps.sum("size")).subset(2))
    answers, checkpoint = ps.sinks.memory("sizes"), str(tmp_path / "checkpoint")
    run = network.start(
        checkpoint, sinks={"sizes": answers}, drop=0.8, trigger={"availableNow": True}
    )
    run.wait()
    fates = {row["window_end"]: row["fate"] for row in run.ledger().collect()}
    missing = {end for end, fate in fates.items() if fate in ("dropped", "revoked")}
    assert missing
    done = network.backfill(checkpoint, sinks={"sizes": answers})
    assert done.count == len(missing)
    (kept,) = done.to_json()["kept_until"].values()
    assert kept.startswith("2099-01-08")  # the broker keeps records for a week
    found = {r["window_end"]: (r["n"], r["s"]) for r in answers.table(spark).collect()}
    table = ps.stream(source.whole().dataframe(spark), "ts").window("10 s")
    exact = table.agg(n=ps.count(), s=ps.sum("size")).dataframe().collect()
    wanted = {row["window_end"]: (row["n"], row["s"]) for row in exact}
    assert {end: found[end] for end in fates} == {end: wanted[end] for end in fates}

    # A stretch of the past is read from the records that Kafka got since.
    other = broker.topic()
    broker.send(other, records("2024-01-01T00"))
    old = ps.sources.kafka(broker.servers, other, parse=ps.sources.json(SCHEMA))
    (stream,) = ps.Network(n=ps.stream(old, "ts").window("10 s").agg(n=ps.count())).graph.sources
    past = 1_704_067_200 * 1_000_000
    tables = Tables()
    rows = tables.rows(stream, [(past + 10_000_000, past + 20_000_000), (past, past + 5_000_000)])
    assert sorted(r["size"] for r in rows.collect()) == [*range(5), *range(10, 20)]
    assert tables.missed() == []

    # What is deleted is known: here the first 30 records of partition 0.
    now = time.time_ns() // 1000
    held = held_by(source, spark)
    assert [(one.partition, one.earliest) for one in held] == [(0, 0), (1, 0)]
    assert all(now - 600_000_000 < (one.oldest or 0) < now for one in held)
    assert {one.retention for one in held} == {7 * 86_400 * 1_000_000}
    assert complete_since(held, ahead=AHEAD, now=now) is None
    admin = AdminClient({"bootstrap.servers": broker.servers, "log_level": 0})
    for future in admin.delete_records([TopicPartition(topic, 0, 30)]).values():
        future.result(30)
    held = held_by(source, spark)
    assert [(one.partition, one.earliest) for one in held] == [(0, 30), (1, 0)]
    assert complete_since(held, ahead=AHEAD, now=now) == (held[0].oldest or 0) + AHEAD
