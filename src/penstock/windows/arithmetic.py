"""The window-ids of a value, and the bounds of a window-id, are arithmetic on whole numbers.

No row is looked at, so an engine may compute the same on columns.

    RANGE 5, SLIDE 2, origin 0:   window w ends at 2(w + 1)

       -1   1   3   5   7   9
        |----1----|                [-1, 4)
            |----2----|            [1, 6)    first_wid(4) = 4 // 2           = 2
                |----3----|        [3, 8)     last_wid(4) = (4 + 5) // 2 - 1 = 3
                    |----4----|    [5, 10)
                  ^
                  4

Slide-by windows follow the same formulas with a step of 1: the window of the row at w has
w - RANGE < t <= w, which in whole numbers is w + 1 - RANGE <= t < w + 1. There the formulas give
the range in which the window-ids of a value fall; which of these ids exist, the rows decide.
"""

from __future__ import annotations

from penstock.errors import UsageError, complaint
from penstock.windows.kinds import SLIDE_BY_KINDS
from penstock.windows.spec import WindowSpec


def first_wid(t: int, spec: WindowSpec) -> int:
    """The first window that ends after `t`; `t` is in it unless it falls into a gap.

    Args:
        t: a value of RATTR in the unit of the specification, not before `spec.start`.
        spec: any kind.

    >>> from penstock.windows import sliding
    >>> first_wid(4, sliding(5, 2, on="ts")), first_wid(-1, sliding(5, 2, on="ts"))
    (2, -1)

    Li et al., SIGMOD 2005, §3.4.
    """
    return (t - spec.origin) // _step(spec)


def last_wid(t: int, spec: WindowSpec) -> int | None:
    """The last window that begins at or before `t`; None where there is always a later one.

    Args:
        t: a value of RATTR in the unit of the specification, not before `spec.start`.
        spec: any kind; landmark windows give None.

    >>> from penstock.windows import cumulative, landmark, sliding
    >>> last_wid(4, sliding(5, 2, on="ts")), last_wid(4, landmark(2, on="ts"))
    (3, None)
    >>> last_wid(25, cumulative(period=20, every=5, on="ts"))  # it ends at 40, with its period
    7

    Li et al., SIGMOD 2005, §3.4.
    """
    if spec.period is not None:
        return ((t - spec.origin) // spec.period + 1) * (spec.period // spec.slide) - 1
    if spec.range is None:
        return None
    return (t + spec.range - spec.origin) // _step(spec) - 1


def wids_at(t: int, spec: WindowSpec) -> range:
    """The windows that contain `t`: none before `start`, and none in a gap.

    Args:
        t: a value of RATTR in the unit of the specification.
        spec: any kind but a landmark window, for which there is no end to them.

    >>> from penstock.windows import sliding
    >>> wids_at(4, sliding(5, 2, on="ts")), wids_at(4, sliding(5, 2, on="ts", start=6))
    (range(2, 4), range(0, 0))

    Li et al., SIGMOD 2005, §3.4; for slide-by windows §6.1.1.
    """
    last = last_wid(t, spec)
    if last is None:
        raise UsageError(complaint("wids_at", "needs a kind with a last window", spec.kind.value))
    if spec.start is not None and t < spec.start:
        return range(0)
    return range(first_wid(t, spec), last + 1)


def window_end(w: int, spec: WindowSpec) -> int:
    """The first value after the window, in the unit of the specification.

    Args:
        w: a window-id; for slide-by windows the RATTR of the row that ends the window.
        spec: any kind.

    >>> from penstock.windows import sliding, slide_by_tuple
    >>> window_end(2, sliding(5, 2, on="ts")), window_end(12, slide_by_tuple(5, on="ts"))
    (6, 13)

    Li et al., SIGMOD 2005, §3.3.
    """
    return spec.origin + (w + 1) * _step(spec)


def window_bounds(w: int, spec: WindowSpec) -> tuple[int | None, int]:
    """A window has the values from its start to before its end; a partial one begins at `start`.

    Args:
        w: a window-id; for slide-by windows the RATTR of the row that ends the window.
        spec: any kind.

    Returns:
        Start and end in the unit of the specification. The start of a landmark window is None where
        the stream has no beginning. A window that ends before `spec.start` has its start after its
        end, and no rows.

    >>> from penstock.windows import sliding
    >>> [window_bounds(w, sliding(5, 2, on="ts", start=0)) for w in (0, 1, 2)]
    [(0, 2), (0, 4), (1, 6)]

    Li et al., SIGMOD 2005, §3.3.
    """
    end = window_end(w, spec)
    if spec.period is not None:
        windows_per_period = spec.period // spec.slide
        begin: int | None = spec.origin + w // windows_per_period * spec.period
    else:
        begin = None if spec.range is None else end - spec.range
    if spec.start is None:
        return begin, end
    return (spec.start if begin is None else max(spec.start, begin)), end


def last_closed(x: int, spec: WindowSpec) -> int:
    """The last window that is complete once no more rows below `x` will come.

    Args:
        x: a value of RATTR in the unit of the specification: a punctuation "RATTR < x is over".
        spec: any kind.

    >>> from penstock.windows import sliding
    >>> last_closed(6, sliding(5, 2, on="ts")), last_closed(7, sliding(5, 2, on="ts"))
    (2, 2)

    Li et al., SIGMOD 2005, §5.1.
    """
    return (x - spec.origin) // _step(spec) - 1


def late_before(x: int, spec: WindowSpec) -> int:
    """Rows below this have a window that is closed, once those that end at or before `x` are.

    Args:
        x: a watermark in the unit of the specification.
        spec: a sliding, tumbling or cumulative window.

    >>> from penstock.windows import sliding
    >>> late_before(7, sliding(5, 2, on="ts")), lost_before(7, sliding(5, 2, on="ts"))
    (6, 3)
    """
    return x - (x - spec.origin) % spec.slide


def lost_before(x: int, spec: WindowSpec) -> int:
    """Rows below this have no window that is open, once those that end at or before `x` are closed.

    Args:
        x: a watermark in the unit of the specification.
        spec: a sliding, tumbling or cumulative window.
    """
    if spec.period is not None:
        return x - (x - spec.origin) % spec.period
    assert spec.range is not None  # noqa: S101 - rows of a landmark window are never lost
    return late_before(x, spec) + spec.slide - spec.range


def _step(spec: WindowSpec) -> int:
    # Where the slide counts rows, window-ids are values of RATTR: any whole number may be one.
    return 1 if spec.kind in SLIDE_BY_KINDS else spec.slide
