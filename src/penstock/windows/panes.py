"""Panes are the largest pieces that no window cuts: all rows of a pane have the same windows.

Rows are folded once, into their pane; panes are then merged into windows. Where SLIDE divides
RANGE there is one pane a slide, otherwise there are two, one up to where a window ends and one up
to where a window begins. Where SLIDE exceeds RANGE, every other pane is a gap, in no window.

    RANGE 6, SLIDE 3          RANGE 5, SLIDE 3          RANGE 2, SLIDE 5
    |-----|                   |----|                    |-|
       |-----|                   |----|                      |-|
          |-----|                   |----|                        |-|
    |  |  |  |  |   panes     |  | || || |   panes      | |  | |  | |   panes
"""

from __future__ import annotations

from penstock.errors import UsageError, complaint
from penstock.windows.arithmetic import wids_at, window_end
from penstock.windows.kinds import SLIDE_BY_KINDS
from penstock.windows.spec import WindowSpec


def pane_start(t: int, spec: WindowSpec) -> int:
    """The last window edge at or before `t`, or the start of the stream if that is later.

    Args:
        t: a value of WATTR in the unit of the specification, not before `spec.start`.
        spec: any kind but the slide-by ones.

    >>> from penstock.windows import sliding
    >>> [pane_start(t, sliding(5, 3, on="ts")) for t in range(7)]  # ends at 0, 3; begins at 1, 4
    [0, 1, 1, 3, 4, 4, 6]

    Li et al., SIGMOD 2005, §5.2.2, end.
    """
    edge = max(t - (t - phase) % spec.slide for phase in _phases(t, spec))
    return edge if spec.start is None else max(edge, spec.start)


def pane_end(t: int, spec: WindowSpec) -> int:
    """The first window edge after `t`.

    Args:
        t: a value of WATTR in the unit of the specification, not before `spec.start`.
        spec: any kind but the slide-by ones.

    >>> from penstock.windows import sliding
    >>> [pane_end(t, sliding(5, 3, on="ts")) for t in range(7)]
    [1, 3, 3, 4, 6, 6, 7]

    Li et al., SIGMOD 2005, §5.2.2, end.
    """
    return min(t - (t - phase) % spec.slide + spec.slide for phase in _phases(t, spec))


def windows_of_pane(pane: int, spec: WindowSpec) -> range:
    """The windows that contain the whole pane; empty for a gap.

    Args:
        pane: the start of the pane in the unit of the specification.
        spec: any kind but landmark, which has no last window, and the slide-by ones.

    >>> from penstock.windows import sliding
    >>> windows_of_pane(3, sliding(5, 3, on="ts")), windows_of_pane(0, sliding(2, 5, on="ts"))
    (range(1, 2), range(0, 0))

    Li et al., SIGMOD 2005, §5.2.2, end.
    """
    _phases(pane, spec)
    return wids_at(pane, spec)


def first_window_end(pane: int, spec: WindowSpec) -> int | None:
    """Where the first window with this pane ends: once that is over the pane is complete.

    Args:
        pane: the start of the pane in the unit of the specification.
        spec: as for `windows_of_pane`.

    Returns:
        The end in the unit of the specification; None for a gap.

    >>> from penstock.windows import sliding
    >>> first_window_end(3, sliding(5, 3, on="ts")), first_window_end(0, sliding(2, 5, on="ts"))
    (6, None)

    Li et al., SIGMOD 2005, §5.2.2, end.
    """
    ids = windows_of_pane(pane, spec)
    return window_end(ids[0], spec) if ids else None


def _phases(t: int, spec: WindowSpec) -> set[int]:
    """Window edges are at these values modulo SLIDE: where windows end, and where they begin."""
    if spec.kind in SLIDE_BY_KINDS:
        rule = "need a window with RANGE and SLIDE on one attribute"
        raise UsageError(complaint("panes", rule, spec.kind.value))
    if spec.start is not None and t < spec.start:
        raise UsageError(complaint("panes", f"begin with the stream, at {spec.start}", t))
    begin = spec.origin if spec.range is None else spec.origin - spec.range
    return {spec.origin % spec.slide, begin % spec.slide}
