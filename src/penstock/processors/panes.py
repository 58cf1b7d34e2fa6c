"""Windows put together from panes: RANGE and SLIDE on one attribute, be it time, a value or rows.

    rows ─► number of the pane ─► partials by group and pane ─► windows that are over

For tuple windows the attribute is the row's number, counted here, in the stream or in its
partition; a window is over as soon as its last row is there. Landmark windows have no first pane
to lose: what is over is merged into one partial for each group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.processors.partials import Array, Indices, Partial, merge_spans
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
from penstock.processors.table import Table, due, fold
from penstock.windows import Late, WindowSpec
from penstock.windows.kinds import TUPLE_KINDS

_NONE = np.empty(0, np.int64)


@dataclass(slots=True)
class PaneWindows:
    """Sliding, tumbling, cumulative, landmark and tuple windows.

    Args:
        spec: one of these.
        partials: the aggregates.
        late: what becomes of rows that come too late.
    """

    spec: WindowSpec
    partials: Sequence[Partial]
    late: Late = "generous"
    panes: Table = field(default_factory=Table)
    count: Indices = field(default_factory=lambda: _NONE)
    delivered: Indices = field(default_factory=lambda: _NONE)
    part_of: Indices = field(default_factory=lambda: _NONE)

    def advance(self, rows: Rows, over: Array) -> Step:
        """Takes rows, and delivers the windows that are due then; see `Windows`."""
        self._learn(rows, len(over))
        counted = self.spec.kind in TUPLE_KINDS
        at = self._number(rows) if counted else rows.at
        bound = np.where(over == FOREVER, FOREVER, self.count) if counted else over
        first, last = self._first(at), self._last(at)
        outside = last < first
        if self.spec.start is not None:
            outside |= at < self.spec.start
        opening = first if self.late == "consistent" else last
        delivered = self.delivered[rows.part]
        lost = (opening <= delivered) & ~outside
        partial = (first <= delivered) & ~lost & ~outside
        counts = ~(lost | outside)
        self._fold(rows.take(counts), first[counts], last[counts])
        answers = self._deliver(bound)
        return Step(answers, int(lost.sum()), int(partial.sum()), int(outside.sum()))

    def learnt(self) -> dict[str, object]:
        """What it has learnt so far: partials, and no rows."""
        return learnt(self, ("spec", "partials", "late"))

    def used(self) -> Indices:
        """The numbers of the groups that are still needed, in order."""
        return np.unique(self.panes.group)

    def renumber(self, group: Indices) -> None:
        """Gives the groups new numbers, `group[old]`, in the same order."""
        self.part_of = renumber_parts(self.part_of, self.used(), group)
        self.panes = self.panes.renumbered(group)

    def _learn(self, rows: Rows, parts: int) -> None:
        new = parts - len(self.delivered)
        self.delivered = np.append(self.delivered, np.full(new, NEVER))
        self.count = np.append(self.count, np.zeros(new, np.int64))
        self.part_of = note_parts(self.part_of, rows)

    def _number(self, rows: Rows) -> Indices:
        """The row number, counted on from the batches before."""
        if len(self.count) == 1:
            first = int(self.count[0])
            self.count[0] += len(rows)
            return first + np.arange(len(rows))
        small = rows.part.astype(np.int16) if len(self.count) < 1 << 15 else rows.part
        order = np.argsort(small, kind="stable")
        sizes = np.bincount(rows.part, minlength=len(self.count))
        before = np.cumsum(sizes) - sizes
        at = np.empty(len(rows), np.int64)
        parts = rows.part[order]
        at[order] = np.arange(len(rows)) - before[parts] + self.count[parts]
        self.count = self.count + sizes
        return at

    def _fold(self, rows: Rows, first: Indices, last: Indices) -> None:
        table = fold(rows.group, self._place(first, last), rows.values, self.partials)
        self.panes = self.panes.merge(table, self.partials)

    def _deliver(self, over: Array) -> Answers:
        last_due = np.where(
            over == FOREVER, FOREVER, (over - self.spec.origin) // self.spec.slide - 1
        )
        table = self.panes
        first, last = self._windows_of(table.place)
        if self._endless:
            last_due = np.where(last_due == FOREVER, first.max(initial=NEVER), last_due)
        part = self.part_of[table.group]
        spans = due(table, first, last, self.delivered[part], last_due[part])
        merged = merge_spans(self.partials, table.states, spans.low, spans.high)
        self.delivered = np.maximum(self.delivered, last_due)
        self._retire(last, self.delivered[part])
        values = finish(self.partials, merged) if len(table) else []
        return Answers(spans.group, spans.window, values)

    def _retire(self, last: Indices, delivered: Indices) -> None:
        """Drops the panes that no later window needs; joins those that every later window has."""
        table = self.panes
        if not self._endless:
            self.panes = table.keep(last > delivered)
        elif len(table):
            place = np.maximum(table.place, delivered)
            self.panes = Table(table.group, place, table.states).compact(self.partials)

    @property
    def _slides(self) -> bool:
        return self.spec.range is not None

    @property
    def _endless(self) -> bool:
        return self.spec.range is None and self.spec.period is None

    def _place(self, first: Indices, last: Indices) -> Indices:
        """The number of the pane that is in these windows.

        At a window edge `first` goes up by one, or `last`, or both: their sum tells panes apart.
        """
        return first + last if self._slides else first

    def _windows_of(self, place: Indices) -> tuple[Indices, Indices]:
        """The first and the last window of a pane, from its number."""
        spec = self.spec
        if spec.period is not None:
            per_period = spec.period // spec.slide
            return place, (place // per_period + 1) * per_period - 1
        if spec.range is None:
            return place, np.full(len(place), FOREVER)
        # last - first is the overlap - 1, rounded down or up: what is left makes the sum odd.
        first = (place - (spec.range // spec.slide - 1)) // 2
        return first, place - first

    def _first(self, at: Indices) -> Indices:
        return (at - self.spec.origin) // self.spec.slide

    def _last(self, at: Indices) -> Indices:
        spec = self.spec
        if spec.period is not None:
            return ((at - spec.origin) // spec.period + 1) * (spec.period // spec.slide) - 1
        if spec.range is None:
            return np.full(len(at), FOREVER)
        return (at + spec.range - spec.origin) // spec.slide - 1
