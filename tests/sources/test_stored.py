"""Sources that can be read again: as a table that has all rows of a stretch of time."""

import pytest

import penstock as ps
from penstock.sources.kafka import AHEAD
from penstock.sources.retention import Held, complete_since, kept_until
from penstock.sources.source import Stored

SECOND = 1_000_000


def test_kafka_is_asked_for_records_from_an_hour_before():
    source = ps.sources.kafka("db:9092", "packets", most=100, options={"kafka.fetch.min.bytes": 1})
    settings = source.stored(5 * AHEAD, 6 * AHEAD).settings()
    assert settings["startingTimestamp"] == str(4 * AHEAD // 1000)
    # A partition without such records has none to give, and is not an error.
    assert settings["startingOffsetsByTimestampStrategy"] == "latest"
    assert settings["endingOffsets"] == "latest"
    assert settings["kafka.fetch.min.bytes"] == "1"
    assert "maxOffsetsPerTrigger" not in settings
    assert source.stored(0, 1).settings()["startingTimestamp"] == "0"
    assert "startingTimestamp" not in source.whole().settings()
    assert source.whole().settings()["startingOffsets"] == "earliest"


def test_packets_are_made_again_up_to_the_end_of_the_stretch():
    endless = ps.sources.packets(50, begin="100 s")
    made = endless.stored(110 * SECOND, 120 * SECOND)
    assert (made.batch, made.traffic.slots) == (True, 160)  # eighths of a second
    table, _ = made.traffic.table(0, 160)
    assert table == endless.traffic.table(0, 160)[0]
    short = ps.sources.packets(50, begin="100 s", length="5 s")
    assert short.stored(0, 120 * SECOND).traffic.slots == 40
    assert short.stored(0, 10 * SECOND).traffic.slots == 0


def test_files_and_recordings_are_read_as_tables_and_a_rate_is_not_kept():
    for source in (ps.sources.files("in"), ps.sources.replay([{"ts": 1.0}])):
        assert isinstance(source, Stored)
        assert source.stored(0, 1).batch
    assert not isinstance(ps.sources.rate(1), Stored)


@pytest.mark.parametrize(
    ("held", "since"),
    [
        ([], None),
        ([Held("t", 0, 0, 50), Held("t", 1, 0, None)], None),
        ([Held("t", 0, 3, 50), Held("t", 1, 4, 70), Held("t", 2, 0, 99)], 75),
        ([Held("t", 0, 3, None)], 105),  # all that it had is deleted, however young
    ],
)
def test_from_when_on_no_record_is_deleted(held, since):
    assert complete_since(held, ahead=5, now=100) == since


def test_records_are_kept_as_long_as_the_topic_that_keeps_them_shortest():
    held = [Held("t", 0, 0, 5, 100), Held("u", 0, 0, 5, 70), Held("v", 0, 0, 5)]
    assert kept_until(held, 10) == 80
    assert kept_until(held[2:], 10) is None
