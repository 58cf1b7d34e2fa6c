"""Entries that others stand for are left out (§6.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.nodes.fit.table import Table
from penstock.nodes.program import Vector

_DIGITS = 10
_COMPARED = 20_000


def pruned(table: Table, near: float, load: Vector) -> Table:
    """Without entries for which another takes in no more and brings about as much.

    Args:
        table: all of them.
        near: the share by which the other may bring less.
        load: of each drop location on each node, to keep the entry that costs least.
    """
    table = _best_of_equal(table, load)
    # Comparing each with all takes the square of their number.
    return table.only(_undominated(table, near)) if len(table) <= _COMPARED else table


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
    order = np.lexsort((-table.scores, table.rates.sum(axis=1)))
    rates, scores = table.rates[order], table.scores[order]
    kept_rates, kept_scores = np.empty_like(rates), np.empty_like(scores)
    kept: list[int] = []
    for place in range(len(order)):
        count = len(kept)
        enough = kept_scores[:count] >= scores[place] * (1 - near)
        below = (kept_rates[:count][enough] <= rates[place]).all(axis=1)
        if not below.any():
            kept_rates[count], kept_scores[count] = rates[place], scores[place]
            kept.append(place)
    return order[kept]
