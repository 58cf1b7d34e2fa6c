"""A network over a topic: one reading for all queries, and malformed records kept by the run."""

from __future__ import annotations

import json

import penstock as ps
from tests.kafka.test_malformed import BAD, SCHEMA

RECORDS = [
    json.dumps({"ts": f"2024-01-01T00:{i // 60:02}:{i % 60:02}Z", "size": i}).encode()
    for i in range(200)
]


def test_a_network_reads_a_topic_once_and_keeps_what_is_malformed(spark, broker, tmp_path):
    topic = broker.topic()
    broker.send(topic, [*RECORDS[:100], *BAD, *RECORDS[100:]])
    source = ps.sources.kafka(
        broker.servers,
        topic,
        parse=ps.sources.json(SCHEMA),
        starting="earliest",
        most=120,
        malformed=str(tmp_path / "malformed"),
    )
    records = ps.stream(source, "ts", slack="10 seconds", name="records")
    network = ps.Network(
        sizes=records.window("1 minute", every="30 seconds").agg(n=ps.count(), s=ps.sum("size")),
        large=records.where("size >= 100").window("1 minute").agg(n=ps.count()),
    )
    sink = ps.sinks.memory("answers")
    run = network.start(str(tmp_path / "c"), sink=sink, trigger={"availableNow": True})
    run.wait()
    # Also those of the last batch, of which nothing was asked.
    kept = spark.read.parquet(str(tmp_path / "malformed")).collect()
    assert sorted(row["reason"] for row in kept) == sorted(BAD.values())
    (known,) = run.statistics().parts
    (part,) = run.parts
    assert sum(batch["numInputRows"] for batch in part.run.progress) == len(RECORDS) + len(BAD)
    assert known.streams["records"].backlog is not None

    # The same queries over the same records as a table.
    table = ps.sources.kafka(
        broker.servers, topic, parse=ps.sources.json(SCHEMA), batch=True
    ).dataframe(spark)
    exact = ps.stream(table, "ts", name="records")
    wanted = exact.window("1 minute", every="30 seconds").agg(n=ps.count(), s=ps.sum("size"))
    all_windows = {tuple(r) for r in wanted.dataframe().collect()}
    answers = sink.table(spark).where("query = 'sizes'")
    found = [tuple(r) for r in answers.select("window_start", "window_end", "n", "s").collect()]
    assert found
    assert set(found) <= all_windows
    assert len(set(found)) == len(found)
