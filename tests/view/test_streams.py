"""What Spark's reports of its streams become, and how long it is remembered."""

from typing import Any

from penstock.view import prometheus
from penstock.view.streams import Streams
from tests.view.test_metrics import read

REPORT: dict[str, Any] = {
    "id": "11111111-aaaa",
    "name": None,
    "timestamp": "2026-01-01T00:01:00.000Z",
    "numInputRows": 100,
    "batchDuration": 1500,
    "inputRowsPerSecond": 50.0,
    "processedRowsPerSecond": 66.6,
    "eventTime": {"watermark": "2026-01-01T00:00:20.000Z"},
    "stateOperators": [
        {"numRowsTotal": 7, "memoryUsedBytes": 1000},
        {"numRowsTotal": 3, "memoryUsedBytes": 500},
    ],
}


def told(streams: Streams) -> dict[tuple[str, ...], float]:
    return read(prometheus.text(streams.collect))


def test_a_report_is_told_and_counts_add_up():
    streams = Streams()
    streams.started("11111111-aaaa", None)
    streams.progressed(REPORT)
    streams.progressed(REPORT)
    shown, of = told(streams), ("query", "11111111")
    assert shown["penstock_stream_rows_total", *of] == 200
    assert shown["penstock_stream_batches_total", *of] == 2
    assert shown["penstock_stream_input_rows_per_second", *of] == 50
    assert shown["penstock_stream_processed_rows_per_second", *of] == 66.6
    assert shown["penstock_stream_batch_seconds", *of] == 1.5
    assert shown["penstock_stream_state_rows", *of] == 10
    assert shown["penstock_stream_state_bytes", *of] == 1500
    assert shown["penstock_stream_watermark_lag_seconds", *of] == 40


def test_before_the_first_row_the_watermark_has_no_lag():
    streams = Streams()
    streams.progressed(REPORT | {"eventTime": {"watermark": "1970-01-01T00:00:00.000Z"}})
    assert ("penstock_stream_watermark_lag_seconds", "query", "11111111") not in told(streams)


def test_a_stream_that_has_ended_has_counts_but_no_rates():
    streams = Streams()
    streams.progressed(REPORT | {"name": "q"})
    streams.ended("11111111-aaaa", failed=True)
    shown = told(streams)
    assert shown["penstock_stream_active", "query", "q"] == 0
    assert shown["penstock_stream_failures_total", "query", "q"] == 1
    assert shown["penstock_stream_rows_total", "query", "q"] == 100
    assert ("penstock_stream_input_rows_per_second", "query", "q") not in shown
    streams.started("11111111-aaaa", "q")  # again, from its checkpoint
    streams.progressed(REPORT | {"name": "q"})
    shown = told(streams)
    assert shown["penstock_stream_active", "query", "q"] == 1
    assert shown["penstock_stream_rows_total", "query", "q"] == 200


def test_of_many_that_have_ended_the_last_hundred_are_remembered():
    streams = Streams()
    streams.started("a-long-runner", "runs on")
    for number in range(150):
        streams.started(f"{number:08}-x", None)
        streams.ended(f"{number:08}-x", failed=False)
    streams.started("last", "last")
    active = {key[2] for key in told(streams) if key[0] == "penstock_stream_active"}
    assert active == {"runs on", "last", *(f"{number:08}" for number in range(50, 150))}
