"""Windows that rows end: slide-by-tuple, every n-th row to arrive, every n-th in rank.

A row at t is in the windows from t to before t + RANGE: its start bin is at t, its end bin at
t + RANGE. The rows of one value of RATTR are one partial; a window is merged from those that have
begun and not ended. Which values are windows is known from the rows that end them.

    RANGE 5          3       7   9     12
    rows             x       x   x     x
    start, end       |----------)                 3 .. 8
                             |----------)         7 .. 12
                                 |----------)     9 .. 14
    window 9                     ^                has begun and not ended: 7, 9

No row is kept, and a row may come in any order: a value is a window like any other until it is
over. Li et al., SIGMOD 2005, §6.1 keeps the merged aggregate at every bin and changes all bins
within RANGE for every row; keeping each bin apart and merging when windows are over gives the same
answers, and costs a row the logarithm of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.processors.partials import Array, Indices, Partial, merge_spans
from penstock.processors.rows import FOREVER, NEVER, Answers, Rows, Step, finish, learnt
from penstock.processors.table import Table, due, fold
from penstock.windows import Late, WindowSpec

_NONE = np.empty(0, np.int64)


@dataclass(slots=True)
class BinWindows:
    """Slide-by windows.

    Args:
        spec: one of them.
        partials: the aggregates.
        late: what becomes of rows that come too late.
    """

    spec: WindowSpec
    partials: Sequence[Partial]
    late: Late = "generous"
    bins: Table = field(default_factory=Table)
    values: Indices = field(default_factory=lambda: _NONE)
    """Values of RATTR that are not over, and with each how many rows may end a window there."""
    enders: Indices = field(default_factory=lambda: _NONE)
    ranked: int = 0
    """Rows whose rank is settled: those whose values are over."""
    over: int = NEVER

    def advance(self, rows: Rows, over: Array) -> Step:
        """Takes rows, and delivers the windows that are due then; see `Windows`."""
        range_ = self.spec.range
        assert range_ is not None  # noqa: S101 - slide-by windows have one
        is_late = rows.at < self.over
        # Its own window is over, and it may not end another; but it may be in later ones.
        lost = is_late if self.late == "consistent" else is_late & (rows.at + range_ <= self.over)
        self._note(rows, ~is_late)
        kept = rows.take(~lost)
        table = fold(kept.group, kept.at, kept.values, self.partials)
        self.bins = self.bins.merge(table, self.partials)
        late_partial = int(is_late.sum()) - int(lost.sum())
        return Step(self._deliver(int(over[0]), range_), int(lost.sum()), late_partial)

    def learnt(self) -> dict[str, object]:
        """What it has learnt so far: partials, and no rows."""
        return learnt(self, ("spec", "partials", "late"))

    def used(self) -> Indices:
        """The numbers of the groups that are still needed, in order."""
        return np.unique(self.bins.group)

    def renumber(self, group: Indices) -> None:
        """Gives the groups new numbers, `group[old]`, in the same order."""
        self.bins = self.bins.renumbered(group)

    def _note(self, rows: Rows, in_time: Array) -> None:
        """Notes where windows may end."""
        if not self.spec.rank:
            in_time = in_time & ((rows.number + 1) % self.spec.slide == 0)
        at = np.concatenate([self.values, rows.at[in_time]])
        rows_at = np.concatenate([self.enders, np.ones(len(at) - len(self.values), np.int64)])
        self.values, where = np.unique(at, return_inverse=True)
        self.enders = np.bincount(where, rows_at, len(self.values)).astype(np.int64)

    def _deliver(self, over: int, range_: int) -> Answers:
        self.over = max(self.over, over)
        closed = int(np.searchsorted(self.values, self.over))
        ends = self.values[:closed]
        if self.spec.rank:
            ranks = self.ranked + np.cumsum(self.enders[:closed])
            # One of the ranks from the value before to this one is a multiple of n.
            ends = ends[
                ranks // self.spec.slide > (ranks - self.enders[:closed]) // self.spec.slide
            ]
            self.ranked += int(self.enders[:closed].sum())
        self.values, self.enders = self.values[closed:], self.enders[closed:]
        table = self.bins
        first = np.searchsorted(ends, table.place)
        last = np.searchsorted(ends, table.place + range_) - 1
        none = np.full(len(table), -1)
        spans = due(table, first, last, none, np.full(len(table), FOREVER))
        merged = merge_spans(self.partials, table.states, spans.low, spans.high)
        self.bins = table.keep(table.place + range_ > self.over)
        values = finish(self.partials, merged) if len(table) else []
        return Answers(spans.group, ends[spans.window], values)
