"""Cells of time, and the windows that have a part of each: `windows.arithmetic` on arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.drops.decisions import Decisions
from penstock.drops.targets import Target
from penstock.windows import WindowSpec, window_end
from penstock.windows.grid import grid

MOST = 10_000
"""Cells of an array; where there would be more they are made wider, and fewer rows dropped."""

Longs = NDArray[np.int64]
Known = tuple[int, NDArray[np.bool_]]
"""A window-id, and whether it and those after it are dropped."""


def known(state: Decisions, target: Target) -> Known:
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


def cells(several: Sequence[tuple[WindowSpec, Known]], step: int) -> tuple[Longs, int]:
    """The cells that a dropped window ends in or after, on the grid or wider."""
    some = [(window, first, len(known)) for window, (first, known) in several if len(known)]
    low = min(window_end(first - 1, window) for window, first, _ in some)
    high = max(window_end(first + count - 1, window) for window, first, count in some)
    phase = grid(window for window, _ in several).phase
    low -= (low - phase) % step
    step *= max(1, -(-(high - low) // (step * MOST)))
    return np.arange(low, high, step, dtype=np.int64), step


def windows_of(cells: Longs, step: int, window: WindowSpec) -> tuple[Longs, Longs]:
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


def all_dropped(first: Longs, last: Longs, dropped: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether all from first to last are dropped; those that are not known are not."""
    sums = np.concatenate(([0], np.cumsum(dropped)))
    low, high = np.clip(first, 0, len(dropped)), np.clip(last + 1, 0, len(dropped))
    found: NDArray[np.bool_] = (first <= last) & (sums[high] - sums[low] == last + 1 - first)
    return found
