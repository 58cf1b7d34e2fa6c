"""Decisions per group as arrays: a batch to hash with, and a threshold for the hash.

B = 3                    window-ids     4  5  6  7 │ 8  9 10 11
kept for every group                    o          │ o
batch, threshold                        -  1  1  1 │ -  2  2  2
panes, RANGE = 2 SLIDE                  dropped for a group where both of its windows are
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.drops.cells import Longs, all_dropped, cells, known, windows_of
from penstock.drops.coins import HASH_BITS
from penstock.drops.decisions import Decisions
from penstock.drops.per_group import batch_of
from penstock.drops.targets import Target
from penstock.windows import window_end
from penstock.windows.grid import grid

ALL = 2**HASH_BITS
"""The threshold that every hash is below."""


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
    levels_known = np.asarray(ends.thresholds, np.int64)
    starts, step = cells([(window, (first_known, levels_known > 0))], grid([window]).width)
    first, last = windows_of(starts, step, window)
    everyone = all_dropped(first - first_known, last - first_known, levels_known == ALL)
    # With a window of the next batch comes one that is kept for every group.
    together = (first <= last) & (first // stride == last // stride) & (first % stride > 0)
    batches, of_cell = np.unique(first // stride, return_inverse=True)
    levels = np.asarray([state.threshold(target.name, int(b)) for b in batches], np.int64)
    inside = together & (first >= first_known)
    found = np.where(everyone, ALL, np.where(inside, levels[of_cell], 0))
    return _thresholds(starts, step, first // stride, found)


def suppressed_per_group(state: Decisions, target: Target) -> Thresholds:
    """The windows, by their ends, whose answers must not be delivered for some groups.

    Args:
        state: the decisions.
        target: a query that is dropped per group.
    """
    levels, stride = state.levels.get(target.name, ()), target.max_gap + 1
    first, dropped = known(state, target)
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


def _thresholds(cells: Longs, step: int, batches: Longs, found: Longs) -> Thresholds:
    at = np.flatnonzero(found)
    if not len(at):
        return Thresholds(0, step, (), ())
    span = slice(int(at[0]), int(at[-1]) + 1)
    return Thresholds(
        int(cells[at[0]]), step, tuple(batches[span].tolist()), tuple(found[span].tolist())
    )
