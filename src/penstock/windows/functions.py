"""`windows`, `extent` and `wids` on plain rows are the meaning of a window; all else must agree.

T is a sequence of rows in order of arrival, and a row is known by its position in T. `extent` goes
from a window to its rows, `wids` from a row to its windows, each by a formula of its own; each is
the inverse of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.windows.arithmetic import first_wid, last_closed, last_wid, wids_at, window_bounds
from penstock.windows.kinds import SLIDE_BY_KINDS, Kind
from penstock.windows.positions import Row, partition_of, positions, window_makers
from penstock.windows.spec import WindowSpec

WindowId = int | tuple[int, tuple[Any, ...]]
"""A whole number; (number, values of PATTR) for partitioned windows."""


def windows(rows: Sequence[Row], spec: WindowSpec, until: int | None = None) -> Sequence[WindowId]:
    """The window-ids from the first to the last whose extent has a row, in order.

    Args:
        rows: T, in order of arrival.
        spec: any kind.
        until: leaves out windows that end after it; in the unit of RATTR, in rows of the partition
            for partitioned windows. Landmark windows have no last one: there it is where they
            end, and without it they end with the first that has every row.

    >>> from penstock.windows import sliding, slide_by_rows
    >>> T = [{"ts": 3}, {"ts": 9}, {"ts": 7}, {"ts": 12}]
    >>> windows(T, sliding(5, 2, on="ts"))
    range(1, 8)
    >>> windows(T, slide_by_rows(5, on="ts", every=2))  # the second row and the fourth
    [9, 12]

    Li et al., SIGMOD 2005, §3.3.
    """
    where = positions(rows, spec)
    if spec.kind in SLIDE_BY_KINDS:
        ends = {t for i in window_makers(where, spec) if (t := where[i]) is not None}
        return sorted(w for w in ends if until is None or w <= last_closed(until, spec))
    if spec.kind is not Kind.PARTITIONED_TUPLE:
        return _from_first_to_last(where, spec, until)
    members: dict[tuple[Any, ...], list[int | None]] = {}
    for row, rank in zip(rows, where, strict=True):
        members.setdefault(partition_of(row, spec), []).append(rank)
    return [(i, p) for p, ranks in members.items() for i in _from_first_to_last(ranks, spec, until)]


def extent(w: WindowId, rows: Sequence[Row], spec: WindowSpec) -> list[int]:
    """The rows that are in window `w`, as positions in `rows`, in order of arrival.

    Args:
        w: a window-id.
        rows: T, in order of arrival.
        spec: any kind.

    >>> from penstock.windows import sliding, slide_by_tuple
    >>> T = [{"ts": 3}, {"ts": 9}, {"ts": 7}, {"ts": 12}]
    >>> extent(3, T, sliding(5, 2, on="ts"))  # [3, 8)
    [0, 2]
    >>> extent(9, T, slide_by_tuple(5, on="ts"))  # (4, 9]
    [1, 2]

    Li et al., SIGMOD 2005, §3.3.
    """
    number, partition = _parts(w)
    begin, end = window_bounds(number, spec)
    return [
        i
        for i, t in enumerate(positions(rows, spec))
        if t is not None
        and (begin is None or begin <= t)
        and t < end
        and partition_of(rows[i], spec) == partition
    ]


def wids(i: int, rows: Sequence[Row], spec: WindowSpec, until: int | None = None) -> list[WindowId]:
    """The windows, of those that `windows` gives, that the i-th row is in, in order.

    Args:
        i: the position of the row in `rows`, from 0.
        rows: T, in order of arrival.
        spec: any kind.
        until: as for `windows`.

    >>> from penstock.windows import sliding, slide_by_tuple
    >>> T = [{"ts": 3}, {"ts": 9}, {"ts": 7}, {"ts": 12}]
    >>> wids(2, T, sliding(5, 2, on="ts")), wids(2, T, slide_by_tuple(5, on="ts"))
    ([3, 4, 5], [7, 9])

    Li et al., SIGMOD 2005, §3.4.
    """
    t = positions(rows, spec)[i]
    if t is None or (spec.start is not None and t < spec.start):
        return []
    first, last = first_wid(t, spec), last_wid(t, spec)
    partition = partition_of(rows[i], spec)
    return [
        w
        for w in windows(rows, spec, until)
        if _parts(w)[1] == partition
        and first <= _parts(w)[0]
        and (last is None or _parts(w)[0] <= last)
    ]


def _from_first_to_last(where: Sequence[int | None], spec: WindowSpec, until: int | None) -> range:
    """The ids from the first to the last window that has a row at one of the positions."""
    inside = [t for t in where if t is not None and (spec.start is None or t >= spec.start)]
    if spec.kind is Kind.LANDMARK:
        numbers = [first_wid(t, spec) for t in inside]
    else:
        numbers = [n for t in inside if (ids := wids_at(t, spec)) for n in (ids[0], ids[-1])]
    if not numbers:
        return range(0)
    last = max(numbers)
    if until is not None:
        closed = last_closed(until, spec)
        last = closed if spec.kind is Kind.LANDMARK else min(last, closed)
    return range(min(numbers), last + 1)


def _parts(w: WindowId) -> tuple[int, tuple[Any, ...]]:
    return w if isinstance(w, tuple) else (w, ())
