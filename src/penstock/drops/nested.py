"""An aggregate over an aggregate: what may be dropped below, and what must be dropped above.

    upper   o |-----------|
            x       |-----------|
            x             |-----------|
    lower     |---| |---| |---| |---| |---|
              needed by o       ^ only dropped ones need it: it may be dropped as well

An answer of the lower query comes at the last microsecond of its window. So an upper window needs
the lower windows that end in it, and each of those needs all of its rows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from penstock.drops.decisions import Run
from penstock.windows import WindowSpec, wids_at, window_end

Windows = tuple[WindowSpec, Sequence[Run]]
"""A window, and those of its windows that are dropped."""


def droppable_below(
    lower: WindowSpec, uppers: Sequence[Windows], own: Sequence[Run] | None = None
) -> tuple[Run, ...]:
    """The lower windows that nobody needs: all upper windows with their answers are dropped.

    Args:
        lower: the window of the query below.
        uppers: each query above it, and its dropped windows; at least one.
        own: the dropped windows of the query below, if its answers are delivered too.

    >>> from penstock.windows import sliding, tumbling
    >>> droppable_below(tumbling(2, on="ts"), [(sliding(4, 2, on="ts"), [Run(3, 5)])])
    (Run(first=3, last=4, ...),)
    """
    several = [(upper, _merged((run.first, run.last) for run in runs)) for upper, runs in uppers]
    some = [(upper, spans[0][0], spans[-1][1]) for upper, spans in several if spans]
    # A lower answer outside of these times is in no dropped window.
    begin = min((window_end(first - 1, upper) for upper, first, _ in some), default=0)
    end = max((window_end(last, upper) for upper, _, last in some), default=0)
    mine = None if own is None else _merged((run.first, run.last) for run in own)
    found = []
    for w in range((begin - lower.origin) // lower.slide, (end - lower.origin) // lower.slide):
        time = window_end(w, lower) - 1
        needed = [(wids_at(time, upper), spans) for upper, spans in several]
        # In no window at all: then nothing is known about it.
        unneeded = any(ids for ids, _ in needed) and all(_in(ids, spans) for ids, spans in needed)
        if unneeded and (mine is None or _in(range(w, w + 1), mine)):
            found.append((w, w))
    return _runs(found)


def suppressed_above(lower: Windows, upper: WindowSpec) -> tuple[Run, ...]:
    """The upper windows that would be wrong, since an answer from below is missing or wrong.

    Args:
        lower: the window of the query below, and its dropped windows.
        upper: the window of the query above.

    >>> from penstock.windows import sliding, tumbling
    >>> suppressed_above((tumbling(2, on="ts"), [Run(3, 4)]), sliding(4, 2, on="ts"))
    (Run(first=3, last=5, ...),)
    """
    window, runs = lower
    wrong = [
        wids_at(window_end(w, window) - 1, upper)
        for run in runs
        for w in range(run.first, run.last + 1)
    ]
    return _runs((ids.start, ids.stop - 1) for ids in wrong if ids)


Span = tuple[int, int]


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Spans that touch are one."""
    found: list[Span] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def _runs(spans: Iterable[Span]) -> tuple[Run, ...]:
    return tuple(Run(first, last) for first, last in _merged(spans))


def _in(ids: range, spans: Sequence[Span]) -> bool:
    """Whether all ids are in one span."""
    if not ids:
        return True
    at = bisect_right(spans, ids.start, key=lambda span: span[0]) - 1
    return at >= 0 and ids.stop - 1 <= spans[at][1]
