"""A point quadtree over the entries of a table (§6.4): the best one below a point, found fast.

┌─────┬──────┐       Each entry parts its region in 2^d sides; a side has a child only if there
│     │  ·   │       are entries in it. A child knows the best score and the lowest corner of
├─────p──────┤       all that is below it: what brings less than was found, or lies above the
│  ·  │    · │       point, is not looked at.
└─────┴──────┘
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from penstock.nodes.program import Vector

_GOLDEN = 0.6180339887498949


class PointQuadtree:
    """The entries of a table, to be asked for the best one that is nowhere above a point.

    Args:
        rates: of each entry, in rows per second; one must be 0 everywhere.
        scores: of each entry.
    """

    def __init__(self, rates: Vector, scores: Vector) -> None:
        # A tree is flat if entries come in no order: steps of the golden ratio through the scores.
        ranked = np.lexsort((*rates.T, scores))
        mixed = np.argsort((np.arange(len(ranked)) * _GOLDEN) % 1.0, kind="stable")
        self._order: list[int] = ranked[mixed].tolist()
        self._points: list[list[float]] = rates[self._order].tolist()
        self._scores: list[float] = scores[self._order].tolist()
        self._best = self._scores.copy()
        self._lowest = [point.copy() for point in self._points]
        children: list[dict[int, int]] = [{} for _ in self._points]
        for number in range(1, len(self._points)):
            self._insert(number, children)
        self._children = [list(those.values()) for those in children]

    def _insert(self, number: int, children: list[dict[int, int]]) -> None:
        point, score, at = self._points[number], self._scores[number], 0
        while True:
            self._best[at] = max(self._best[at], score)
            self._lowest[at] = list(map(min, self._lowest[at], point))
            side = sum(
                1 << axis
                for axis, (mine, its) in enumerate(zip(point, self._points[at], strict=True))
                if mine >= its
            )
            below = children[at].get(side)
            if below is None:
                children[at][side] = number
                return
            at = below

    def best(self, point: Sequence[float]) -> int:
        """The number of the best entry that is nowhere above a point.

        Args:
            point: rates, in rows per second.
        """
        points, scores, best, lowest = self._points, self._scores, self._best, self._lowest
        found, most = -1, -1.0
        waiting = [(-best[0], 0)]
        while waiting:
            promised, at = heapq.heappop(waiting)
            if -promised <= most:
                break
            if scores[at] > most and _below(points[at], point):
                found, most = at, scores[at]
            for child in self._children[at]:
                if best[child] > most and _below(lowest[child], point):
                    heapq.heappush(waiting, (-best[child], child))
        if found < 0:
            raise LookupError("a table has an entry of nothing, which is below every point")
        return self._order[found]


def _below(one: Sequence[float], other: Sequence[float]) -> bool:
    for mine, its in zip(one, other, strict=True):  # noqa: SIM110 - three times as fast as all()
        if mine > its:
            return False
    return True
