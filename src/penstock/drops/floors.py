"""Rare groups keep their rows, and heavy ones give more: each bucket of groups has a share.

    group ─► hash ─► one of 1,024 buckets ─► the share of its rows that is kept

How many rows the groups of a bucket have in a window is known from the windows that were answered.
A bucket keeps as much as its smallest group needs for the floor; where no group is known, all. What
is decided does not grow with the groups, and no group is ever named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.drops.coins import threshold

BUCKETS = 1024

_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class Bucket:
    """The groups that have one hash.

    Args:
        rows: of all of them, in a window.
        least: of the smallest of them, in a window.
    """

    rows: float
    least: float


Buckets = Mapping[int, Bucket]
"""Number of a bucket → what is known of its groups; those that are not named have none."""


def thresholds(known: Buckets, keep: float, floor: int) -> tuple[int, ...]:
    """Of each bucket, the number below which that of a row must be for it to stay.

    Args:
        known: what the last windows had.
        keep: the share of all rows to keep, as far as the floor allows.
        floor: rows that a group keeps in a window at least, about.

    Returns:
        None at all where nothing is known yet, or all rows are kept.

    >>> heavy, rare = Bucket(9900, 9900), Bucket(100, 10)
    >>> found = thresholds({3: heavy, 4: rare}, keep=0.1, floor=10)
    >>> [round(found[i] / 2**62, 3) for i in (3, 4, 5)]
    [0.091, 1.0, 1.0]
    """
    if not known or keep >= 1:
        return ()
    # A bucket keeps at least what its smallest group needs; the others share what is left.
    least = {number: min(1.0, floor / one.least) for number, one in known.items()}
    budget = keep * sum(one.rows for one in known.values())

    def kept(share: float) -> float:
        return sum(one.rows * max(share, least[number]) for number, one in known.items())

    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if kept(middle) <= budget else (low, middle)
    shares = [1.0] * BUCKETS
    for number in known:
        shares[number] = max(low, least[number])
    return tuple(map(threshold, shares))


def cut(shares: Sequence[int]) -> tuple[float, int | None]:
    """The least share that a bucket keeps, and the buckets that do not keep all, as bits.

    Args:
        shares: from `thresholds`; none where all groups keep the same.

    >>> share, those = cut([threshold(0.25), threshold(1.0), threshold(0.5)])
    >>> share, f"{those:b}"
    (0.25, '101')
    """
    all_ = threshold(1.0)
    least = min(shares, default=all_) / all_
    return least, sum(1 << i for i, below in enumerate(shares) if below < all_) if shares else None


def to_json(known: Mapping[str, Buckets]) -> dict[str, Any]:
    """What is known of the groups of queries, as plain values."""
    return {
        query: [[number, one.rows, one.least] for number, one in sorted(buckets.items())]
        for query, buckets in known.items()
    }


def from_json(values: Mapping[str, Sequence[Sequence[Any]]]) -> dict[str, Buckets]:
    """What `to_json` gave."""
    return {
        query: {int(number): Bucket(float(rows), float(least)) for number, rows, least in listed}
        for query, listed in values.items()
    }
