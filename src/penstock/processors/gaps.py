"""Session windows: rows of a group that follow each other closely, up to a gap without any.

    gap 5          3  5  6           14   17
    rows           x  x  x           x    x
    open           |----------)      |----------)        a partial for each, and its first and last
    and 10                    x                          row: two may become one when a row comes

Spark has an operator for sessions; this one is for what Spark's cannot do: aggregates in Python,
and keys that close by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.processors.partials import (
    Array,
    Indices,
    Partial,
    Values,
    concatenate,
    merge_spans,
    take,
)
from penstock.processors.rows import (
    FOREVER,
    NEVER,
    Answers,
    Rows,
    Step,
    finish,
    learnt,
    note_parts,
    renumber_parts,
)
from penstock.processors.table import Table, fold
from penstock.windows import Late, SessionSpec

_NONE = np.empty(0, np.int64)


@dataclass(slots=True)
class GapWindows:
    """Sessions; the window-id of an answer is where one ends, its first value where it began.

    Args:
        spec: a session window.
        partials: the aggregates.
        late: not used: a row is in one session, which is over or not.
    """

    spec: SessionSpec
    partials: Sequence[Partial]
    late: Late = "generous"
    open: Table = field(default_factory=Table)
    """A partial for each open session; its place is the session's first value."""
    last: Indices = field(default_factory=lambda: _NONE)
    """The last value of each open session."""
    over: Indices = field(default_factory=lambda: _NONE)
    part_of: Indices = field(default_factory=lambda: _NONE)

    def advance(self, rows: Rows, over: Array) -> Step:
        """Takes rows, and delivers the sessions that are due then; see `Windows`."""
        self._learn(rows, len(over))
        lost = rows.at + self.spec.gap <= self.over[rows.part]
        kept = rows.take(~lost)
        self._join(fold(kept.group, kept.at, kept.values, self.partials))
        return Step(self._deliver(over), late_lost=int(lost.sum()))

    def learnt(self) -> dict[str, object]:
        """What it has learnt so far: partials, and no rows."""
        return learnt(self, ("spec", "partials", "late"))

    def used(self) -> Indices:
        """The numbers of the groups that are still needed, in order."""
        return np.unique(self.open.group)

    def renumber(self, group: Indices) -> None:
        """Gives the groups new numbers, `group[old]`, in the same order."""
        self.part_of = renumber_parts(self.part_of, self.used(), group)
        self.open = self.open.renumbered(group)

    def _learn(self, rows: Rows, parts: int) -> None:
        self.over = np.append(self.over, np.full(parts - len(self.over), NEVER))
        self.part_of = note_parts(self.part_of, rows)

    def _join(self, new: Table) -> None:
        """Puts rows, by group and value, into the sessions that are open, and opens others."""
        if not len(new):
            return
        states, last = new.states, new.place
        group, begin = new.group, new.place
        if len(self.open):
            states = concatenate(self.open.states, new.states)
            last = np.concatenate([self.last, last])
            group = np.concatenate([self.open.group, group])
            begin = np.concatenate([self.open.place, begin])
        order = np.lexsort((begin, group))  # stable: what is open comes first
        group, begin, last = group[order], begin[order], last[order]
        same = np.concatenate([[False], np.diff(group) == 0])
        # The newest value so far within the group, by rank: each group has ranks for itself.
        values, rank = np.unique(last, return_inverse=True)
        shift = np.cumsum(~same) * len(values)
        reached = values[np.maximum.accumulate(rank + shift) - shift]
        before = np.concatenate([[NEVER], reached[:-1]])
        starts = np.flatnonzero(~same | (begin >= before + self.spec.gap))
        after = np.append(starts[1:], len(group))
        merged = merge_spans(self.partials, take(states, order), starts, after)
        self.open = Table(group[starts], begin[starts], merged)
        self.last = reached[after - 1]

    def _deliver(self, over: Array) -> Answers:
        self.over = np.maximum(self.over, np.where(over == FOREVER, NEVER, over))
        bound = np.where(over == FOREVER, FOREVER, self.over)
        table, end = self.open, self.last + self.spec.gap
        due = end <= bound[self.part_of[table.group]]
        closed = table.keep(due)
        self.open, self.last = table.keep(~due), self.last[~due]
        values = [Values(closed.place), *finish(self.partials, closed.states)] if len(table) else []
        return Answers(closed.group, end[due], values)
