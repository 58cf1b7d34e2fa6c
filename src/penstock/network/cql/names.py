"""How a name is written: plain where it can be, in backquotes where it must be."""

from __future__ import annotations

import re

WINDOW_WORDS = ("RANGE", "LANDMARK", "SLIDE", "WATTR", "RATTR", "SATTR", "PATTR")
"""The words that a part of the window clause begins with."""

RESERVED = ("SELECT", "FROM", "WHERE", "GROUP", "BY", "AS")
"""The words that are a name only in quotes."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED = {*WINDOW_WORDS, *RESERVED, "ROW_NUM"}


def backquoted(name: str) -> str:
    """The name as Spark wants it where it is quoted.

    >>> print(backquoted("seg-id"), backquoted("a`b"))
    `seg-id` `a``b`
    """
    return "`" + name.replace("`", "``") + "`"


def written(name: str) -> str:
    """The name as CQL wants it: quoted only where it must be.

    Args:
        name: a name, or several with dots between them.

    >>> print(written("speed"), written("car.speed"), written("seg-id"), written("range"))
    speed car.speed `seg-id` `range`
    """
    parts = name.split(".")
    if all(_PLAIN.fullmatch(part) and part.upper() not in _QUOTED for part in parts):
        return name
    return backquoted(name)
