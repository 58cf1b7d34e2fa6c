"""After a change only the entries are told again that the parent is wrong about (§8.2.5)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from penstock.nodes.fit.table import Table
from penstock.nodes.program import Vector

_BLOCK = 4_000_000


@dataclass
class Told:
    """What a parent has been told, by number.

    Args:
        rates: of each entry.
        scores: of each entry.
        next: the number of the next one.
    """

    rates: dict[int, tuple[float, ...]] = field(default_factory=dict)
    scores: dict[int, float] = field(default_factory=dict)
    next: int = 0

    def knows(self, numbers: list[int]) -> bool:
        """Whether it has all of these entries.

        Args:
            numbers: of entries.
        """
        return self.rates.keys() >= set(numbers)

    def take(self, removed: list[int], added: list[tuple[int, list[float], float]]) -> None:
        """Forgets some entries and learns others."""
        for number in removed:
            del self.rates[number], self.scores[number]
        for number, rates, score in added:
            self.rates[number], self.scores[number] = tuple(rates), score
            self.next = max(self.next, number + 1)

    def table(self, streams: tuple[str, ...]) -> Table:
        """As a table without plans, which stay with the child."""
        count = len(self.rates)
        rates = np.array(list(self.rates.values()), dtype=float).reshape(count, len(streams))
        none = np.zeros((count, 0))
        scores = np.array(list(self.scores.values()), dtype=float)
        return Table(streams, rates, scores, none, none.astype(np.int64))


@dataclass(frozen=True, slots=True)
class Delta:
    """What is to be told.

    Args:
        removed: numbers of entries that are no longer true.
        added: entries: a number, rates, a score.
        entries: how many the whole table has.
    """

    removed: list[int]
    added: list[tuple[int, list[float], float]]
    entries: int

    @property
    def share(self) -> float:
        """Of the entries of the table that are sent."""
        return len(self.added) / self.entries if self.entries else 0.0


def delta(told: Told, table: Table, difference: float) -> Delta:
    """What a parent must be told so that it is right again, within a difference.

    Args:
        told: what it has been told.
        table: as it is now.
        difference: the share by which a score may be off.
    """
    now = {tuple(rates): place for place, rates in enumerate(table.rates.tolist())}
    numbers = list(told.rates)
    held = told.table(table.streams)
    scores = [table.scores[now[rates]] if rates in now else -1.0 for rates in told.rates.values()]
    right = np.array(scores) == held.scores
    # What is as it was need not be compared with all others, which takes long in a large table.
    if difference > 0 and not right.all():
        right[~right] = _still_right(held.only(~right), table, difference)
    removed = [number for number, good in zip(numbers, right.tolist(), strict=True) if not good]
    missing = _not_covered(held.only(right), table, difference)
    added = [
        (told.next + count, table.rates[place].tolist(), float(table.scores[place]))
        for count, place in enumerate(missing.tolist())
    ]
    return Delta(removed, added, len(table))


def _still_right(held: Table, table: Table, difference: float) -> NDArray[np.bool_]:
    """Entries that are feasible, since a larger one is, and bring about what was said."""
    best = np.full(len(held), -1.0)
    possible = np.zeros(len(held), dtype=bool)
    for block in _blocks(len(held), table.rates.size):
        some = held.rates[block][:, None, :]
        possible[block] = np.any(np.all(table.rates[None] >= some, axis=2), axis=1)
        below = (table.rates[None] <= some).all(axis=2)
        best[block] = np.where(below, table.scores[None], -1.0).max(axis=1, initial=-1.0)
    off: Vector = np.abs(held.scores - best)
    return possible & (off <= difference * best)


def _not_covered(held: Table, table: Table, difference: float) -> NDArray[np.int64]:
    """Entries for which none that the parent holds is below them and about as good."""
    if not len(held):
        return np.arange(len(table))
    if difference == 0:
        known = set(map(tuple, held.rates.tolist()))
        found = [n for n, rates in enumerate(table.rates.tolist()) if tuple(rates) not in known]
        return np.array(found, dtype=np.int64)
    scores = dict(zip(map(tuple, held.rates.tolist()), held.scores.tolist(), strict=True))
    rows = zip(map(tuple, table.rates.tolist()), table.scores.tolist(), strict=True)
    other = np.array([n for n, (rates, score) in enumerate(rows) if scores.get(rates) != score])
    covered = np.zeros(len(other), dtype=bool)
    for block in _blocks(len(other), held.rates.size):
        below = (held.rates[None] <= table.rates[other[block]][:, None, :]).all(axis=2)
        enough = held.scores[None] >= (1 - difference) * table.scores[other[block]][:, None]
        covered[block] = (below & enough).any(axis=1)
    return other[~covered].astype(np.int64)


def _blocks(rows: int, size: int) -> list[slice]:
    step = max(1, _BLOCK // max(1, size))
    return [slice(start, start + step) for start in range(0, rows, step)]
