"""Rows as a processor gets them, what it gives back, and what all processors do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from penstock.processors.partials import Array, Indices, Partial, State, Values

NEVER, FOREVER = -(1 << 60), 1 << 60
"""Before and after every window."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows, in order of arrival.

    Args:
        part: number of each row's partition; all 0 where the stream is not parted.
        group: number of each row's group; a group lies within a partition.
        at: each row's value of RATTR; for tuple windows anything.
        number: each row's position in the order of arrival, from 0; rows that are in no window have
            one too.
        values: of each aggregate, one for each row.
    """

    part: Indices
    group: Indices
    at: Indices
    number: Indices
    values: Sequence[Values]

    def __len__(self) -> int:
        return len(self.part)

    def take(self, which: npt.NDArray[np.bool_]) -> Rows:
        """Those rows that `which` says."""
        if which.all():
            return self
        some = np.flatnonzero(which)
        values = [v.take(some) for v in self.values]
        part, group, at, number = (a[some] for a in (self.part, self.group, self.at, self.number))
        return Rows(part, group, at, number, values)


@dataclass(frozen=True, slots=True)
class Answers:
    """Results of windows that are due.

    Args:
        group: number of each result's group.
        wid: its window-id.
        values: of each aggregate, one for each result.
    """

    group: Indices
    wid: Indices
    values: Sequence[Values]

    def __len__(self) -> int:
        return len(self.wid)


@dataclass(frozen=True, slots=True)
class Step:
    """What one batch gave.

    Args:
        answers: the windows that are due.
        late_lost: rows that count in no window, because they came too late.
        late_partial: rows that count in some of their windows only, because they came too late.
        in_no_window: rows before the start, or in a gap between windows.
    """

    answers: Answers
    late_lost: int = 0
    late_partial: int = 0
    in_no_window: int = 0


class Windows(Protocol):
    """Windows of one kind over rows that come in batches; it is pickled between them."""

    def advance(self, rows: Rows, over: Array) -> Step:
        """Takes rows, and delivers the windows that are due then.

        Args:
            rows: of one batch, in order of arrival.
            over: for each partition by its number, the value of RATTR below which no more rows are
                to come; tuple windows need none. FOREVER at the end of the stream.
        """

    def learnt(self) -> dict[str, object]:
        """What it has learnt so far: its state, by name."""

    def used(self) -> Indices:
        """The numbers of the groups that are still needed, in order."""

    def renumber(self, group: Indices) -> None:
        """Gives the groups new numbers, `group[old]`, in the same order."""


def learnt(of: Any, asked: Sequence[str]) -> dict[str, object]:  # noqa: ANN401 - a dataclass
    """The fields of a dataclass that are its state; set again, they bring it back.

    Args:
        of: the object.
        asked: the fields that say what it is to do, and are not kept.
    """
    return {f.name: getattr(of, f.name) for f in fields(of) if f.name not in asked}


def recall(of: object, state: dict[str, object]) -> None:
    """Gives an object back what it had learnt."""
    for name, value in state.items():
        setattr(of, name, value)


def note_parts(part_of: Indices, rows: Rows) -> Indices:
    """The partition of every group by its number, those of these rows included.

    Args:
        part_of: of the groups known so far.
        rows: of one batch.
    """
    more = max(0, int(rows.group.max(initial=-1)) + 1 - len(part_of))
    noted = np.append(part_of, np.zeros(more, np.int64))
    noted[rows.group] = rows.part
    return noted


def renumber_parts(part_of: Indices, used: Indices, group: Indices) -> Indices:
    """The partition of every group, after the used ones were given new numbers, `group[old]`."""
    renumbered = np.zeros(int(group.max(initial=-1)) + 1, np.int64)
    renumbered[group[used]] = part_of[used]
    return renumbered


def finish(partials: Sequence[Partial], states: Sequence[State]) -> list[Values]:
    """The answers of every aggregate.

    Args:
        partials: the aggregates.
        states: one of each.
    """
    return [p.final(state) for p, state in zip(partials, states, strict=True)]
