"""Numbers as people read them: short, with a unit, and a dash for what nobody knows."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any, TypeGuard

UNKNOWN = "-"
_THOUSAND, _MILLION = 10_000, 1_000_000
_HUNDRED, _TEN, _TENTH, _MINUTE = 100, 10, 0.1, 60


def known(number: float | None) -> TypeGuard[float]:
    """Whether a number says anything: a bound that is infinite does not.

    >>> known(0.0), known(None), known(float("inf"))
    (True, False, False)
    """
    return number is not None and math.isfinite(number)


def count(number: float | None) -> str:
    """A number of rows.

    >>> [count(n) for n in (None, 0, 9_876, 52_100, 3_456_789)]
    ['-', '0', '9,876', '52.1 k', '3.46 M']
    """
    if not known(number):
        return UNKNOWN
    if abs(number) >= _MILLION:
        return f"{number / 1e6:,.2f} M"
    return f"{number / 1e3:.1f} k" if abs(number) >= _THOUSAND else f"{number:,.0f}"


def rate(number: float | None) -> str:
    """Rows in a second.

    >>> rate(52_100), rate(None)
    ('52.1 k/s', '-')
    """
    return UNKNOWN if not known(number) else f"{count(number)}/s"


def seconds(number: float | None) -> str:
    """A length of time.

    >>> [seconds(n) for n in (None, 0.042, 2.61, 3, 42.4, 125)]
    ['-', '42 ms', '2.6 s', '3 s', '42 s', '2 min 5 s']
    """
    if not known(number):
        return UNKNOWN
    if 0 < number < _TENTH:
        return f"{number * 1e3:.0f} ms"
    if number >= _MINUTE:
        whole = round(number)
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{number:.0f} s" if number >= _TEN or number == int(number) else f"{number:.1f} s"


def share(number: float | None) -> str:
    """A part of a whole; what is not nothing, or not all, never looks like it.

    >>> [share(n) for n in (None, 0, 0.0004, 0.031, 0.42, 0.999, 1)]
    ['-', '0 %', '<0.1 %', '3.1 %', '42 %', '99.9 %', '100 %']
    """
    if not known(number):
        return UNKNOWN
    part = number * 100
    if 0 < part < _TENTH:
        return "<0.1 %"
    if _HUNDRED - 1 < part < _HUNDRED:
        return f"{min(part, 99.9):.1f} %"
    return f"{part:.1f} %" if 0 < part < _TEN else f"{part:.0f} %"


def times(number: float | None) -> str:
    """A multiple.

    >>> times(3.149), times(None)
    ('3.1 x', '-')
    """
    return UNKNOWN if not known(number) else f"{number:.1f} x"


def clock(at: float) -> str:
    """A time of day, UTC.

    Args:
        at: seconds since the epoch.

    >>> clock(1_767_225_661.5)
    '00:01:01'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S")


def value(of: Any) -> str:  # noqa: ANN401 - a column of any type
    """A value of an answer.

    >>> value(12_345), value(0.31234), value(1234.5), value("tcp"), value(None)
    ('12,345', '0.3123', '1,234', 'tcp', '-')
    """
    if of is None:
        return UNKNOWN
    if isinstance(of, bool):
        return str(of).lower()
    if isinstance(of, int):
        return f"{of:,}"
    if isinstance(of, float):
        return f"{of:,.0f}" if abs(of) >= _HUNDRED else f"{of:.4g}"
    if isinstance(of, datetime):
        return of.strftime("%H:%M:%S")
    return str(of)
