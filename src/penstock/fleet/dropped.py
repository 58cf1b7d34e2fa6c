"""Windows that a node upstream has dropped: the last node must not take the rest for all of them.

    node A   rows of dropped windows ✗ ──► the others ──► node B   windows ──► delivered,
        └──── "windows 7 to 9 of b1 are dropped" ─────────►           but for 7 to 9

A node says which windows it has dropped before it hands on a row of the batch that drops them. So
whoever has read all that was said by the time it has a window's rows knows whether it is whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.drops.decisions import Decisions
from penstock.errors import RecordDamaged, complaint

MOST = 100_000
"""Runs of windows that are remembered of a query; older ones have long been answered."""

Runs = tuple[tuple[int, int], ...]
"""First and last window of each run, in their order; none touches another."""


def announced(state: Decisions, queries: Iterable[str]) -> dict[str, Any]:
    """What a node says of its decisions, as plain values.

    Args:
        state: its decisions.
        queries: those downstream whose windows it may drop.
    """
    return {
        "windows": {name: [[r.first, r.last] for r in state.runs(name)] for name in queries},
    }


@dataclass
class Withheld:
    """All windows that others have dropped, by query.

    >>> withheld = Withheld()
    >>> withheld.take({"windows": {"b1": [[7, 9], [3, 3]]}})
    >>> withheld.take({"windows": {"b1": [[10, 11]]}})
    >>> withheld.runs("b1"), withheld.has("b1", 8), withheld.has("b1", 5)
    (((3, 3), (7, 11)), True, False)
    """

    _runs: dict[str, Runs] = field(default_factory=dict)

    def take(self, body: Mapping[str, Any]) -> None:
        """Adds what a node has said; `RecordDamaged` if it cannot be.

        Args:
            body: of a message.
        """
        try:
            told = {
                str(name): [_run(first, last) for first, last in runs]
                for name, runs in body["windows"].items()
            }
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise RecordDamaged(
                complaint("dropped windows", "must be whole", dict(body))
            ) from error
        for name, runs in told.items():
            self._runs[name] = joined([*self.runs(name), *runs])[-MOST:]

    def runs(self, query: str) -> Runs:
        """The runs of windows of a query.

        Args:
            query: its name.
        """
        return self._runs.get(query, ())

    def has(self, query: str, window: int) -> bool:
        """Whether somebody has dropped a window.

        Args:
            query: its name.
            window: its id.
        """
        return any(first <= window <= last for first, last in self.runs(query))


def joined(runs: Iterable[tuple[int, int]]) -> Runs:
    """Runs in their order, those that touch as one.

    >>> joined([(5, 6), (1, 2), (3, 3), (6, 9)])
    ((1, 3), (5, 9))
    """
    found: list[tuple[int, int]] = []
    for first, last in sorted(runs):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)


def _run(first: object, last: object) -> tuple[int, int]:
    if not isinstance(first, int) or not isinstance(last, int) or first > last:
        raise ValueError(first, last)
    return int(first), int(last)
