"""Spark streams as Prometheus' metrics, from Spark's own reports of their batches."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from penstock.view.prometheus import counter, gauge

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_MOST_ENDED = 100
"""Streams that have ended and are still told of: a service may start one after the other."""

_GAUGES = (
    ("input_rows_per_second", "Rows that arrived in a second, before the last batch."),
    ("processed_rows_per_second", "Rows that were worked off in a second, in the last batch."),
    ("batch_seconds", "Time that the last batch took."),
    ("state_rows", "Rows in the state of all operators."),
    ("state_bytes", "Memory that the state takes."),
    ("watermark_lag_seconds", "How far the watermark is behind the clock."),
    ("last_progress_timestamp_seconds", "When the last batch began, since the epoch."),
)


@dataclass(slots=True)
class _Stream:
    active: bool = True
    failed: int = 0
    rows: int = 0
    batches: int = 0
    last: dict[str, float] = field(default_factory=dict)


class Streams:
    """What is known of each stream, by its name, or the beginning of its id if it has none."""

    def __init__(self) -> None:
        self._streams: dict[str, _Stream] = {}
        self._names: dict[str, str] = {}
        self._lock = threading.Lock()  # Spark tells in one thread, Prometheus asks in another

    def started(self, number: str, name: str | None) -> None:
        """A stream has begun, or begun again.

        Args:
            number: its id.
            name: of the query; None if it has none.
        """
        with self._lock:
            self._of(number, name).active = True
            ended = [label for label, one in self._streams.items() if not one.active]
            for label in ended[:-_MOST_ENDED]:
                del self._streams[label]

    def progressed(self, report: Mapping[str, Any]) -> None:
        """A batch has ended.

        Args:
            report: Spark's, as its JSON has it.
        """
        with self._lock:
            stream = self._of(report["id"], report.get("name"))
            stream.active = True
            stream.rows += report.get("numInputRows", 0)
            stream.batches += 1
            stream.last = _values(report)

    def ended(self, number: str, *, failed: bool) -> None:
        """A stream has ended; its rates are no more, its counts stay."""
        with self._lock:
            stream = self._of(number, None)
            stream.active, stream.last = False, {}
            stream.failed += failed
            label = self._names.pop(number)
            self._streams[label] = self._streams.pop(label)  # the last to be forgotten

    def _of(self, number: str, name: str | None) -> _Stream:
        label = self._names.setdefault(number, name or number[:8])
        return self._streams.setdefault(label, _Stream())

    def collect(self) -> Iterator[Metric]:
        """The metrics."""
        active = gauge("stream_active", "1 while the stream runs, 0 when it has ended.", "query")
        failed = counter("stream_failures", "How often the stream has failed.", "query")
        rows = counter("stream_rows", "Rows that its batches brought.", "query")
        batches = counter("stream_batches", "Its batches.", "query")
        gauges = {name: gauge(f"stream_{name}", meaning, "query") for name, meaning in _GAUGES}
        with self._lock:
            for label, stream in self._streams.items():
                active.add_metric([label], stream.active)
                failed.add_metric([label], stream.failed)
                rows.add_metric([label], stream.rows)
                batches.add_metric([label], stream.batches)
                for name, value in stream.last.items():
                    gauges[name].add_metric([label], value)
        yield from (active, failed, rows, batches, *gauges.values())


def _values(report: Mapping[str, Any]) -> dict[str, float]:
    """The gauges of a report; what it does not tell is left out.

    >>> _values({"timestamp": "1970-01-01T00:01:00.000Z", "batchDuration": 1500,
    ...          "eventTime": {"watermark": "1970-01-01T00:00:20.000Z"}})
    {'batch_seconds': 1.5, 'last_progress_timestamp_seconds': 60.0, 'watermark_lag_seconds': 40.0}
    """
    found = {}
    for name, key in (
        ("input_rows_per_second", "inputRowsPerSecond"),
        ("processed_rows_per_second", "processedRowsPerSecond"),
    ):
        if (rate := report.get(key)) is not None:
            found[name] = float(rate)
    if "batchDuration" in report:
        found["batch_seconds"] = report["batchDuration"] / 1000
    if state := report.get("stateOperators"):
        found["state_rows"] = float(sum(one["numRowsTotal"] for one in state))
        found["state_bytes"] = float(sum(one["memoryUsedBytes"] for one in state))
    began = _seconds(report["timestamp"])
    found["last_progress_timestamp_seconds"] = began
    # Before the first row the watermark is at the epoch: then it has no lag yet.
    mark = report.get("eventTime", {}).get("watermark")
    if mark is not None and (at := _seconds(mark)) > 0:
        found["watermark_lag_seconds"] = began - at
    return found


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).astimezone(UTC).timestamp()
