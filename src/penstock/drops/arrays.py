"""Decisions as arrays that an engine can look a row's time, or a window's end, up in.

    windows, RANGE 6, SLIDE 2      o |-----|
                                   x   |-----|
                                   x     |-----|
                                   x       |-----|
                                   o         |-----|
    panes of 2                       o o o x o o          dropped early: all of its windows are

A time outside of an array is kept; so an empty or a stale array never drops anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.drops.coins import HASH_BITS
from penstock.drops.decisions import Decisions
from penstock.drops.per_group import batch_of
from penstock.drops.targets import Target
from penstock.windows import WindowSpec, window_end
from penstock.windows.grid import grid

MOST = 10_000
"""Cells of an array; where there would be more they are made wider, and fewer rows dropped."""
ALL = 2**HASH_BITS
"""The threshold that every hash is below."""

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Flags:
    """Whether something is dropped, at `base + i * step` and up to the next.

    Args:
        base: where the first cell begins, in microseconds.
        step: the width of a cell, in microseconds.
        flags: True for what is dropped.

    >>> [Flags(10, 5, (True, False, True)).at(t) for t in (9, 10, 14, 15, 20, 25)]
    [False, True, True, False, True, False]
    """

    base: int
    step: int
    flags: tuple[bool, ...]

    def at(self, t: int) -> bool:
        """Whether it is dropped there."""
        i = (t - self.base) // self.step
        return 0 <= i < len(self.flags) and self.flags[i]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Which groups are dropped, at `base + i * step` and up to the next.

    Args:
        base: where the first cell begins, in microseconds.
        step: the width of a cell, in microseconds.
        batches: what the hash is of, besides query and group.
        thresholds: groups with a hash below are dropped; 0 for none.
    """

    base: int
    step: int
    batches: tuple[int, ...]
    thresholds: tuple[int, ...]

    def at(self, t: int) -> tuple[int, int]:
        """The batch and the threshold that hold there."""
        i = (t - self.base) // self.step
        inside = 0 <= i < len(self.thresholds)
        return (self.batches[i], self.thresholds[i]) if inside else (0, 0)


def early(state: Decisions, targets: Iterable[Target]) -> Flags:
    """The panes of which every row may be dropped: all windows of all these queries with it are.

    Args:
        state: the decisions.
        targets: all queries that get rows from where the drop stands.

    Tatbul and Zdonik, VLDB 2006, §3.4, Rule 1.
    """
    several = [(target.window, _known(state, target)) for target in targets]
    step = grid(window for window, _ in several).width
    if all(not len(dropped) for _, (_, dropped) in several):
        return Flags(0, step, ())
    cells, step = _cells(several, step)
    fine = np.ones(len(cells), bool)
    somewhere = np.zeros(len(cells), bool)
    for window, (first_known, dropped) in several:
        first, last = _windows(cells, step, window)
        somewhere |= last >= first
        fine &= (last < first) | _all(first - first_known, last - first_known, dropped)
    return _trimmed(cells, step, fine & somewhere)


def suppressed(state: Decisions, target: Target) -> Flags:
    """The windows, by their ends, whose answers must not be delivered.

    Args:
        state: the decisions.
        target: the query.
    """
    first, dropped = _known(state, target)
    ends = window_end(first, target.window) + np.arange(len(dropped)) * target.window.slide
    return _trimmed(ends, target.window.slide, dropped)


