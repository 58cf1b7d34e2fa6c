"""A length or a point is read in the unit of its window: microseconds, or plain whole numbers."""

from __future__ import annotations

from typing import Literal

from penstock.errors import SpecificationError, complaint
from penstock.windows.durations import Duration, Instant, parse_duration, parse_instant

DomainUnit = Literal["time", "value"]
"""The unit of a column: "time" for microseconds since the epoch, "value" for whole numbers."""


def length(value: Duration, name: str, unit: DomainUnit) -> int:
    """Reads a RANGE, SLIDE or PERIOD; that it is above 0 is for the specification to say.

    Args:
        value: a duration, or µs as an int; a plain int if `unit` is "value".
        name: what the message calls it.
        unit: the unit of the column.

    >>> length("2 s", "range", "time"), length(2, "range", "value")
    (2000000, 2)
    """
    return parse_duration(value, name, negative=True) if unit == "time" else _plain(value, name)


def point(value: Instant, name: str, unit: DomainUnit) -> int:
    """Reads an origin or a start.

    Args:
        value: an instant, or µs since the epoch as an int; a plain int if `unit` is "value".
        name: what the message calls it.
        unit: the unit of the column.

    >>> point("-2 s", "origin", "time"), point(-2, "origin", "value")
    (-2000000, -2)
    """
    return parse_instant(value, name) if unit == "time" else _plain(value, name)


def _plain(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        hint = "durations go with unit='time'" if isinstance(value, str) else ""
        raise SpecificationError(complaint(name, "must be a whole number", value, hint))
    return value
