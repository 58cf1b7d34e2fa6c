"""Records that are no JSON, or the wrong one: marked, counted, kept, and never the end."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import functions as F

import penstock as ps

SCHEMA = "ts timestamp, size bigint"
GOOD = [json.dumps({"ts": "2024-01-01T00:00:01Z", "size": i}).encode() for i in range(10)]
BAD: dict[bytes | None, str] = {
    b"not json": "is not JSON",
    b'{"ts": "2024-01-01T00:00:01Z", "size": ': "is not JSON",
    b'{"ts": "2024-01-01T00:00:01Z", "size": "many"}': "does not fit the schema",
    b'{"ts": "yesterday", "size": 1}': "does not fit the schema",
    b"[1, 2]": "does not fit the schema",
    b"\xff\xfe\x00{": "is not JSON",
    b"": "is not JSON",
    None: "the record has no value",
}


def source(broker, topic, **more):
    parse = ps.sources.json(SCHEMA)
    return ps.sources.kafka(broker.servers, topic, parse=parse, **more)


def run(frame, checkpoint):
    """Runs a stream to its present end; what its batches reported."""
    totals = ps.sinks.memory("totals")
    writer = frame.groupBy().agg(F.sum("size").alias("s"), F.count("ts").alias("n")).writeStream
    writer = writer.outputMode("complete").foreachBatch(totals.write)
    query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    query.awaitTermination()
    return [json.loads(p.json) for p in query.recentProgress], totals


@pytest.fixture
def topic(broker):
    name = broker.topic()
    broker.send(name, [*GOOD[:5], *BAD, *GOOD[5:]])
    return name


def test_each_has_its_reason_and_its_bytes_and_no_columns(spark, broker, topic):
    rows = source(broker, topic, batch=True).dataframe(spark)
    found = ps.sources.bad(rows).collect()
    values = [row["kafka_value"] for row in found]
    values = [None if value is None else bytes(value) for value in values]
    kept = dict(zip(values, [row["malformed"] for row in found], strict=True))
    assert kept == BAD
    assert {(row["ts"], row["size"]) for row in found} == {(None, None)}
    assert ps.sources.good(rows).agg(F.sum("size")).collect() == [(sum(range(10)),)]
    assert "malformed" not in ps.sources.good(rows).columns


def test_a_stream_goes_on_and_counts_them_as_rows_without_a_time(spark, broker, topic, tmp_path):
    broker.send(topic, [b'{"ts": "2024-01-02T00:00:00Z"}'])  # closes the window of the others
    frame = source(broker, topic, starting="earliest").dataframe(spark)
    query = ps.stream(frame, "ts").window("10 s").agg(n=ps.count())
    sink = ps.sinks.memory()
    started = query.start(str(tmp_path), foreach_batch=sink.write, trigger={"availableNow": True})
    started.wait()
    assert sum(map(ps.sources.malformed_in, started.progress)) == len(BAD)
    assert started.accounts["no_time"] == len(BAD)
    assert sink.table(spark).select("n").collect() == [(10,)]


def test_a_users_parse_step_may_say_why(spark, broker, topic):
    def parse(raw):
        size = F.get_json_object(raw["value"].cast("string"), "$.size").try_cast("long")
        return [size.alias("size"), F.when(size.isNull(), "no size").alias("malformed")]

    rows = ps.sources.kafka(broker.servers, topic, parse=parse, batch=True).dataframe(spark)
    assert ps.sources.bad(rows).select("malformed").distinct().collect() == [("no size",)]


class TestAside:
    def kept(self, aside):
        """(partition, offset) of what was kept, in order, and the reasons by value."""
        rows = aside.rows().collect()
        places = sorted((row["partition"], row["offset"]) for row in rows)
        return places, [row["reason"] for row in rows]

    def malformed(self, spark, broker, topic):
        rows = ps.sources.bad(source(broker, topic, batch=True).dataframe(spark))
        return sorted(map(tuple, rows.select("kafka_partition", "kafka_offset").collect()))

    def test_each_is_kept_once_with_the_reason(self, spark, broker, topic, tmp_path):
        folder = str(tmp_path / "aside")
        of = source(broker, topic, starting="earliest", most=4, malformed=folder)
        progress, _ = run(of.dataframe(spark), str(tmp_path / "checkpoint"))
        aside = ps.sources.Aside(of, spark)
        looked = [aside.after(report) for report in progress]
        assert looked == [ps.sources.malformed_in(report) > 0 for report in progress]
        assert False in looked, "batches without malformed records are not read again"
        places, reasons = self.kept(aside)
        assert places == self.malformed(spark, broker, topic)
        assert sorted(reasons) == sorted(BAD.values())
        assert aside.rows().columns == [
            *("topic", "partition", "offset", "timestamp", "key", "value", "reason", "batch")
        ]

    def test_a_report_that_comes_again_changes_nothing(self, spark, broker, topic, tmp_path):
        of = source(broker, topic, starting="earliest", malformed=str(tmp_path / "aside"))
        progress, _ = run(of.dataframe(spark), str(tmp_path / "checkpoint"))
        for _ in range(2):
            aside = ps.sources.Aside(of, spark)
            for report in progress:
                aside.after(report)
        assert len(self.kept(aside)[0]) == len(BAD)

    def test_after_a_crash_the_gap_is_looked_through(self, spark, broker, topic, tmp_path):
        folder = str(tmp_path / "aside")
        of = source(broker, topic, starting="earliest", most=4, malformed=folder)
        progress, _ = run(of.dataframe(spark), str(tmp_path / "checkpoint"))
        assert len(progress) > 4
        first, *_, last = [r for r in progress if r["numInputRows"]]
        ps.sources.Aside(of, spark).after(first)
        aside = ps.sources.Aside(of, spark)  # the reports in between were never seen
        assert aside.after(last)
        assert self.kept(aside)[0] == self.malformed(spark, broker, topic)

    def test_a_failure_is_made_up_for(self, spark, broker, topic, tmp_path, monkeypatch):
        of = source(
            *(broker, topic),
            options={"startingOffsets": "earliest", "maxOffsetsPerTrigger": 8},
            malformed=str(tmp_path / "aside"),
        )
        first, second, *_ = run(of.dataframe(spark), str(tmp_path / "checkpoint"))[0]
        aside = ps.sources.Aside(of, spark)
        with monkeypatch.context() as broken:
            broken.setattr(aside, "_spark", None)
            with pytest.raises(AttributeError):
                aside.after(first)
        assert aside.after(second)
        found = self.malformed(spark, broker, topic)
        assert self.kept(aside)[0] == [
            place
            for place in found
            if place[1] < second["sources"][0]["endOffset"][topic][str(place[0])]
        ]

    def test_a_stream_that_began_with_the_latest(self, spark, broker, topic, tmp_path):
        of = source(broker, topic, malformed=str(tmp_path / "aside"))
        frame, checkpoint = of.dataframe(spark), str(tmp_path / "checkpoint")
        run(frame, checkpoint)  # it begins here
        broker.send(topic, [GOOD[0], b"new and bad", GOOD[1]])
        progress, _ = run(frame, checkpoint)
        aside = ps.sources.Aside(of, spark)
        for report in progress:
            aside.after(report)
        assert [bytes(row["value"]) for row in aside.rows().collect()] == [b"new and bad"]
