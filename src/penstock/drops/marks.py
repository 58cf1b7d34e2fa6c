"""A working copy of one query's decisions: a byte for each window, 1 if it is dropped."""

from __future__ import annotations

from itertools import chain

import numpy as np

from penstock.drops.decisions import Run, ordered


class Marks:
    """Windows from `first` on, of which some are dropped; it knows how long a gap would get.

    Args:
        first: the window-id of the first byte; windows before it count as kept.
        stop: the window-id after the last byte; windows from it on count as kept.
        runs: the windows that are dropped.

    >>> marks = Marks(0, 10, (Run(1, 2), Run(5, 6)))
    >>> marks.gap(range(3, 5)), marks.gap(range(8, 9))
    (6, 1)
    """

    def __init__(self, first: int, stop: int, runs: tuple[Run, ...]) -> None:
        # One kept window on each side ends every search.
        self._first = first - 1
        self._bytes = bytearray(stop - first + 2)
        for run in runs:
            low, high = max(run.first, first), min(run.last + 1, stop)
            if low < high:
                self._set(range(low, high))
        self._before = bytes(self._bytes)

    def gap(self, windows: range) -> int:
        """How many windows in a row are missing once these are dropped too."""
        begin, end = windows.start - self._first, windows.stop - self._first
        return self._bytes.find(0, end) - self._bytes.rfind(0, 0, begin) - 1

    def all(self, windows: range) -> bool:
        """Whether all of them are dropped."""
        begin, end = windows.start - self._first, windows.stop - self._first
        return self._bytes.find(0, begin, end) < 0

    def drop(self, windows: range) -> None:
        """Drops them, and never takes it back."""
        self._set(windows)

    def added(self, by: int, revoked: int) -> tuple[Run, ...]:
        """What was dropped since the beginning, as runs.

        Args:
            by: the batch for which it was decided.
            revoked: the last window that has begun, and may have counted rows.
        """
        new = np.frombuffer(self._bytes, np.uint8) > np.frombuffer(self._before, np.uint8)
        edges = np.flatnonzero(np.diff(new, prepend=False, append=False)) + self._first
        runs = [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]
        begun = (Run(a, min(b, revoked), by, revoked=True) for a, b in runs if a <= revoked)
        ahead = (Run(max(a, revoked + 1), b, by) for a, b in runs if b > revoked)
        return ordered(chain(begun, ahead))

    def _set(self, windows: range) -> None:
        begin, end = windows.start - self._first, windows.stop - self._first
        self._bytes[begin:end] = b"\1" * (end - begin)
