"""Every exception of the library stands in one tree.

    PenstockError
    ├── SpecificationError  (a ValueError)     a window or a query asks for what cannot be
    ├── SchemaError                            a column, or its type, does not fit
    ├── ArithmeticOverflow  (an OverflowError) an exact result does not fit its type
    ├── StreamFailed                           a stream that was running has failed; has `.trace`
    ├── RecordDamaged                          a record is truncated, changed, or of another version
    └── UsageError                             a call that does not fit the object it is made on

A message is one line: the name, the rule, the value got, and a hint where there is one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST_VALUE = 80


class PenstockError(Exception):
    """Catching this catches everything that the library raises on purpose."""


class SpecificationError(PenstockError, ValueError):
    """A window or a query asks for what cannot be; nothing has been started."""


class SchemaError(PenstockError):
    """A column is missing, or has a type that does not fit."""


class ArithmeticOverflow(PenstockError, OverflowError):
    """An exact result does not fit its type; it is never wrapped around or rounded silently."""


class UsageError(PenstockError):
    """A call does not fit the object it is made on, such as panes of a slide-by-tuple window."""


class RecordDamaged(PenstockError):
    """A plan or another record cannot be trusted: truncated, changed, or of another version."""


class StreamFailed(PenstockError):
    """A stream that was running has failed; `trace` holds the engine's own account of it.

    >>> StreamFailed("query 'bytes' failed in batch 7", trace="java.io.IOException: ...").trace
    'java.io.IOException: ...'
    """

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


def complaint(name: str, rule: str, got: object, hint: str = "") -> str:
    """Every message has the same shape: name, rule, value got, hint.

    >>> complaint("slide", "must be greater than 0", 0, "a window that stands still never ends")
    'slide must be greater than 0, got 0; a window that stands still never ends'
    """
    # A value may be a table or a whole plan: the message stays on one line all the same.
    shown = " ".join(repr(got).split())
    if len(shown) > _LONGEST_VALUE:
        shown = shown[: _LONGEST_VALUE - 3] + "..."
    return f"{name} {rule}, got {shown}" + (f"; {hint}" if hint else "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The hint for an unknown name: the closest known one, or else the list of them all.

    >>> did_you_mean("sped", ["seg_id", "speed", "ts"])
    "did you mean 'speed'?"
    >>> did_you_mean("x", ["seg_id", "speed", "ts"])
    'known: seg_id, speed, ts'
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(names)}" if names else ""
