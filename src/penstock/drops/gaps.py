"""The gaps of a ledger, and the stretches of time whose rows fill them.

windows of a query     |---o---|
                           |---x---|            x: missing
                               |---x---|
                                   |---o---|
their stretch              [-----------)        only these rows are read again
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from penstock.drops.ledger import Fate

Span = tuple[int, int]
"""From a time to before another, in microseconds."""

MISSING = frozenset({Fate.DROPPED, Fate.REVOKED, Fate.SKIPPED, Fate.LOST})
"""What became of windows that had rows, perhaps, and no answer."""

_FAR = 1 << 62


def gaps(
    entries: Iterable[Mapping[str, Any]], *, since: int | None = None, until: int | None = None
) -> dict[str, list[Span]]:
    """Query → its windows that are missing, oldest first, each once.

    Args:
        entries: of a ledger, as plain values.
        since: only windows that end after this time, in microseconds.
        until: only windows that end by this time, in microseconds.

    >>> entry = {"query": "n", "window_start": 0, "window_end": 10, "fate": "dropped"}
    >>> gaps([entry, {**entry, "window_start": 10, "window_end": 20, "fate": "empty"}])
    {'n': [(0, 10)]}
    """
    low, high = -_FAR if since is None else since, _FAR if until is None else until
    found: dict[str, set[Span]] = {}
    for entry in entries:
        end = entry["window_end"]
        if entry["fate"] in MISSING and low < end <= high:
            found.setdefault(entry["query"], set()).add((entry["window_start"], end))
    return {query: sorted(windows, key=lambda one: one[::-1]) for query, windows in found.items()}


def stretches(spans: Iterable[Span], most: int) -> list[Span]:
    """The spans as few that do not touch, in order; if they are too many, the closest become one.

    Args:
        spans: in any order.
        most: how many there may be: a condition on rows has one comparison for each.

    >>> stretches([(0, 10), (5, 15), (20, 30), (90, 99)], most=9)
    [(0, 15), (20, 30), (90, 99)]
    >>> stretches([(0, 10), (5, 15), (20, 30), (90, 99)], most=2)
    [(0, 30), (90, 99)]
    """
    apart: list[Span] = []
    for start, end in sorted(spans):
        if apart and start <= apart[-1][1]:
            apart[-1] = apart[-1][0], max(apart[-1][1], end)
        else:
            apart.append((start, end))
    between = sorted(b[0] - a[1] for a, b in pairwise(apart))
    if len(apart) <= most:
        return apart
    widest = between[len(apart) - most - 1]
    found = [apart[0]]
    for start, end in apart[1:]:
        if start - found[-1][1] <= widest:
            found[-1] = found[-1][0], end
        else:
            found.append((start, end))
    return found
