"""Windows by keeping the rows of open extents, and evaluating each extent when it is due.

    rows ─► buffer, in order ─► extents that are due, each a slice ─► count, sum, max of the slice

This is what `penstock.processors` is measured against: the buffering approach of Li et al.,
SIGMOD 2005, §8 (Fig. 8), with numpy over the slices. A row is looked at once for every window that
it is in, and kept until the last of them is over; of a landmark window, for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from penstock.processors.partials import (
    Array,
    CountRows,
    Extreme,
    Indices,
    Partial,
    SumOfWhole,
    Values,
)
from penstock.processors.rows import FOREVER, NEVER, Answers, Rows, Step, learnt
from penstock.windows import Late, WindowSpec
from penstock.windows.kinds import SLIDE_BY_KINDS, TUPLE_KINDS

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Buffer:
    """Rows by partition, in each in the order of `at`.

    Args:
        part: number of each row's partition.
        group: number of each row's group.
        at: its value of RATTR, or its row number.
        ends: whether it may end a window, where rows do.
        values: the column of each aggregate; no value is missing.
    """

    part: Indices = field(default_factory=lambda: _NONE)
    group: Indices = field(default_factory=lambda: _NONE)
    at: Indices = field(default_factory=lambda: _NONE)
    ends: Array = field(default_factory=lambda: np.empty(0, bool))
    values: Sequence[Array] = ()

    def __len__(self) -> int:
        return len(self.at)

    def take(self, which: Array | slice) -> Buffer:
        """Some of the rows."""
        part, group, at, ends = (a[which] for a in (self.part, self.group, self.at, self.ends))
        return Buffer(part, group, at, ends, [v[which] for v in self.values])

    def add(self, other: Buffer) -> Buffer:
        """These rows and others, in order."""
        both = (self, other) if len(self) else (other,)
        rows = Buffer(
            np.concatenate([b.part for b in both]),
            np.concatenate([b.group for b in both]),
            np.concatenate([b.at for b in both]),
            np.concatenate([b.ends for b in both]),
            [np.concatenate(v) for v in zip(*(b.values for b in both), strict=True)],
        )
        step = np.diff(rows.part)
        if ((step > 0) | ((step == 0) & (np.diff(rows.at) >= 0))).all():
            return rows
        return rows.take(np.lexsort((rows.at, rows.part)))  # stable


@dataclass(slots=True)
class BufferedWindows:
    """Tuple, slide-by, sliding, tumbling and landmark windows; see `Windows`.

    Args:
        spec: one of these.
        partials: the aggregates: any of count(*), and sum, min and max of whole numbers.
        late: what becomes of rows that come too late.
    """

    spec: WindowSpec
    partials: Sequence[Partial]
    late: Late = "generous"
    buffer: Buffer = field(default_factory=Buffer)
    count: Indices = field(default_factory=lambda: _NONE)
    done: Indices = field(default_factory=lambda: _NONE)
    """For each partition, the last window that is over."""
    ranked: int = 0

    def advance(self, rows: Rows, over: Array) -> Step:
        """Takes rows, and delivers the windows that are due then; see `Windows`."""
        new = len(over) - len(self.done)
        self.done = np.append(self.done, np.full(new, NEVER))
        self.count = np.append(self.count, np.zeros(new, np.int64))
        at = rows.at
        if self.spec.kind in TUPLE_KINDS:
            at = self._number(rows.part)
            over = np.where(over == FOREVER, FOREVER, self.count)
        first, last = self._first(at), self._last(at)
        outside = last < first
        if self.spec.start is not None:
            outside |= at < self.spec.start
        is_late = (first <= self.done[rows.part]) & ~outside
        lost = is_late & ((last <= self.done[rows.part]) | (self.late == "consistent"))
        every = 1 if self.spec.rank else self.spec.slide
        ends = ~is_late & ((rows.number + 1) % every == 0)
        values = [value.data for value in rows.values]
        kept = ~(lost | outside)
        more = Buffer(rows.part, rows.group, at, ends, values)
        self.buffer = self.buffer.add(more if kept.all() else more.take(kept))
        answers = self._deliver(over)
        late_partial = int(is_late.sum()) - int(lost.sum())
        return Step(answers, int(lost.sum()), late_partial, int(outside.sum()))

    def learnt(self) -> dict[str, object]:
        """What it has learnt so far: the rows."""
        return learnt(self, ("spec", "partials", "late"))

    def used(self) -> Indices:
        """The numbers of the groups that are still needed, in order."""
        return np.unique(self.buffer.group)

    def renumber(self, group: Indices) -> None:
        """Gives the groups new numbers, `group[old]`, in the same order."""
        self.buffer = replace(self.buffer, group=group[self.buffer.group])

    def _number(self, part: Indices) -> Indices:
        """The row number within each partition, counted on from the batches before."""
        sizes = np.bincount(part, minlength=len(self.count))
        order = np.argsort(part, kind="stable") if len(sizes) > 1 else np.arange(len(part))
        at = np.empty(len(part), np.int64)
        at[order] = np.arange(len(part)) + np.repeat(self.count - np.cumsum(sizes) + sizes, sizes)
        self.count = self.count + sizes
        return at

    def _deliver(self, over: Array) -> Answers:
        due = np.where(over == FOREVER, FOREVER, (over - self.spec.origin) // self._step - 1)
        buffer = self.buffer
        bounds = np.searchsorted(buffer.part, np.arange(len(over) + 1))
        found: list[list[Array]] = []
        for part in np.flatnonzero(np.diff(bounds)).tolist():
            mine = buffer.take(slice(bounds[part], bounds[part + 1]))
            windows = self._windows(mine, int(self.done[part]), int(due[part]))
            found.extend(self._evaluate(mine, windows))
        self.done = np.maximum(self.done, due)
        self.buffer = buffer.take(self._last(buffer.at) > self.done[buffer.part])
        if not found:
            return Answers(_NONE, _NONE, [Values(_NONE) for _ in self.partials])
        group, wid, *values = (np.concatenate(columns) for columns in zip(*found, strict=True))
        return Answers(group, wid, [Values(v) for v in values])

    def _windows(self, rows: Buffer, done: int, due: int) -> Indices:
        """The windows after `done` and until `due`, of the rows of one partition."""
        if self.spec.kind in SLIDE_BY_KINDS:
            closed = rows.at[rows.ends & (rows.at > done) & (rows.at <= due)]
            if self.spec.rank:
                rank = self.ranked + 1 + np.arange(len(closed))
                self.ranked += len(closed)
                closed = closed[rank % self.spec.slide == 0]
            return np.unique(closed)
        newest = rows.at[-1:]
        until = self._first(newest) if self.spec.range is None else self._last(newest)
        begin = max(int(self._first(rows.at[:1])[0]), done + 1)
        return np.arange(begin, (int(until[0]) if due == FOREVER else due) + 1)

    def _evaluate(self, rows: Buffer, windows: Indices) -> Iterator[list[Array]]:
        """Group, window-id and answers of each window that has rows."""
        end = self.spec.origin + (windows + 1) * self._step
        high = np.searchsorted(rows.at, end)
        low = np.zeros(len(high), np.int64)
        if self.spec.range is not None:
            low = np.searchsorted(rows.at, end - self.spec.range)
        there = high > low
        windows, low, high = windows[there], low[there], high[there]
        if not len(windows):
            return
        if (rows.group == rows.group[0]).all():
            yield [np.full(len(windows), rows.group[0]), windows, *self._alone(rows, low, high)]
            return
        groups = int(rows.group.max()) + 1
        bounds = zip(windows.tolist(), low.tolist(), high.tolist(), strict=True)
        for window, begin, after in bounds:
            group = rows.group[begin:after]
            count = np.bincount(group, minlength=groups)
            found = count.nonzero()[0]
            columns = [found, np.full(len(found), window)]
            for partial, column in zip(self.partials, rows.values, strict=True):
                if isinstance(partial, CountRows):
                    columns.append(count[found])
                    continue
                pick = _ufunc(partial)
                total = np.full(groups, _nothing(pick), np.int64)
                pick.at(total, group, column[begin:after])
                columns.append(total[found])
            yield columns

    def _alone(self, rows: Buffer, low: Indices, high: Indices) -> list[Array]:
        """The answers of every window, where all rows are of one group."""
        bounds = list(zip(low.tolist(), high.tolist(), strict=True))
        columns = []
        for partial, column in zip(self.partials, rows.values, strict=True):
            if isinstance(partial, CountRows):
                columns.append(high - low)
                continue
            reduce = _ufunc(partial).reduce
            columns.append(np.array([reduce(column[begin:after]) for begin, after in bounds]))
        return columns

    @property
    def _step(self) -> int:
        # Where rows end windows, window-ids are values of RATTR: any whole number may be one.
        return 1 if self.spec.kind in SLIDE_BY_KINDS else self.spec.slide

    def _first(self, at: Indices) -> Indices:
        return (at - self.spec.origin) // self._step

    def _last(self, at: Indices) -> Indices:
        if self.spec.range is None:
            return np.full(len(at), FOREVER)
        return (at + self.spec.range - self.spec.origin) // self._step - 1


def _ufunc(partial: Partial) -> np.ufunc:
    if isinstance(partial, SumOfWhole):
        return np.add
    assert isinstance(partial, Extreme)  # noqa: S101 - nothing else is measured
    return partial.pick


def _nothing(pick: np.ufunc) -> int:
    if pick is np.add:
        return 0
    least = pick is np.fmin
    return int(np.iinfo(np.int64).max if least else np.iinfo(np.int64).min)
