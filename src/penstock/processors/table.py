"""Partials by group and place: all that a stateful processor keeps of the rows that it has seen.

group   place    partials                 group: a key, or a key within a partition
0       3        n=2  sum=7               place: a pane, or a value of RATTR
0       4        n=1  sum=5
1       3        n=9  sum=40              in the order of group and place, each pair once
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.processors.partials import (
    Array,
    Indices,
    Partial,
    State,
    Values,
    concatenate,
    merge_spans,
    take,
)

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Table:
    """The partials of all groups.

    Args:
        group: number of the group.
        place: number of the place.
        states: a state of each aggregate; none before the first rows came.
    """

    group: Indices = field(default_factory=lambda: _NONE)
    place: Indices = field(default_factory=lambda: _NONE)
    states: Sequence[State] = ()

    def __len__(self) -> int:
        return len(self.group)

    def keep(self, which: Array) -> Table:
        """The places that `which`, an array of truth values or indices, takes."""
        places = np.flatnonzero(which) if which.dtype == bool else which
        return Table(self.group[places], self.place[places], take(self.states, places))

    def renumbered(self, group: Indices) -> Table:
        """The same with other numbers for the groups, `group[old]`, in the same order."""
        return Table(group[self.group], self.place, self.states)

    def merge(self, other: Table, partials: Sequence[Partial]) -> Table:
        """This and another; what both have is merged, this one's first."""
        if not len(self) or not len(other):
            return other if not len(self) else self
        group = np.concatenate([self.group, other.group])
        place = np.concatenate([self.place, other.place])
        states = concatenate(self.states, other.states)
        both = Table(group, place, states)
        step = np.diff(group)
        if not ((step > 0) | ((step == 0) & (np.diff(place) >= 0))).all():
            both = both.keep(np.lexsort((place, group)))  # stable
        return both.compact(partials)

    def compact(self, partials: Sequence[Partial]) -> Table:
        """The same in fewer rows: those of one place, which are next to each other, are merged."""
        changes = (np.diff(self.group) != 0) | (np.diff(self.place) != 0)
        first = np.concatenate([[0], np.flatnonzero(changes) + 1])
        if len(first) == len(self):
            return self
        after = np.append(first[1:], len(self))
        states = merge_spans(partials, self.states, first, after)
        return Table(self.group[first], self.place[first], states)


def fold(
    group: Indices, place: Indices, values: Sequence[Values], partials: Sequence[Partial]
) -> Table:
    """Rows as a table.

    Args:
        group: of each row, from 0.
        place: of each row.
        values: of each aggregate, one for each row.
        partials: the aggregates.
    """
    if not len(group):
        return Table()
    least, span = int(place.min()), int(place.max()) - int(place.min()) + 1
    groups = int(group.max()) + 1
    if span > (1 << 62) // groups:
        places, narrow = np.unique(place, return_inverse=True)
        table = fold(group, narrow, values, partials)
        return Table(table.group, places[table.place], table.states)
    pair = group * span + (place - least)
    if groups * span <= 4 * len(pair) + 1024:
        # Few pairs: counting them is cheaper than sorting.
        there = np.bincount(pair, minlength=groups * span) > 0
        pairs, number = np.flatnonzero(there), np.cumsum(there) - 1
        where = number[pair]
    else:
        pairs, where = _distinct(pair)
    states = [p.fold(v, where, len(pairs)) for p, v in zip(partials, values, strict=True)]
    return Table(pairs // span, pairs % span + least, states)


def _distinct(pair: Indices) -> tuple[Indices, Indices]:
    """The different values in order, and the place of each row's among them."""
    steps = np.diff(pair)
    if (steps >= 0).all():  # rows in order need no sorting
        where = np.concatenate([[0], np.cumsum(steps > 0)])
        return pair[np.concatenate([[True], steps > 0])], where
    distinct, where = np.unique(pair, return_inverse=True)
    return distinct, where


@dataclass(frozen=True, slots=True)
class Spans:
    """Windows that are due, and the rows of the table that each is put together from.

    Args:
        group: of each window.
        window: its number.
        low: its first row in the table.
        high: the row after its last one.
    """

    group: Indices
    window: Indices
    low: Indices
    high: Indices


def due(table: Table, first: Indices, last: Indices, after: Array, until: Array) -> Spans:
    """The windows that are due, by group and number; those without rows are left out.

    Args:
        table: the partials.
        first: of each row of the table, the first window that it is in.
        last: the last one; neither goes down within a group.
        after: of each row, the last window of its group that has been delivered.
        until: of each row, the last window of its group that is due.

    A window is listed with the first row that is in it:

        place   first .. last        lists
        3       0 .. 2               0 1 2
        4       1 .. 3                     3
        9       6 .. 8                         6 7 8
    """
    if not len(table):
        return Spans(_NONE, _NONE, _NONE, _NONE)
    same = np.concatenate([[False], np.diff(table.group) == 0])
    listed = np.where(same, np.concatenate([[0], last[:-1]]), after)
    begin = np.maximum(first, np.maximum(listed, after) + 1)
    number = np.maximum(np.minimum(last, until) - begin + 1, 0)
    low = np.repeat(np.arange(len(table)), number)
    so_far = np.cumsum(number) - number
    window = begin[low] + np.arange(len(low)) - so_far[low]
    # Within a group, the rows up to the last that begins by the window.
    dense = np.cumsum(~same) - 1
    least = int(min(first.min(), window.min(initial=0)))
    span = int(max(first.max(), window.max(initial=0))) - least + 1
    line = dense * span + (first - least)
    high = np.searchsorted(line, dense[low] * span + (window - least), side="right")
    return Spans(table.group[low], window, low, high)
