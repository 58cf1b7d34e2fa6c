"""Groups of queries may be folded into panes together, where that leaves fewer rows to fold.

    packets by protocol   1 row ─► 1 entry          by protocol, port and whether it is TCP
    TCP packets           1 row ─► 1 entry    or    1 row ─► 1 entry, 1 pane ─► 3 groups
    TCP bytes by port     1 row ─► 1 entry

Together they have the keys of all, each in the rows that are for a group that has it, and one more
that says which groups a row is in: there are more panes, each of which goes on to several groups.
Whether that pays depends on the rows, so it is decided by some of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

PANE, WINDOW = 12.0, 1.3
"""What a pane costs, and the pane's entry in a window, where folding a row costs 1."""

_MIX = np.int64(-7046029254386353131)


@dataclass(frozen=True)
class Sampled:
    """A group, and which rows of a sample are in it.

    Args:
        passes: one truth for each row.
        keys: names of its keys.
        width: of its panes, in microseconds.
        overlap: how many windows a pane is in, over all its queries.
    """

    passes: NDArray[np.bool_]
    keys: tuple[str, ...]
    width: int
    overlap: float


@dataclass(frozen=True)
class Rows:
    """A sample of a stream's rows.

    Args:
        times: event times in microseconds.
        keys: name of a key → a number for each row, equal where the keys are equal.
    """

    times: NDArray[np.int64]
    keys: Mapping[str, NDArray[np.int64]]


def cost(groups: Sequence[Sampled], rows: Rows, width: int) -> float:
    """What it costs to fold the rows of a sample into panes of these groups together.

    Args:
        groups: those that are folded together.
        rows: the sample.
        width: of the common panes, in microseconds.
    """
    taken = np.logical_or.reduce([group.passes for group in groups])
    parts = [rows.times // width]
    for name in sorted({key for group in groups for key in group.keys}):
        # A key is looked at only in rows that are for a group that has it.
        used = np.logical_or.reduce([group.passes for group in groups if name in group.keys])
        parts.append(np.where(used, rows.keys[name], 0))
    if len(groups) > 1:
        bits = (group.passes.astype(np.int64) << i for i, group in enumerate(groups))
        parts.append(reduce(np.add, bits))
    with np.errstate(over="ignore"):
        mixed = reduce(lambda a, b: (a ^ (a >> 29)) * _MIX + b, parts)
    panes = np.unique(mixed[taken]).size
    entries = sum(np.unique(mixed[group.passes]).size * group.overlap for group in groups)
    return float(taken.sum()) + PANE * panes + WINDOW * entries


def folds(
    groups: Sequence[Sampled], rows: Rows, widths: Mapping[frozenset[int], int]
) -> list[tuple[int, ...]]:
    """Which groups are folded together, by number; every group is in one fold.

    Args:
        groups: all groups over one stream.
        rows: a sample of it.
        widths: of common panes, for each two groups that can be folded together.
    """
    now: list[tuple[int, ...]] = [(i,) for i in range(len(groups))]
    costs = {fold: cost([groups[fold[0]]], rows, groups[fold[0]].width) for fold in now}
    while True:
        best: tuple[float, tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None = None
        for i, one in enumerate(now):
            for other in now[i + 1 :]:
                pairs = [widths.get(frozenset((a, b))) for a in one for b in other]
                if any(width is None for width in pairs):
                    continue
                both = tuple(sorted(one + other))
                if both not in costs:
                    known = [width for width in pairs if width is not None]
                    width = int(np.gcd.reduce([*known, *(groups[i].width for i in both)]))
                    costs[both] = cost([groups[i] for i in both], rows, width)
                saved = costs[one] + costs[other] - costs[both]
                if saved > 0 and (best is None or saved > best[0]):
                    best = saved, one, other, both
        if best is None:
            return now
        _, one, other, both = best
        now = sorted([fold for fold in now if fold not in (one, other)] + [both])
