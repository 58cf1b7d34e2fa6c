"""Where a row stands on the axis of RANGE: a column, row-num, or the rank in its partition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.errors import SchemaError, complaint, did_you_mean
from penstock.windows.kinds import Kind
from penstock.windows.spec import WindowSpec

Row = Mapping[str, Any]
"""One row: column → value. Times are whole microseconds; None is a missing value."""


def positions(rows: Sequence[Row], spec: WindowSpec) -> list[int | None]:
    """One position for each row; None, and the row is in no window, where its RATTR is missing.

    Args:
        rows: T, in order of arrival.
        spec: any kind.

    >>> from penstock.windows.row_windows import rows as last
    >>> T = [{"k": "a"}, {"k": "b"}, {"k": "a"}]
    >>> positions(T, last(2)), positions(T, last(2, by=["k"]))
    ([0, 1, 2], [0, 0, 1])

    Li et al., SIGMOD 2005, §3.3: row-num, and rank(t, row-num, PATTR, T).
    """
    if spec.kind is Kind.TUPLE:
        return list(range(len(rows)))
    if spec.kind is Kind.PARTITIONED_TUPLE:
        seen: dict[tuple[Any, ...], int] = defaultdict(int)
        ranks: list[int | None] = []
        for row in rows:
            partition = partition_of(row, spec)
            ranks.append(seen[partition])
            seen[partition] += 1
        return ranks
    return [_whole(row, spec.rattr) for row in rows]


def partition_of(row: Row, spec: WindowSpec) -> tuple[Any, ...]:
    """The values of PATTR, and the empty tuple where the stream is not parted.

    Args:
        row: one row.
        spec: any kind.

    >>> from penstock.windows.row_windows import rows as last
    >>> partition_of({"k": "a"}, last(2, by=["k"])), partition_of({"k": "a"}, last(2))
    (('a',), ())

    Li et al., SIGMOD 2005, §3.2.
    """
    return tuple(value_of(row, column) for column in spec.pattr)


def window_makers(where: Sequence[int | None], spec: WindowSpec) -> list[int]:
    """The rows that end a window, of a slide-by kind: every n-th, as counted by its SATTR.

    Args:
        where: the position of each row, as `positions` gives them.
        spec: a slide-by kind.

    >>> from penstock.windows import slide_by_rank, slide_by_rows
    >>> window_makers([3, 9, 7, 12], slide_by_rows(5, on="ts", every=2))
    [1, 3]
    >>> window_makers([3, 9, 7, 12], slide_by_rank(5, on="ts", every=2))  # ranks 0, 2, 1, 3
    [2, 3]

    Li et al., SIGMOD 2005, §3.3; the counting is fixed in `row_windows`.
    """
    if not spec.rank:
        # A row without RATTR has a row number like any other, but no window can end at it.
        return [i for i, t in enumerate(where) if t is not None and (i + 1) % spec.slide == 0]
    in_order = sorted((t, i) for i, t in enumerate(where) if t is not None)
    return [i for rank, (_, i) in enumerate(in_order) if (rank + 1) % spec.slide == 0]


def value_of(row: Row, column: str) -> Any:  # noqa: ANN401 - a row holds whatever its source sends
    """The value in a column; a column that is not there is refused, and never read as missing.

    Args:
        row: one row.
        column: its name.

    >>> value_of({"speed": 55}, "sped")
    Traceback (most recent call last):
    penstock.errors.SchemaError: column must be one of the row's, got 'sped'; did you mean 'speed'?
    """
    if column not in row:
        hint = did_you_mean(column, row)
        raise SchemaError(complaint("column", "must be one of the row's", column, hint))
    return row[column]


def _whole(row: Row, column: str) -> int | None:
    value = value_of(row, column)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        hint = "times are whole microseconds since the epoch"
        raise SchemaError(complaint(f"column {column!r}", "must hold whole numbers", value, hint))
    return value
