"""The naive evaluator: for each window take its extent, group it, fold it.

It is as slow as it looks, and it is right by looking at it: every faster way is tested against it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from penstock.windows.arithmetic import window_bounds
from penstock.windows.fold import Fold
from penstock.windows.functions import WindowId, extent, windows
from penstock.windows.kinds import DOMAIN_KINDS
from penstock.windows.positions import Row, positions, value_of
from penstock.windows.spec import WindowSpec

Aggregates = Mapping[str, tuple[Fold[Any], str | None]]
"""Name of the result column → aggregate and the column that it is of; None for count(*)."""

Result = dict[str, Any]
"""One result row: the window, the keys, the aggregates."""


@dataclass(frozen=True, slots=True)
class Accounts:
    """Where the rows went: `rows_in == counted + late_lost + no_time + in_no_window`.

    Args:
        rows_in: rows that came.
        counted: rows that count in at least one window, those of `late_partial` included.
        late_lost: rows that count in no window, because they came too late.
        late_partial: rows that count in some of their windows only, because they came too late.
        no_time: rows without a value in RATTR.
        in_no_window: rows before `start` or in a gap between windows.

    >>> Accounts(rows_in=3, counted=3) + Accounts(rows_in=2, counted=1, no_time=1)
    Accounts(rows_in=5, counted=4, late_lost=0, late_partial=0, no_time=1, in_no_window=0)
    """

    rows_in: int = 0
    counted: int = 0
    late_lost: int = 0
    late_partial: int = 0
    no_time: int = 0
    in_no_window: int = 0

    def __add__(self, other: Accounts) -> Accounts:
        return Accounts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def evaluate(
    rows: Sequence[Row],
    spec: WindowSpec,
    keys: Sequence[str],
    aggs: Aggregates,
    until: int | None = None,
) -> list[Result]:
    """The exact answer: one row for each window and group that has a row, in their order.

    Args:
        rows: T, in order of arrival; a row without RATTR is in no window.
        spec: any kind.
        keys: the grouping columns.
        aggs: the aggregates by the name of their result.
        until: as for `windows`.

    Returns:
        Mappings with `window_start` and `window_end` in the unit of the specification, or with
        `wid` (and PATTR) where rows drive the windows; then the keys; then the aggregates.

    >>> from penstock.windows import tumbling
    >>> from penstock.windows.aggregates import COUNT_ALL
    >>> T = [{"ts": 3, "k": "a"}, {"ts": 9, "k": "a"}, {"ts": 8, "k": "a"}]
    >>> for row in evaluate(T, tumbling(5, on="ts"), ["k"], {"n": (COUNT_ALL, None)}):
    ...     print(row)
    {'window_start': 0, 'window_end': 5, 'k': 'a', 'n': 1}
    {'window_start': 5, 'window_end': 10, 'k': 'a', 'n': 2}

    Li et al., SIGMOD 2005, §3.3.
    """
    return [
        {**label(w, spec), **group}
        for w in windows(rows, spec, until)
        for group in fold_groups([rows[i] for i in extent(w, rows, spec)], keys, aggs)
    ]


def account(rows: Sequence[Row], spec: WindowSpec) -> Accounts:
    """Where the rows of a complete stream went; none of them is late.

    Args:
        rows: T, in order of arrival.
        spec: any kind.

    >>> from penstock.windows import sliding
    >>> account([{"ts": 4}, {"ts": 1}, {"ts": None}], sliding(2, 5, on="ts"))  # [3, 5), [8, 10)
    Accounts(rows_in=3, counted=1, late_lost=0, late_partial=0, no_time=1, in_no_window=1)
    """
    missing = sum(t is None for t in positions(rows, spec))
    counted = len({i for w in windows(rows, spec) for i in extent(w, rows, spec)})
    outside = len(rows) - missing - counted
    return Accounts(len(rows), counted, no_time=missing, in_no_window=outside)


def fold_groups(rows: Sequence[Row], keys: Sequence[str], aggs: Aggregates) -> list[Result]:
    """The groups of some rows with their aggregates, in the order of the keys, None first.

    Args:
        rows: the rows of one window.
        keys: the grouping columns.
        aggs: the aggregates by the name of their result.

    >>> from penstock.windows.aggregates import SUM
    >>> fold_groups([{"k": "b", "v": 2}, {"k": None, "v": 1}], ["k"], {"v": (SUM, "v")})
    [{'k': None, 'v': 1}, {'k': 'b', 'v': 2}]
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(_key(value_of(row, key)) for key in keys), []).append(row)
    ordered = sorted(groups, key=lambda group: [(v is not None, v) for v in group])
    return [
        dict(zip(keys, group, strict=True))
        | {
            name: fold.of(
                None if column is None else value_of(row, column) for row in groups[group]
            )
            for name, (fold, column) in aggs.items()
        }
        for group in ordered
    ]


def label(w: WindowId, spec: WindowSpec) -> Result:
    """The columns that tell which window a result is of.

    Args:
        w: a window-id.
        spec: any kind.

    >>> from penstock.windows import rows, tumbling
    >>> label(0, tumbling(5, on="ts")), label((3, ("a",)), rows(5, by=["k"]))
    ({'window_start': 0, 'window_end': 5}, {'wid': 3, 'k': 'a'})
    """
    if isinstance(w, tuple):
        return {"wid": w[0], **dict(zip(spec.pattr, w[1], strict=True))}
    if spec.kind in DOMAIN_KINDS:
        start, end = window_bounds(w, spec)
        return {"window_start": start, "window_end": end}
    return {"wid": w}


def _key(value: Any) -> Any:  # noqa: ANN401 - whatever is grouped by
    # NaN is not equal to itself, but Spark has one group for it: let there be one NaN object.
    return math.nan if isinstance(value, float) and math.isnan(value) else value
