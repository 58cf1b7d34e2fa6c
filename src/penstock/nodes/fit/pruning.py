"""Entries that others stand for are left out (§6.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.nodes.fit.table import Table
from penstock.nodes.program import Vector

_DIGITS = 10
_COMPARED = 6_000
_BLOCK = 256


def pruned(table: Table, near: float, load: Vector) -> Table:
    """Without entries for which another takes in no more and brings about as much.

    Args:
        table: all of them.
        near: the share by which the other may bring less.
        load: of each drop location on each node, to keep the entry that costs least.
    """
    table = _best_of_equal(table, load)
    return table.only(_undominated(table, near))


def _best_of_equal(table: Table, load: Vector) -> Table:
    """Of entries with the same rates the one that brings most, then the one that costs least."""
    if not len(table):
        return table
    scale = np.maximum(table.rates.max(axis=0), 1e-300)
    keys = np.round(table.rates / scale, _DIGITS)
    busy = (table.flows @ load.T).sum(axis=1)
    order = np.lexsort((busy, -table.scores, *keys.T))
    sorted_keys = keys[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (sorted_keys[1:] != sorted_keys[:-1]).any(axis=1)
    return table.only(order[new])


def _undominated(table: Table, near: float) -> NDArray[np.int64]:
    """Each entry left out has one that is kept below it; so nothing is lost twice."""
    # An entry can only be below another if it takes in less in sum.
    order = np.lexsort((-table.scores, table.rates.sum(axis=1)))
    rates, scores = table.rates[order], table.scores[order]
    kept = np.empty(0, dtype=np.int64)
    for start in range(0, len(order), _BLOCK):
        block = np.arange(start, min(start + _BLOCK, len(order)))
        # Comparing each with all takes the square of their number.
        if len(kept) <= _COMPARED:
            block = block[~_stands(rates[kept], scores[kept], rates[block], scores[block], near)]
            block = _among(rates, scores, block, near)
        kept = np.concatenate([kept, block])
    return order[kept]


def _stands(
    kept: Vector, kept_scores: Vector, rates: Vector, scores: Vector, near: float
) -> NDArray[np.bool_]:
    """Whether one that is kept stands for each of some entries."""
    enough = kept_scores[None, :] >= scores[:, None] * (1 - near)
    for axis in range(rates.shape[1]):
        enough &= kept[None, :, axis] <= rates[:, None, axis]
    found: NDArray[np.bool_] = np.any(enough, axis=1)
    return found


def _among(
    rates: Vector, scores: Vector, block: NDArray[np.int64], near: float
) -> NDArray[np.int64]:
    """Of a block, those that none before them in it stands for."""
    kept: list[int] = []
    for place in block.tolist():
        one = slice(place, place + 1)
        if not _stands(rates[kept], scores[kept], rates[one], scores[one], near)[0]:
            kept.append(place)
    return np.array(kept, dtype=np.int64)
