"""Durations are read exactly, and refused with a reason."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import SpecificationError
from penstock.windows import format_duration, parse_duration
from penstock.windows.durations import DAY, HOUR, MINUTE, SECOND, parse_instant


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("60 seconds", 60 * SECOND),
        ("5 min", 5 * MINUTE),
        ("1 hour", HOUR),
        ("250 ms", 250_000),
        ("1 day", DAY),
        ("10 s", 10 * SECOND),
        ("10s", 10 * SECOND),
        ("2 minutes 30 seconds", 150 * SECOND),
        ("1h30min", 90 * MINUTE),
        ("6.4 s", 6_400_000),
        ("0.1 s", 100_000),
        ("5 \u00b5s", 5),
        ("5 \u03bcs", 5),
        ("2 Weeks", 14 * DAY),
        ("  7  us ", 7),
        ("0 s", 0),
        (timedelta(minutes=2, microseconds=1), 2 * MINUTE + 1),
        (42, 42),
    ],
)
def test_durations_are_read_to_the_microsecond(text, micros):
    assert parse_duration(text) == micros


@pytest.mark.parametrize(
    ("value", "rule", "hint"),
    [
        ("1 month", "must have a fixed length", "give days"),
        ("2 years", "must have a fixed length", "give days"),
        ("5 m", "known unit of time", "'m' may be minutes or months: write 'min'"),
        ("5 secnds", "known unit of time", "did you mean 'seconds'?"),
        ("60", "must be a duration", "'60 seconds'"),
        ("", "must be a duration", "'60 seconds'"),
        ("soon", "must be a duration", ""),
        ("5 s and more", "must be a duration", ""),
        ("1 s -2 s", "must be a duration", ""),
        (1.5, "must be a duration", ""),
        (None, "must be a duration", ""),
        (True, "must be a duration", ""),
        ("-5 s", "must not be negative", ""),
        (-5, "must not be negative", ""),
        ("0.5 us", "whole number of microseconds", ""),
        ("200000000 days", "must fit in 64 bits", ""),
    ],
)
def test_a_bad_duration_is_refused_by_name_rule_and_value(value, rule, hint):
    with pytest.raises(SpecificationError, match=re.escape(rule)) as refused:
        parse_duration(value, "slack")
    message = str(refused.value)
    assert message.startswith("slack must")
    assert f"got {value!r}" in message
    assert hint in message


def test_a_negative_length_may_be_allowed():
    assert parse_duration("-2 min 30 s", negative=True) == -150 * SECOND


@given(st.integers(-(10**15), 10**15))
def test_what_is_written_is_read_back(micros):
    assert parse_duration(format_duration(micros), negative=True) == micros


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "0 s"),
        (1, "1 us"),
        (1_500, "1.5 ms"),
        (250_000, "250 ms"),
        (6_400_000, "6.4 s"),
        (1_000_001, "1.000001 s"),
        (60 * SECOND, "1 min"),
        (150 * SECOND, "2 min 30 s"),
        (DAY, "1 day"),
        (3 * DAY + HOUR, "3 days 1 h"),
        (-5 * MINUTE, "-5 min"),
    ],
)
def test_durations_are_written_shortly(micros, text):
    assert format_duration(micros) == text


def test_an_instant_needs_a_time_zone():
    assert parse_instant(datetime(1970, 1, 2, tzinfo=UTC)) == DAY
    east = timezone(timedelta(hours=2))
    assert parse_instant(datetime(1970, 1, 1, tzinfo=east)) == -2 * HOUR
    assert parse_instant("-1 h") == -HOUR
    naive = datetime(1970, 1, 2, tzinfo=UTC).replace(tzinfo=None)
    with pytest.raises(SpecificationError, match="origin must have a time zone, got '1970-01-02"):
        parse_instant(naive, "origin")
