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

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.drops.cells import Longs, all_dropped, cells, known, windows_of
from penstock.drops.decisions import Decisions
from penstock.drops.targets import Target
from penstock.windows import window_end
from penstock.windows.grid import grid


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

    def all_of(self, begins: Longs, width: int) -> NDArray[np.bool_]:
        """Of several stretches of time, whether all of it is dropped.

        Args:
            begins: where they begin, in microseconds.
            width: of each, in microseconds.

        >>> Flags(10, 5, (True, True, False)).all_of(np.array([5, 10, 12, 15]), 6)
        array([False,  True,  True, False])
        """
        first, last = (
            (begins - self.base) // self.step,
            (begins + width - 1 - self.base) // self.step,
        )
        dropped = np.concatenate([[0], np.cumsum(np.array(self.flags, np.int64))])
        most = len(self.flags)
        known = dropped[np.clip(last + 1, 0, most)] - dropped[np.clip(first, 0, most)]
        return np.asarray(known == last + 1 - first)

    def share(self, since: int, until: int) -> float:
        """The share of a stretch of time that is dropped.

        Args:
            since: in microseconds.
            until: later, in microseconds.

        >>> Flags(10, 5, (True, False, True)).share(5, 25)
        0.5
        """
        dropped = 0
        for i, flag in enumerate(self.flags):
            begin = self.base + i * self.step
            if flag:
                dropped += max(0, min(until, begin + self.step) - max(since, begin))
        return dropped / (until - since)


def early(state: Decisions, targets: Iterable[Target]) -> Flags:
    """The panes of which every row may be dropped: all windows of all these queries with it are.

    Args:
        state: the decisions.
        targets: all queries that get rows from where the drop stands.

    Tatbul and Zdonik, VLDB 2006, §3.4, Rule 1.
    """
    several = [(target.window, known(state, target)) for target in targets]
    step = grid(window for window, _ in several).width
    if all(not len(dropped) for _, (_, dropped) in several):
        return Flags(0, step, ())
    starts, step = cells(several, step)
    fine = np.ones(len(starts), bool)
    somewhere = np.zeros(len(starts), bool)
    for window, (first_known, dropped) in several:
        first, last = windows_of(starts, step, window)
        somewhere |= last >= first
        fine &= (last < first) | all_dropped(first - first_known, last - first_known, dropped)
    return _trimmed(starts, step, fine & somewhere)


def suppressed(state: Decisions, target: Target) -> Flags:
    """The windows, by their ends, whose answers must not be delivered.

    Args:
        state: the decisions.
        target: the query.
    """
    first, dropped = known(state, target)
    ends = window_end(first, target.window) + np.arange(len(dropped)) * target.window.slide
    return _trimmed(ends, target.window.slide, dropped)


def _trimmed(cells: Longs, step: int, flags: NDArray[np.bool_]) -> Flags:
    at = np.flatnonzero(flags)
    if not len(at):
        return Flags(0, step, ())
    return Flags(int(cells[at[0]]), step, tuple(flags[at[0] : at[-1] + 1].tolist()))
