"""The first file for a source: what is guessed of it, and that its own reader takes it."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.network.config import parse_config
from penstock.network.event_times import Column, guessed, looks_like
from penstock.network.starter import FILL_IN, Start, starter, stream_name

TS = Column("ts", "timestamp", "timestamp")


def start(times, **more) -> Start:
    columns = [*times, Column("host", "string"), Column("size", "bigint")]
    given = {"name": "packets", "source": "files", "options": {"path": "in"}, **more}
    return Start("in", columns=columns, times=times, rows=5, **given)


def test_the_file_has_one_query_and_is_run_in_monitor_mode():
    config = parse_config(starter(start([TS]), "packets.toml"))
    assert (config.run.mode, config.latency) == ("monitor", 5_000_000)
    assert config.streams["packets"].event_time == "ts"
    assert "RANGE 1 min SLIDE 1 min WATTR ts" in str(config.outline().queries["per_minute"])


def test_a_number_since_1970_makes_windows_of_numbers():
    config = parse_config(starter(start([Column("at", "bigint", "milliseconds")]), "a.toml"))
    assert config.streams["packets"].slack == 10_000
    assert "RANGE 60000 SLIDE 60000 WATTR at" in str(config.outline().queries["per_minute"])


def test_where_no_column_is_a_time_the_file_says_what_to_fill_in():
    text = starter(start([]), "a.toml")
    assert "No column looks like a time" in text
    assert parse_config(text).streams["packets"].event_time == FILL_IN


def test_other_columns_that_may_be_the_time_are_named():
    assert "may also be made" in starter(start([TS, Column("made", "bigint", "seconds")]), "a.toml")


def test_rows_that_nothing_tells_apart_are_pointed_out():
    assert "# identity = " in starter(start([TS], apart=False), "a.toml")
    assert "# identity = " not in starter(start([TS]), "a.toml")


def test_timestamps_are_likelier_than_text_and_text_than_numbers():
    columns = [
        Column("epoch", "bigint", "seconds"),
        Column("seen", "string", "text"),
        Column("made", "timestamp", "timestamp"),
        Column("event_time", "timestamp", "timestamp"),
        Column("host", "string"),
    ]
    assert [c.name for c in guessed(columns)] == ["event_time", "made", "seen", "epoch"]


def test_numbers_are_times_only_where_the_name_says_so_and_the_size_fits():
    assert looks_like("created_at", "bigint", [1_767_225_600_000_000]) == "microseconds"
    assert looks_like("created_at", "bigint", [1_767_225_600, 5]) is None
    assert looks_like("customer", "bigint", [1_767_225_600]) is None
    assert looks_like("seen", "string", ["2026-01-01 00:00:01.5+01:00", None]) == "text"
    assert looks_like("seen", "string", ["yesterday"]) is None
    assert looks_like("seen", "string", [None]) is None


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1)


@given(topic=NAMES, column=NAMES.filter(str.strip), value=NAMES)
def test_whatever_things_are_called_the_file_can_be_read(topic, column, value):
    time = Column(column, "timestamp", "timestamp")
    found = start([time], name=stream_name(topic), options={"path": value, column: value})
    config = parse_config(starter(found, "a.toml"))
    config.outline()
    (stream,) = config.streams.values()
    assert stream.event_time == column
    assert stream.options[column] == value
