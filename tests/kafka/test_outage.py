"""A broker that goes away and comes back: the stream waits, and no record is lost or doubled."""

from __future__ import annotations

import time

import penstock as ps

PATIENCE = 180


def wait_for(what, condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"no {what} in {PATIENCE} s"
        time.sleep(0.1)


def test_a_stream_outlives_its_broker(spark, broker, tmp_path):
    topic = broker.topic()
    source = ps.sources.kafka(broker.servers, topic, starting="earliest")
    sink = ps.sinks.parquet(str(tmp_path / "out"))
    writer = source.dataframe(spark).selectExpr("cast(value AS string) AS v").writeStream
    writer = writer.foreachBatch(sink.write).option("checkpointLocation", str(tmp_path / "at"))
    broker.send(topic, [f"before {i}".encode() for i in range(50)])
    query = writer.trigger(processingTime="200 milliseconds").start()

    def read() -> int:
        assert query.exception() is None, query.exception()
        return sum(progress["numInputRows"] for progress in query.recentProgress)

    try:
        wait_for("records", lambda: read() == 50)
        broker.kill()
        time.sleep(3)
        assert query.isActive
        broker.start()
        broker.send(topic, [f"after {i}".encode() for i in range(50)])
        wait_for("records after the outage", lambda: read() == 100)
    finally:
        query.stop()
        broker.start()
    found = [row["v"] for row in spark.read.parquet(str(tmp_path / "out")).collect()]
    assert sorted(found) == sorted(f"{w} {i}" for w in ("before", "after") for i in range(50))
