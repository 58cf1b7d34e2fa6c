"""A processor between batches: rows come as Arrow tables, results leave as Arrow tables.

table ─► order of arrival ─► keys as numbers ─► windows that are due ─► table
                                 │
                             progress: how far the stream is
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.processors.keys import Keys
from penstock.processors.order import arrival
from penstock.processors.partials import Array, Folded, Indices, Partial, Values
from penstock.processors.progress import Progress
from penstock.processors.rows import FOREVER, NEVER, Rows, Windows, learnt, recall

AT, PROMISE = "at", "promise"
_FEW = 1_000


@dataclass(frozen=True, slots=True)
class Layout:
    """What the columns of the rows are.

    Args:
        partials: the aggregates.
        values: the column of each aggregate; None for count(*).
        groups: the columns of a group, those of its partition first.
        parts: how many of them are of the partition.
        order: the columns that say in which order rows arrive.
        by: the columns of the key for which progress is known.
        timed: whether rows have a value of RATTR, in the column `AT`.
        per_part: whether each partition is as far as its own key.
        promised: whether rows below what is over break a promise.
    """

    partials: tuple[Partial, ...]
    values: tuple[str | None, ...]
    groups: tuple[str, ...] = ()
    parts: int = 0
    order: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    timed: bool = True
    per_part: bool = False
    promised: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What one batch gave.

    Args:
        keys: the group columns of the results.
        wid: their window-ids.
        values: of each aggregate.
        accounts: rows that do not count everywhere, by reason.
    """

    keys: Sequence[pa.Array]
    wid: Indices
    values: Sequence[Values]
    accounts: dict[str, int]


