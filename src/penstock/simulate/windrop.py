"""The window drop of the paper, with marks in the rows: the reference for decisions by window-id.

    WinDrop ─► filter ─► Aggregate ─► filter ─► Aggregate ─► answers

WinDrop divides the stream into windows, marks the row that starts one as kept or not, and drops
rows that no kept window needs. An aggregate reads the marks, and hands them on. On Spark a decision
is a value in a column instead; that needs neither order nor marks, and gives the same answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from penstock.control.checks import positive
from penstock.simulate.marks import DISALLOWED, NOTHING, Marked


class WinDrop:
    """Marks window starts and drops early; windows start at multiples of `slide`.

    Args:
        range: ω, as long as everything downstream of it needs.
        slide: δ.
        keeps: whether a window is kept, by its number.
    """

    def __init__(self, range: int, slide: int, keeps: Callable[[int], bool]) -> None:
        positive("range", range)
        positive("slide", slide)
        self._range = range
        self._slide = slide
        self._keeps = keeps
        self._next = 0  # the window whose start has not been seen
        self._until = 0

    def rows(self, row: Marked) -> Iterator[Marked]:
        """The row with its mark, only its mark, or nothing."""
        # The start of a window may have no row of its own: then a fake carries the mark.
        while self._next * self._slide < row.time:
            yield Marked(self._next * self._slide, mark=self._mark(), fake=True)
        mark = self._mark() if self._next * self._slide == row.time else NOTHING
        if row.time < self._until:
            yield replace(row, mark=mark)
        elif mark != NOTHING:
            yield replace(row, mark=mark, fake=True)

    def end(self, until: int) -> tuple[list[Marked], int]:
        """Nothing waits in a drop."""
        return [], until

    def _mark(self) -> int:
        window, self._next = self._next, self._next + 1
        if not self._keeps(window):
            return DISALLOWED
        self._until = window * self._slide + self._range
        return self._until


@dataclass(slots=True)
class _Entry:
    """A window that is open, or a fake that waits for the windows before it."""

    time: int
    mark: int
    open: bool
    values: list[float] = field(default_factory=list)


class Aggregate:
    """Windows over time that start at multiples of `slide`, opened as the marks say (Table 3).

    Args:
        range: ω.
        slide: δ.
        function: of the values of a window; a window without rows has no answer.
        literal: as in the paper's table, where a window that is opened although its own mark does
            not allow it, because its start must be kept for an earlier one, extends what must be
            kept. By then the drop may have dropped rows of it, so its answer is wrong.
    """

    def __init__(
        self,
        range: int,
        slide: int,
        function: Callable[[Sequence[float]], float] = sum,
        *,
        literal: bool = False,
    ) -> None:
        positive("range", range)
        positive("slide", slide)
        self._range = range
        self._slide = slide
        self._function = function
        self._literal = literal
        self._next = 0  # the start that has not been seen
        self._keep_until = 0
        self._entries: deque[_Entry] = deque()

    def rows(self, row: Marked) -> Iterator[Marked]:
        """The windows that the row closes."""
        while self._next < row.time:
            self._start(self._next, NOTHING)
        yield from self._closed(row.time)
        if self._next == row.time:
            self._start(row.time, row.mark)
        elif row.mark != NOTHING:  # of no use here, but perhaps further down
            mark = self._read(row.mark)
            self._entries.append(_Entry(row.time, mark, open=False))
        if not row.fake:
            for entry in self._entries:
                if entry.open and row.time < entry.time + self._range:
                    entry.values.append(row.value)

    def end(self, until: int) -> tuple[list[Marked], int]:
        """The windows that are complete."""
        while self._next < until:
            self._start(self._next, NOTHING)
        # The first start whose window is not complete: everything before it has come out.
        open_from = -(-(until - self._range + 1) // self._slide) * self._slide
        return list(self._closed(until)), max(0, open_from)

    def _read(self, mark: int) -> int:
        """A mark as it is handed on; τ also says until when windows here must be opened."""
        if mark > 0:
            mark = self._keep_until = mark - (self._range - 1)
        return mark

    def _start(self, time: int, mark: int) -> None:
        self._next = time + self._slide
        mark = self._read(mark)
        if time < self._keep_until:
            if mark <= 0 and self._literal:
                self._keep_until = max(self._keep_until, time + self._range)
            self._entries.append(_Entry(time, mark, open=True))

    def _closed(self, now: int) -> Iterator[Marked]:
        """Windows and fakes in order of time, as far as they are complete."""
        while self._entries:
            entry = self._entries[0]
            if entry.open and entry.time + self._range > now:
                return
            self._entries.popleft()
            if entry.values:
                yield Marked(entry.time, self._function(entry.values), entry.mark)
            elif entry.mark != NOTHING:
                yield Marked(entry.time, mark=entry.mark, fake=True)
