"""The listener tells Prometheus of any Spark stream, through a server or a registry."""

import time
import urllib.request

import pytest
from prometheus_client import CollectorRegistry, generate_latest

import penstock as ps
from tests.view.test_metrics import read


def until(known, seconds=60.0):
    """Spark tells its listeners after the fact, in a thread of its own."""
    end = time.monotonic() + seconds
    while not known():
        assert time.monotonic() < end, "nothing was told"
        time.sleep(0.05)


def test_a_stream_is_published_while_it_runs_and_after_it(spark, tmp_path):
    registry = CollectorRegistry()
    listener = ps.Listener(port=0, registry=registry)
    url, of = listener.url or "", ("query", "listened_to")

    def told():
        with urllib.request.urlopen(url, timeout=10) as reply:  # noqa: S310 - our own
            return read(reply.read())

    spark.streams.addListener(listener)
    try:
        minute_ago = round(1000 * (time.time() - 60))
        made_up = {"rowsPerBatch": 100, "startTimestamp": minute_ago}
        rows = spark.readStream.format("rate-micro-batch").options(**made_up).load()
        counts = rows.withWatermark("timestamp", "1 second").groupBy("timestamp").count()
        writer = counts.writeStream.format("noop").queryName("listened_to").outputMode("update")
        writer = writer.trigger(processingTime="300 milliseconds")
        stream = writer.option("checkpointLocation", str(tmp_path / "c")).start()
        until(lambda: told().get(("penstock_stream_batches_total", *of), 0) >= 2)
        shown = told()
        stream.stop()
        batches = shown["penstock_stream_batches_total", *of]
        assert shown["penstock_stream_rows_total", *of] == 100 * batches
        assert shown["penstock_stream_active", *of] == 1
        assert shown["penstock_stream_processed_rows_per_second", *of] > 0
        assert shown["penstock_stream_batch_seconds", *of] > 0
        assert shown["penstock_stream_state_rows", *of] > 0
        assert 30 < shown["penstock_stream_watermark_lag_seconds", *of] < 600
        assert shown["penstock_stream_last_progress_timestamp_seconds", *of] > time.time() - 600
        until(lambda: told()["penstock_stream_active", *of] == 0)
        assert ("penstock_stream_batch_seconds", *of) not in told()
        assert read(generate_latest(registry)) == told()
    finally:
        spark.streams.removeListener(listener)
        listener.close()
    assert generate_latest(registry) == b""


def test_in_a_registry_alone_it_opens_no_port():
    registry = CollectorRegistry()
    listener = ps.Listener(registry=registry)
    assert listener.url is None
    assert b"penstock_stream_active" in generate_latest(registry)
    listener.close()


def test_other_machines_need_a_token():
    with pytest.raises(ps.PenstockError, match="unless a token is set"):
        ps.Listener(port=0, host="0.0.0.0")  # noqa: S104 - refused


def test_the_port_is_the_one_that_was_asked_for():
    first = ps.Listener()
    assert first.url is not None
    port = int(first.url.rsplit(":", 1)[1].partition("/")[0])
    with pytest.raises(ps.PenstockError, match=f"got {port}"):
        ps.Listener(port)
    first.close()
    second = ps.Listener(port)
    assert second.url == first.url
    second.close()
