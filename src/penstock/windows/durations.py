"""All time is in whole microseconds: since the epoch for an instant, plain for a length."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from penstock.errors import SpecificationError, complaint, did_you_mean

Duration = int | str | timedelta
"""A length of time: microseconds, a text such as "2 minutes 30 seconds", or a timedelta."""

Instant = int | str | timedelta | datetime
"""A point in time: a `datetime` with a time zone, or a `Duration` since the epoch."""

MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST = 2**63 - 1  # an engine holds it in 64 bits

_SPELLINGS = {
    1: ("us", "\u00b5s", "\u03bcs", "microsecond", "microseconds"),
    MILLISECOND: ("ms", "millis", "millisecond", "milliseconds"),
    SECOND: ("s", "sec", "secs", "second", "seconds"),
    MINUTE: ("min", "mins", "minute", "minutes"),
    HOUR: ("h", "hr", "hrs", "hour", "hours"),
    DAY: ("d", "day", "days"),
    7 * DAY: ("week", "weeks"),
}
_UNITS = {word: micros for micros, words in _SPELLINGS.items() for word in words}
_NO_FIXED_LENGTH = {"mon", "month", "months", "year", "years", "y", "quarter", "quarters"}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([^\W\d_]+)")
_EXAMPLE = "write it as '60 seconds', '250 ms' or '2 minutes 30 seconds'"


def parse_duration(value: Duration, name: str = "duration", *, negative: bool = False) -> int:
    """Returns the length in microseconds, exactly, or refuses it by `name`.

    Args:
        value: text with units, microseconds as an int, or a timedelta.
        name: what the message calls it.
        negative: whether a length below zero is allowed.

    >>> parse_duration("2 minutes 30 seconds"), parse_duration("6.4 s"), parse_duration(250)
    (150000000, 6400000, 250)
    >>> parse_duration("1 month", "range")
    Traceback (most recent call last):
    penstock.errors.SpecificationError: range must have a fixed length, got '1 month'; give days
    """
    match value:
        case bool():
            raise SpecificationError(complaint(name, "must be a duration", value, _EXAMPLE))
        case int():
            micros = value
        case timedelta():
            micros = value // timedelta(microseconds=1)
        case str():
            micros = _parse_text(value, name)
        case _:
            raise SpecificationError(complaint(name, "must be a duration", value, _EXAMPLE))
    if micros < 0 and not negative:
        raise SpecificationError(complaint(name, "must not be negative", value))
    if abs(micros) > _LONGEST:
        raise SpecificationError(complaint(name, "must fit in 64 bits of microseconds", value))
    return micros


def parse_instant(value: Instant, name: str = "instant") -> int:
    """Returns the microseconds since the epoch; a time of day without a zone is refused.

    Args:
        value: a datetime with a time zone, or a duration since the epoch (may be negative).
        name: what the message calls it.

    >>> parse_instant(datetime(1970, 1, 1, 0, 1, tzinfo=UTC)), parse_instant("-5 s")
    (60000000, -5000000)
    """
    if not isinstance(value, datetime):
        return parse_duration(value, name, negative=True)
    if value.utcoffset() is None:
        raise SpecificationError(
            complaint(name, "must have a time zone", value.isoformat(), "add tzinfo=UTC")
        )
    return (value - _EPOCH) // timedelta(microseconds=1)


def format_duration(micros: int) -> str:
    """Writes a length shortly, so that `parse_duration` reads back the same length.

    Args:
        micros: the length in microseconds; may be negative.

    >>> [format_duration(m) for m in (60_000_000, 6_400_000, 250_000, 90_061_000_000, 0)]
    ['1 min', '6.4 s', '250 ms', '1 day 1 h 1 min 1 s', '0 s']
    """
    if micros < 0:
        return "-" + format_duration(-micros)
    if 0 < micros < MILLISECOND:
        return f"{micros} us"
    if 0 < micros < SECOND:
        return _decimal(micros, MILLISECOND) + " ms"
    days, rest = divmod(micros, DAY)
    hours, rest = divmod(rest, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    parts = [f"{days} day{'s' if days > 1 else ''}"] if days else []
    parts += [f"{hours} h"] if hours else []
    parts += [f"{minutes} min"] if minutes else []
    parts += [_decimal(rest, SECOND) + " s"] if rest or not parts else []
    return " ".join(parts)


def _parse_text(text: str, name: str) -> int:
    body = text.strip().lower()
    sign = -1 if body.startswith("-") else 1
    body = body.removeprefix("-").strip()
    total, at = Fraction(0), 0
    while part := _PART.match(body, at):
        # Fractions, for 0.1 s is exactly 100,000 µs and floats would not say so.
        total += Fraction(part[1]) * _unit(part[2], text, name)
        at = part.end()
    if at == 0 or body[at:].strip():
        raise SpecificationError(complaint(name, "must be a duration", text, _EXAMPLE))
    if total.denominator != 1:
        raise SpecificationError(
            complaint(
                name, "must be a whole number of microseconds", text, "there is no finer time"
            )
        )
    return sign * int(total)


def _unit(word: str, text: str, name: str) -> int:
    if word in _NO_FIXED_LENGTH:
        raise SpecificationError(complaint(name, "must have a fixed length", text, "give days"))
    if word not in _UNITS:
        ambiguous = "'m' may be minutes or months: write 'min'"
        hint = ambiguous if word == "m" else did_you_mean(word, _UNITS)
        raise SpecificationError(complaint(name, "must be in a known unit of time", text, hint))
    return _UNITS[word]


def _decimal(micros: int, unit: int) -> str:
    whole, rest = divmod(micros, unit)
    digits = str(unit + rest)[1:].rstrip("0")  # the leading 1 of the unit keeps inner zeros
    return f"{whole}.{digits}" if digits else str(whole)