def early_per_group(state: Decisions, target: Target) -> Thresholds:
    """The panes of which rows may be dropped, those of groups whose windows with it all are.

    Args:
        state: the decisions.
        target: a query that is dropped per group.
    """
    window, stride = target.window, target.max_gap + 1
    ends = suppressed_per_group(state, target)
    if not ends.thresholds:
        return ends
    first_known = (ends.base - window.origin) // window.slide - 1
    known = np.asarray(ends.thresholds, np.int64)
    cells, step = _cells([(window, (first_known, known > 0))], grid([window]).width)
    first, last = _windows(cells, step, window)
    everyone = _all(first - first_known, last - first_known, known == ALL)
    # With a window of the next batch comes one that is kept for every group.
    together = (first <= last) & (first // stride == last // stride) & (first % stride > 0)
    batches, of_cell = np.unique(first // stride, return_inverse=True)
    levels = np.asarray([state.threshold(target.name, int(b)) for b in batches], np.int64)
    inside = together & (first >= first_known)
    found = np.where(everyone, ALL, np.where(inside, levels[of_cell], 0))
    return _thresholds(cells, step, first // stride, found)


def suppressed_per_group(state: Decisions, target: Target) -> Thresholds:
    """The windows, by their ends, whose answers must not be delivered for some groups.

    Args:
        state: the decisions.
        target: a query that is dropped per group.
    """
    levels, stride = state.levels.get(target.name, ()), target.max_gap + 1
    first, dropped = _known(state, target)
    stop = max([first + len(dropped), *((level.last + 1) * stride for level in levels)])
    if levels:
        begin = levels[0].first * stride
        first_open = state.first_open(target.window)
        begin = begin if first_open is None else max(begin, first_open)
        first = min(first, begin) if len(dropped) else begin
    ids = range(first, stop)
    batches = [batch_of(w, target.max_gap) for w in ids]
    found = [
        ALL
        if state.is_dropped(target.name, w)
        else (0 if batch is None else state.threshold(target.name, batch))
        for w, batch in zip(ids, batches, strict=True)
    ]
    ends = window_end(first, target.window) + np.arange(len(ids)) * target.window.slide
    numbers = np.asarray([w // stride for w in ids], np.int64)
    return _thresholds(ends, target.window.slide, numbers, np.asarray(found, np.int64))


_Known = tuple[int, NDArray[np.bool_]]


def _known(state: Decisions, target: Target) -> _Known:
    """The first window that is dropped and not closed, and whether it and those after it are."""
    first_open = state.first_open(target.window)
    runs = [run for run in state.runs(target.name) if first_open is None or run.last >= first_open]
    if not runs:
        return 0, np.zeros(0, bool)
    first = runs[0].first if first_open is None else max(first_open, runs[0].first)
    dropped = np.zeros(runs[-1].last + 1 - first, bool)
    for run in runs:
        dropped[max(run.first - first, 0) : run.last + 1 - first] = True
    return first, dropped


def _cells(several: Sequence[tuple[WindowSpec, _Known]], step: int) -> tuple[Longs, int]:
    """The cells that a dropped window ends in or after, on the grid or wider."""
    some = [(window, first, len(known)) for window, (first, known) in several if len(known)]
    low = min(window_end(first - 1, window) for window, first, _ in some)
    high = max(window_end(first + count - 1, window) for window, first, count in some)
    phase = grid(window for window, _ in several).phase
    low -= (low - phase) % step
    step *= max(1, -(-(high - low) // (step * MOST)))
    return np.arange(low, high, step, dtype=np.int64), step


def _windows(cells: Longs, step: int, window: WindowSpec) -> tuple[Longs, Longs]:
    """The first and the last window that a cell has a part of; `arithmetic` on arrays."""
    origin, slide = window.origin, window.slide
    end = cells + (step - 1)
    first = (cells - origin) // slide
    if window.period is not None:
        last = ((end - origin) // window.period + 1) * (window.period // slide) - 1
    else:
        assert window.range is not None  # noqa: S101 - a target has a range or a period
        last = (end + window.range - origin) // slide - 1
    if window.start is not None:
        last = np.where(end < window.start, first - 1, last)
    return first, last


def _all(first: Longs, last: Longs, dropped: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether all from first to last are dropped; those that are not known are not."""
    sums = np.concatenate(([0], np.cumsum(dropped)))
    inside = (first >= 0) & (last < len(dropped)) & (first <= last)
    low, high = np.clip(first, 0, len(dropped)), np.clip(last + 1, 0, len(dropped))
    found: NDArray[np.bool_] = inside & (sums[high] - sums[low] == last + 1 - first)
    return found


def _trimmed(cells: Longs, step: int, flags: NDArray[np.bool_]) -> Flags:
    at = np.flatnonzero(flags)
    if not len(at):
        return Flags(0, step, ())
    return Flags(int(cells[at[0]]), step, tuple(flags[at[0] : at[-1] + 1].tolist()))


def _thresholds(cells: Longs, step: int, batches: Longs, found: Longs) -> Thresholds:
    at = np.flatnonzero(found)
    if not len(at):
        return Thresholds(0, step, (), ())
    span = slice(int(at[0]), int(at[-1]) + 1)
    return Thresholds(
        int(cells[at[0]]), step, tuple(batches[span].tolist()), tuple(found[span].tolist())
    )
