"""A plot of a few lines of text: a column for a moment, the newest at the end.

5 s ┤
3 s ┤┈┈┈┈┈┈▁█┈┈┈┈   what is above the line is marked
0 s ┤▄▄▅▅▅▆███▆▅▄
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_DOTS = "┈"


@dataclass(frozen=True, slots=True)
class Look:
    """How a plot looks.

    Args:
        width: columns of characters.
        height: lines.
        good: style of what is at most the limit.
        bad: style of what is above it.
    """

    width: int
    height: int
    good: str = "green"
    bad: str = "red"


def squeezed(values: Sequence[float | None], width: int) -> list[float | None]:
    """At most so many values, the greatest of those that share a column: no peak is hidden.

    Args:
        values: oldest first.
        width: how many there may be.

    >>> squeezed([1, 5, 2, None, 3, 4, 0], 4)
    [1, 5, 3, 4]
    """
    each = math.ceil(len(values) / width) if values else 1
    found: list[float | None] = []
    # From the end, so that a column is complete before the next one begins.
    for end in range(len(values), 0, -each):
        some = [one for one in values[max(0, end - each) : end] if one is not None]
        found.append(max(some, default=None))
    return found[::-1]


def top(values: Sequence[float | None], limit: float | None = None) -> float:
    """What the top of a plot stands for: the limit is always seen below it.

    >>> top([1, 2], limit=4), top([])
    (5.0, 1.0)
    """
    some = [one for one in values if one is not None]
    return max([*some, 1.25 * (limit or 0.0)]) or 1.0


def strip(values: Sequence[float | None], look: Look, limit: float | None = None) -> list[Text]:
    """The lines of a plot, from the top.

    Args:
        values: oldest first; None where nobody knows.
        look: its size and styles.
        limit: where a line is drawn, above which values are marked.

    >>> [line.plain for line in strip([1, 2, 4], Look(3, 2), limit=2)]
    ['┈┈█', '▄██']
    """
    shown = squeezed(values, look.width)
    most = top(values, limit)
    lines = []
    for row in range(look.height - 1, -1, -1):
        # The limit is drawn in the line of characters that it falls into.
        at = limit is not None and row == min(int(limit / most * look.height), look.height - 1)
        line = Text(no_wrap=True)
        for value in shown + [None] * (look.width - len(shown)):
            full = 0.0 if value is None else value / most * look.height - row
            eighths = min(8, max(0, round(full * 8)))
            if value is not None and row == 0 and value > 0:
                eighths = max(1, eighths)
            style = look.bad if limit is not None and (value or 0.0) > limit else look.good
            if eighths:
                line.append(_EIGHTHS[eighths], style)
            else:
                line.append(_DOTS if at else " ", "dim" if at else "")
        lines.append(line)
    return lines