@dataclass(slots=True)
class Session:
    """Windows, and what has to be known of the stream to compute them.

    Args:
        windows: of any kind.
        layout: what the columns of the rows are.
        progress: how far the stream is, where its rows tell; None if the engine says.
    """

    windows: Windows
    layout: Layout
    progress: Progress | None = None
    group: Keys = field(default_factory=Keys)
    part: Keys = field(default_factory=Keys)
    by: Keys = field(default_factory=Keys)
    arrived: int = 0
    told: int = NEVER

    def learnt(self) -> dict[str, object]:
        """All that has to be kept between batches."""
        state = learnt(self, ("windows", "layout"))
        return {**state, "windows": self.windows.learnt()}

    def recall(self, state: dict[str, object]) -> None:
        """Goes on from what `learnt` gave."""
        windows: Any = state["windows"]
        recall(self.windows, windows)
        recall(self, {name: value for name, value in state.items() if name != "windows"})

    def advance(self, table: pa.Table, watermark: int = NEVER) -> Result:
        """The windows that are due after these rows.

        Args:
            table: the rows of one batch, in any order.
            watermark: how far the stream is, where the engine says; FOREVER at its end.
        """
        return self._advance(self._in_order(table), watermark)

    def steps(
        self, table: pa.Table, watermark: int = NEVER, piece: int = 1 << 17
    ) -> Iterator[Result]:
        """The same as several results, if rows alone close windows and there are many.

        Arrays of a piece fit into memory that the piece before has used. For arrays of a whole
        batch the system has to find new memory each time, which took longer than the windows.

        Args:
            table: the rows of one batch, in any order.
            watermark: how far the stream is, where the engine says; FOREVER at its end.
            piece: rows in one.
        """
        table, told = self._in_order(table), self.progress is not None or self.layout.promised
        whole = max(1, table.num_rows)
        size = whole if self.layout.timed or told else piece
        for begin in range(0, whole, size):
            is_last = begin + size >= whole
            yield self._advance(table.slice(begin, size), watermark if is_last else NEVER)

    def _in_order(self, table: pa.Table) -> pa.Table:
        order = arrival(table, self.layout.order)
        return table if order is None else table.take(pa.array(order))

    def _advance(self, table: pa.Table, watermark: int) -> Result:
        table = table.combine_chunks()
        promises = table
        if PROMISE in table.column_names:
            is_promise = table.column(PROMISE).is_valid()
            promises, table = table.filter(is_promise), table.filter(pc.invert(is_promise))
        number = self.arrived + np.arange(table.num_rows)
        self.arrived += table.num_rows
        no_time = 0
        if self.layout.timed and (no_time := table.column(AT).null_count):
            there = table.column(AT).is_valid()
            number = number[there.to_numpy()]
            table = table.filter(there)
        rows = self._rows(table, number)
        broken = int((rows.at < self.told).sum()) if self.layout.promised else 0
        self.told = max(self.told, watermark)
        if self.progress is not None:
            broken = self._progress(table, promises, rows)
        step = self.windows.advance(rows, self._over(watermark))
        answers = step.answers
        keys = self.group.columns(answers.group, self._types(table))
        self._forget()
        return Result(
            keys,
            answers.wid,
            answers.values,
            {
                "no_time": no_time,
                "in_no_window": step.in_no_window,
                "late_lost": step.late_lost,
                "late_partial": step.late_partial,
                "broken": broken,
            },
        )

    def _rows(self, table: pa.Table, number: Indices) -> Rows:
        layout, rows = self.layout, table.num_rows
        groups = [table.column(name) for name in layout.groups]
        group = self.group.encode(groups, rows)
        parts = layout.by if layout.per_part else layout.groups[: layout.parts]
        part = self.part.encode([table.column(name) for name in parts], rows)
        at = _whole(table.column(AT)) if layout.timed else np.zeros(rows, np.int64)
        columns: dict[tuple[str | None, bool], Values] = {}
        values = []
        for partial, name in zip(layout.partials, layout.values, strict=True):
            kind = name, isinstance(partial, Folded)
            if kind not in columns:
                columns[kind] = _values(table, *kind)
            values.append(columns[kind])
        return Rows(part, group, at, number, values)

    def _progress(self, table: pa.Table, promises: pa.Table, rows: Rows) -> int:
        """Takes note of how far the stream is; the number of rows that broke a promise."""
        assert self.progress is not None  # noqa: S101 - the caller has looked
        by = self.layout.by
        key = self.by.encode([table.column(name) for name in by], len(rows))
        before = np.append(self.progress.over, np.full(len(self.by), NEVER))
        broken = int((rows.at < before[key]).sum())
        promised, promised_key = np.empty(0, np.int64), np.empty(0, np.int64)
        if PROMISE in promises.column_names:
            promised = _whole(promises.column(PROMISE))
            columns = [promises.column(name) for name in by]
            promised_key = self.by.encode(columns, len(promised))
        self.progress.advance(rows.at, key, promised, promised_key)
        return broken

    def _over(self, watermark: int) -> Array:
        parts = max(1, len(self.part))
        if self.progress is None or watermark == FOREVER:
            return np.full(parts, watermark)
        over = self.progress.over
        if not self.layout.per_part:
            return np.full(parts, over.min() if len(over) else NEVER)
        # A partition is a key of `by`, but the two may have been seen in another order.
        by = [self.by.numbers.get(key) for key in self.part.numbers]
        return np.array([NEVER if n is None or n >= len(over) else over[n] for n in by])

    def _types(self, table: pa.Table) -> list[pa.DataType]:
        return [table.schema.field(name).type for name in self.layout.groups]

    def _forget(self) -> None:
        used = self.windows.used()
        if len(self.group) > 2 * len(used) + _FEW:
            self.windows.renumber(self.group.forget(used))


def _values(table: pa.Table, name: str | None, objects: bool) -> Values:
    if name is None:
        return Values(np.empty(table.num_rows, np.int8))
    column = table.column(name)
    if objects:
        data = np.empty(len(column), object)
        data[:] = _python(column)
        return Values(data)
    known = None if not column.null_count else column.is_valid().to_numpy()
    return Values(_whole(column) if _is_time(column.type) else _numbers(column), known)


def _numbers(column: pa.ChunkedArray) -> Array:
    filled = column.fill_null(False if pa.types.is_boolean(column.type) else 0)
    numbers: Array = filled.to_numpy()
    return numbers


def _whole(column: pa.ChunkedArray) -> Indices:
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    whole: npt.NDArray[np.int64] = column.cast(pa.int64()).fill_null(0).to_numpy()
    return whole


def _python(column: pa.ChunkedArray) -> list[Any]:
    """The values as Python has them; a point in time is a local time, as in Spark's own UDFs."""
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        return [None if m is None else _local(m) for m in column.cast(pa.int64()).to_pylist()]
    values: list[Any] = column.to_pylist(maps_as_pydicts="strict")
    return values


def _local(micros: int) -> dt.datetime:
    seconds, rest = divmod(micros, 1_000_000)
    return dt.datetime.fromtimestamp(seconds).replace(microsecond=rest)  # noqa: DTZ006


def _is_time(of: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(of) or pa.types.is_date32(of) or pa.types.is_duration(of))
