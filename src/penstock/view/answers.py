"""An answer as it is shown: the groups it is of, and its values with their bounds.

{"window_end": …, "host": "a", "n": 41.0, "n_low": 39.0, "n_high": 43.0, "keep": 0.3, …}
                  ╰ of ────╯   ╰ figures: n 41 ± 2 ────────────────────╯
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.view import words

_ABOUT = {
    "query",
    "batch",
    "window_start",
    "window_end",
    "window_time",
    "keep",
    "sample",
    "exact",
    "unseen",
}
_LOW, _HIGH = "_low", "_high"


@dataclass(frozen=True, slots=True)
class Figure:
    """A value, and its bounds if it has some that are not the value itself.

    Args:
        name: of the column.
        value: the answer.
        low: its lower bound.
        high: its upper bound.
        unknown: whether it is an estimate that has no bounds.
    """

    name: str
    value: Any
    low: float | None = None
    high: float | None = None
    unknown: bool = False

    def __str__(self) -> str:
        if self.unknown:
            return f"{words.value(self.value)} ± ?"
        if self.low is None or self.high is None:
            return words.value(self.value)
        return f"{words.value(self.value)} ± {words.value((self.high - self.low) / 2)}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What is shown of an answer.

    Args:
        end: of its window, as it is shown; empty if it has none.
        of: column → value, for the columns that have no bounds where others have.
        figures: its values.
    """

    end: str
    of: Mapping[str, str]
    figures: tuple[Figure, ...]

    @property
    def main(self) -> Figure | None:
        """The first value that has bounds; the last one where the answer is exact."""
        return next((one for one in self.figures if one.low is not None), None) or (
            self.figures[0 if self.of else -1] if self.figures else None
        )

    @property
    def group(self) -> str:
        """What the answer is of."""
        rest = [one for one in self.figures if one != self.main] if not self.of else []
        return " ".join([*self.of.values(), *map(str, rest)])

    def __str__(self) -> str:
        groups = list(self.of.values())
        return " ".join([*groups, *(f"{one.name} {one}" for one in self.figures)])


def answer(row: Mapping[str, Any]) -> Answer:
    """An answer of a query, from its columns.

    Args:
        row: column → value.

    >>> row = {"window_end": "12:00:10", "host": "a", "n": 41, "n_low": 39.0, "n_high": 43.0}
    >>> answer(row).end, str(answer(row))
    ('12:00:10', 'a n 41 ± 2')
    >>> str(answer({"window_end": "12:00:10", "host": "a", "largest": 1500}))
    'host a largest 1,500'
    >>> str(answer({"median": 7.0, "median_low": None, "median_high": 9.0, "exact": False}))
    'median 7 ± ?'
    """
    bounded = [name for name in row if name + _LOW in row and name + _HIGH in row]
    hidden = {name + end for name in bounded for end in (_LOW, _HIGH)} | _ABOUT
    shown = {name: of for name, of in row.items() if name not in hidden}
    groups = {n: words.value(of) for n, of in shown.items() if bounded and n not in bounded}
    figures = []
    for name, of in shown.items():
        if name in groups:
            continue
        low, high = row.get(name + _LOW), row.get(name + _HIGH)
        if low is None or high is None:
            figures.append(Figure(name, of, unknown=name in bounded and row.get("exact") is False))
        else:
            figures.append(Figure(name, of) if low == high else Figure(name, of, low, high))
    return Answer(_end(row.get("window_end")), groups, tuple(figures))


def _end(at: Any) -> str:  # noqa: ANN401 - a time, a number, or text
    if at is None:
        return ""
    if isinstance(at, str):  # of an ISO time, that of the day
        return at.replace("T", " ").rpartition(" ")[2][:8]
    return words.clock(at) if isinstance(at, float) else words.value(at)
