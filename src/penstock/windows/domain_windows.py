"""Windows with RANGE and SLIDE on one attribute (WATTR): time, or any column of whole numbers."""

from __future__ import annotations

from penstock.windows.amounts import DomainUnit, length, point
from penstock.windows.durations import Duration, Instant
from penstock.windows.spec import WindowSpec


def sliding(
    range: Duration,
    slide: Duration,
    on: str,
    *,
    origin: Instant = 0,
    start: Instant | None = None,
    unit: DomainUnit = "time",
) -> WindowSpec:
    """A window of length `range` ends at `origin + (w + 1) * slide` for every whole number w.

    Args:
        range: a duration, or µs as an int; a plain number if `unit` is "value".
        slide: as `range`; it may be larger, and some rows are then in no window.
        on: the column (WATTR) that both are on.
        origin: an instant, or µs since the epoch; a plain number if `unit` is "value".
        start: as `origin`; extents are clipped there. None: the stream has no beginning.
        unit: "time", or "value" for a column of plain whole numbers.

    >>> str(sliding("300 seconds", "60 seconds", on="ts"))
    'RANGE 5 min SLIDE 1 min WATTR ts'

    Li et al., SIGMOD 2005, §3.2 (Q1).
    """
    return WindowSpec(
        range=length(range, "range", unit),
        slide=length(slide, "slide", unit),
        rattr=on,
        sattr=on,
        origin=point(origin, "origin", unit),
        start=None if start is None else point(start, "start", unit),
        unit=unit,
    )


def tumbling(
    range: Duration,
    on: str,
    *,
    origin: Instant = 0,
    start: Instant | None = None,
    unit: DomainUnit = "time",
) -> WindowSpec:
    """Every row is in exactly one window, for the windows are as long as their slide.

    Args:
        range: a duration, or µs as an int; a plain number if `unit` is "value".
        on: the column (WATTR).
        origin: as for `sliding`.
        start: as for `sliding`.
        unit: as for `sliding`.

    >>> tumbling("1 minute", on="ts").kind
    <Kind.TUMBLING: 'tumbling'>

    Li et al., SIGMOD 2005, §3.3.
    """
    return sliding(range, range, on, origin=origin, start=start, unit=unit)


def spark_aligned(
    range: Duration,
    slide: Duration,
    on: str,
    *,
    origin: Instant = 0,
    unit: DomainUnit = "time",
) -> WindowSpec:
    """Windows start, not end, at `origin + i * slide`, as those of Spark's `window()` do.

    Args:
        range: a duration, or µs as an int.
        slide: a duration, or µs as an int; Spark itself refuses one that is larger than `range`.
        on: the column (WATTR).
        origin: an instant, or µs since the epoch; what Spark calls `startTime`.
        unit: as for `sliding`.

        RANGE 5, SLIDE 3     0  3  6  9                           0  3  6  9
        spark_aligned        |----|         sliding                |----|
                                |----|                                |----|
                             [0, 5) [3, 8)                         [1, 6) [4, 9)

    >>> spark_aligned(5, 3, on="ts").origin, spark_aligned(6, 3, on="ts").origin
    (2, 0)

    Li et al., SIGMOD 2005, §3.3 has the ends there; the two agree where `slide` divides `range`.
    """
    spec = sliding(range, slide, on, origin=origin, unit=unit)
    long = length(range, "range", unit)
    return sliding(long, spec.slide, on, origin=spec.origin + long % spec.slide, unit=unit)


def landmark(
    slide: Duration,
    on: str,
    *,
    origin: Instant = 0,
    start: Instant | None = None,
    unit: DomainUnit = "time",
) -> WindowSpec:
    """Every window begins where the stream begins, and at every `slide` one ends.

    Args:
        slide: a duration, or µs as an int; a plain number if `unit` is "value".
        on: the column (WATTR).
        origin: as for `sliding`.
        start: the landmark, as for `sliding`. None: all rows that ever came.
        unit: as for `sliding`.

    >>> str(landmark("1 hour", on="ts"))
    'LANDMARK SLIDE 1 h WATTR ts'

    Li et al., SIGMOD 2005, §3.3 (named there, without a formula).
    """
    return WindowSpec(
        range=None,
        slide=length(slide, "slide", unit),
        rattr=on,
        sattr=on,
        origin=point(origin, "origin", unit),
        start=None if start is None else point(start, "start", unit),
        unit=unit,
    )


def cumulative(
    period: Duration,
    every: Duration,
    on: str,
    *,
    origin: Instant = 0,
    start: Instant | None = None,
    unit: DomainUnit = "time",
) -> WindowSpec:
    """A window begins where its period begins, and at `every` step of the period one ends.

    Args:
        period: a duration, or µs as an int; a plain number if `unit` is "value".
        every: as `period`, which it must divide.
        on: the column (WATTR).
        origin: where a period begins; otherwise as for `sliding`.
        start: as for `sliding`.
        unit: as for `sliding`.

        |-0-|
        |---1---|              "since midnight, every minute"
        |-----2-----|          is cumulative("1 day", "1 minute", on="ts")
                    |-3-|
                    |---4---|

    >>> str(cumulative("1 day", every="1 minute", on="ts"))
    'PERIOD 1 day SLIDE 1 min WATTR ts'

    A landmark (Li et al., SIGMOD 2005, §3.3) that moves on by `period`.
    """
    return WindowSpec(
        range=None,
        period=length(period, "period", unit),
        slide=length(every, "slide", unit),
        rattr=on,
        sattr=on,
        origin=point(origin, "origin", unit),
        start=None if start is None else point(start, "start", unit),
        unit=unit,
    )
