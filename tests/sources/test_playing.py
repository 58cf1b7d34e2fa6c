"""Recordings as streams of Spark, by a clock that the test moves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

import penstock as ps
from penstock.errors import UsageError

BEGIN = datetime(2000, 1, 1, tzinfo=UTC)
# Rows come back to Python without their zone, which is UTC.
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC).replace(tzinfo=None)


class Clock:
    """A clock in a file: it is read in another process."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "clock"
        self.set(0)

    def set(self, seconds: float) -> None:
        noon = int(NOON.replace(tzinfo=UTC).timestamp() * 1e6)
        # Renamed into place: a reader sees the old time or the new.
        fresh = self.path.with_suffix(".new")
        fresh.write_text(str(noon + round(seconds * 1e6)))
        fresh.rename(self.path)

    def reader(self):
        # A lambda goes to other processes with its code, which need not find this module.
        path = str(self.path)
        return lambda: int(open(path).read())  # noqa: PTH123


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path)


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "trace.txt"
    path.write_text("".join(f"{i / 2} {100 + i}\n" for i in range(20)))
    return str(path)


def step(frame, sink, checkpoint):
    """Lets a stream take what is due, and stops it."""
    writer = frame.writeStream.foreachBatch(sink.write).option("checkpointLocation", checkpoint)
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return query


def test_rows_come_when_they_are_due_and_a_restart_goes_on(spark, trace, tmp_path, clock):
    source = ps.sources.replay(trace, speed=2.0, clock=clock.reader())
    sink, checkpoint = ps.sinks.memory("rows"), str(tmp_path / "checkpoint")
    step(source.dataframe(spark), sink, checkpoint)
    assert sink.table(spark).select("size", "scheduled").collect() == [(100, NOON)]
    # A stop is a pause: a row is as far behind the one before it as it was recorded.
    clock.set(3600)
    frame = source.dataframe(spark)
    writer = frame.writeStream.foreachBatch(sink.write).option("checkpointLocation", checkpoint)
    query = writer.trigger(processingTime="50 milliseconds").start()
    try:
        query.processAllAvailable()
        assert sink.rows == 1
        clock.set(3601.1)
        query.processAllAvailable()
        assert [p for p in query.recentProgress if p["sources"][0]["latestOffset"]]
    finally:
        query.stop()
    rows = sink.table(spark).orderBy("trace_row").collect()
    assert [row["size"] for row in rows] == list(range(100, 105))
    resumed = NOON + timedelta(seconds=3600)
    waits = [row["scheduled"] - resumed for row in rows[1:]]
    assert waits == [timedelta(seconds=i / 4) for i in range(1, 5)]
    assert [row["ts"] for row in rows] == [
        BEGIN.replace(tzinfo=None) + timedelta(seconds=i / 2) for i in range(5)
    ]


def test_all_at_once_in_batches_of_bounded_size(spark, trace, tmp_path, clock):
    source = ps.sources.replay(trace, speed=None, most=8, partitions=3, clock=clock.reader())
    sink = ps.sinks.memory("rows")
    step(source.dataframe(spark), sink, str(tmp_path / "checkpoint"))
    rows = sink.table(spark).orderBy("trace_row").collect()
    assert [row["size"] for row in rows] == list(range(100, 120))
    assert [row["batch"] for row in rows] == [0] * 8 + [1] * 8 + [2] * 4
    assert {row["scheduled"] for row in rows} == {NOON}


def test_a_batch_that_is_repeated_has_the_same_rows(spark, trace, tmp_path, clock):
    source = ps.sources.replay(trace, clock=clock.reader())
    checkpoint, seen = str(tmp_path / "checkpoint"), []

    def fail_once(batch, number):
        seen.append((number, sorted(map(tuple, batch.collect()))))
        if len(seen) == 1:
            raise RuntimeError("a failure after the work")

    def start():
        writer = source.dataframe(spark).writeStream.foreachBatch(fail_once)
        writer = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True)
        writer.start().awaitTermination()

    with pytest.raises(StreamingQueryException, match="a failure after the work"):
        start()
    clock.set(2)
    start()
    assert seen[0] == seen[1]
    assert len(seen[0][1]) == 1


def test_a_table_has_all_rows_and_no_schedule(spark, trace):
    source = ps.sources.replay(trace, batch=True)
    rows = source.dataframe(spark)
    assert not rows.isStreaming
    assert rows.schema.simpleString() == (
        "struct<ts:timestamp,size:bigint,trace_row:bigint,scheduled:timestamp>"
    )
    assert rows.where("scheduled is null").count() == 20
    assert rows.select(*source.identity).distinct().count() == 20


def test_rows_in_memory(spark):
    rows = [{"ts": BEGIN + timedelta(seconds=s), "v": s} for s in (3, 1, 2)]
    source = ps.sources.replay(rows, batch=True)
    played = source.dataframe(spark)
    assert played.orderBy("trace_row").select("v").collect() == [(1,), (2,), (3,)]
    again = ps.sources.replay(played.select("ts", "v"), batch=True).trace.rows()
    assert again["v"].to_pylist() == [1, 2, 3]
    assert source.describe() == "replay of rows in memory, as a table"


def test_a_trace_that_is_gone_is_one_line(spark):
    with pytest.raises(
        UsageError, match=r"replay of gone\.csv, at 1 times its pace must be readable"
    ):
        ps.sources.replay("gone.csv").dataframe(spark)


def test_packets_as_a_stream_are_those_of_the_table(spark, tmp_path, clock):
    same: dict[str, Any] = {"rate": 300, "seed": 3, "length": "20 s", "bursts": [(5, 5, 3)]}
    table = ps.sources.packets(**same, batch=True)
    stream = ps.sources.packets(**same, speed=10.0, most=2_000, clock=clock.reader())
    frame = stream.dataframe(spark)
    assert frame.columns[:7] == [
        *("ts", "src_host", "dst_host", "protocol", "src_port", "dst_port", "size")
    ]
    sink = ps.sinks.memory("packets")
    writer = frame.writeStream.foreachBatch(sink.write)
    query = writer.option("checkpointLocation", str(tmp_path / "c")).start()
    try:
        for seconds in (0, 0.5, 0.52, 2.5):
            clock.set(seconds)
            query.processAllAvailable()
    finally:
        query.stop()
    found = sink.table(spark)
    columns = [*frame.columns[:8]]
    rows = sorted(map(tuple, found.select(columns).collect()))
    assert rows == sorted(map(tuple, table.dataframe(spark).select(columns).collect()))
    assert len(rows) > 5_000
    assert max(row["count"] for row in found.groupBy("batch").count().collect()) <= 2_000
    # Ten times the pace: a packet is due a tenth of its time after the start.
    begin = BEGIN.replace(tzinfo=None)
    for row in found.limit(50).collect():
        due = (row["scheduled"] - NOON).total_seconds()
        assert due == pytest.approx((row["ts"] - begin).total_seconds() / 10, abs=1e-6)
