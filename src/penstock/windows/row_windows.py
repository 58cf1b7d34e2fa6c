"""Windows that count rows: both RANGE and SLIDE (tuple windows), or SLIDE alone (slide-by windows).

The paper leaves open where counting starts and what becomes of ties. Here:

- row-num is the position at which a row arrived, from 0;
- rank(RATTR) is the position in the order of RATTR, from 0, and ties are in order of arrival;
- sliding by n rows, every n-th row ends a window: those with (number + 1) % n == 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.windows.amounts import DomainUnit, length
from penstock.windows.durations import Duration
from penstock.windows.kinds import ROW_NUM
from penstock.windows.spec import WindowSpec


def rows(range: int, slide: int = 1, *, by: Sequence[str] = ()) -> WindowSpec:
    """The last `range` rows, renewed every `slide` rows; with `by`, in each partition by itself.

    Args:
        range: a number of rows.
        slide: a number of rows; it may be larger than `range`.
        by: the columns (PATTR) that part the stream; one may be given as a plain string.

    >>> print(rows(1000, 10))
    RANGE 1000 rows SLIDE 10 rows WATTR row-num
    >>> print(rows(1000, 10, by=["seg_id"]))
    RANGE 1000 rows SLIDE 10 rows WATTR row-num PATTR seg_id

    Li et al., SIGMOD 2005, §3.2 (Q2, Q4).
    """
    # A plain string is a sequence too, of letters.
    pattr = (by,) if isinstance(by, str) else tuple(by)
    return WindowSpec(
        range=range, slide=slide, rattr=ROW_NUM, sattr=ROW_NUM, pattr=pattr, start=0, unit="rows"
    )


def slide_by_tuple(range: Duration, on: str, *, unit: DomainUnit = "time") -> WindowSpec:
    """Every row ends a window that reaches back by `range`.

    Args:
        range: a duration, or µs as an int; a plain number if `unit` is "value".
        on: the column (RATTR) that `range` is on.
        unit: "time", or "value" for a column of plain whole numbers.

        ts        3       7   9     12
                  x       x   x     x      RANGE 5
        window 9    (---------]            has 7 and 9; its id is the ts of the row that ends it
        window 12         (---------]      has 9 and 12, and not 7

    >>> str(slide_by_tuple("300 seconds", on="ts"))
    'RANGE 5 min RATTR ts SLIDE 1 row SATTR row-num'

    Li et al., SIGMOD 2005, §3.2 (Q3).
    """
    return slide_by_rows(range, on, every=1, unit=unit)


def slide_by_rows(range: Duration, on: str, *, every: int, unit: DomainUnit = "time") -> WindowSpec:
    """Every n-th row to arrive ends a window that reaches back by `range`.

    Args:
        range: a duration, or µs as an int; a plain number if `unit` is "value".
        on: the column (RATTR) that `range` is on.
        every: n, in rows; the n-th row of the stream is the first to end a window.
        unit: as for `slide_by_tuple`.

    >>> str(slide_by_rows("300 seconds", on="ts", every=5))
    'RANGE 5 min RATTR ts SLIDE 5 rows SATTR row-num'

    Li et al., SIGMOD 2005, §3.3.
    """
    return WindowSpec(
        range=length(range, "range", unit), slide=every, rattr=on, sattr=ROW_NUM, unit=unit
    )


def slide_by_rank(range: Duration, on: str, *, every: int, unit: DomainUnit = "time") -> WindowSpec:
    """Every n-th row in the order of `on` ends a window that reaches back by `range`.

    Args:
        range: a duration, or µs as an int; a plain number if `unit` is "value".
        on: the column (RATTR) that `range` is on, and that orders the rows.
        every: n, in rows; ties are in order of arrival.
        unit: as for `slide_by_tuple`.

    >>> str(slide_by_rank("300 seconds", on="ts", every=5))
    'RANGE 5 min RATTR ts SLIDE 5 rows SATTR rank(ts)'

    Li et al., SIGMOD 2005, §3.2 (Q5).
    """
    return WindowSpec(
        range=length(range, "range", unit), slide=every, rattr=on, sattr=on, rank=True, unit=unit
    )
