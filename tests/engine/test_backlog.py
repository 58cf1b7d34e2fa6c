"""The rows that wait follow from the offsets that Spark reports, where they can be counted."""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps
from penstock.bench.feed import BLOCK, PUBLISHERS, Feed
from penstock.engine.backlog import backlog
from penstock.network.operators import Handle, Source


def told(read: Any, newest: Any, origin: object = None) -> dict[str, float]:
    of = Handle(origin) if origin is not None else None
    source = Source("s", "ts", 0, "generous", None, (), (), Handle(None), of)
    return backlog({"sources": [{"endOffset": read, "latestOffset": newest}]}, [source])


def test_records_of_kafka_are_counted_by_partition():
    read, newest = {"t": {"0": 5, "1": 7}}, {"t": {"0": 9, "1": 7, "2": 3}, "u": {"0": 1}}
    assert told(read, newest) == {"s": 4 + 3 + 1}


def test_rows_of_a_recording_are_counted_by_step():
    recording = ps.sources.replay([{"ts": 0, "v": 1}], speed=None)
    assert told({"step": 3, "began": 0}, {"step": 10, "began": 0}, recording) == {"s": 7}


def test_seconds_of_a_rate_are_rows():
    assert told(3, 7, ps.sources.rate(50)) == {"s": 200}


def test_a_source_of_several_parts_has_offsets_of_each():
    feed = Feed(100 * PUBLISHERS * BLOCK, ramp=0)
    source = Source("s", "ts", 0, "generous", None, (), (), Handle(None), Handle(feed))
    parts = [{"endOffset": 2, "latestOffset": 2 + n} for n in range(PUBLISHERS)]
    assert backlog({"sources": parts}, [source]) == {"s": 100 * BLOCK * sum(range(PUBLISHERS))}


@pytest.mark.parametrize(
    ("read", "newest"),
    [({"t": {"0": 5}}, None), (3, 7), ({"logOffset": 3}, {"logOffset": 7})],
)
def test_of_other_offsets_nothing_is_said(read, newest):
    assert told(read, newest) == {}
