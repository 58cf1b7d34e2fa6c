"""Where the boxes of a picture go: in layers from left to right, no edge through a box.

layer 0      layer 1      layer 2          A box stands one layer after the last one that
┌─────┐      ┌─────┐                       feeds it. An edge that passes a layer has a place
│  a  ├──┬──►│  b  ├──┐   ┌─────┐          of its own there, as if it were a low box.
└─────┘  │   └─────┘  └──►│  c  │
         └───────────────►│     │
                          └─────┘
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

Edge = tuple[str, str]

LANE = 8.0
"""The height that an edge takes where it passes a layer."""

_SWEEPS = 8


@dataclass(frozen=True, slots=True)
class Layers:
    """Where everything goes.

    Args:
        layer: of each box, from 0.
        centre: of each box, from the top; no box begins above 0.
        passes: where an edge passes the layers between its ends, from the top.
        height: of the whole.
    """

    layer: dict[str, int]
    centre: dict[str, float]
    passes: dict[Edge, list[float]]
    height: float


def layered(heights: Mapping[str, float], edges: Sequence[Edge], gap: float) -> Layers:
    """Places boxes so that none overlap and few edges cross.

    Args:
        heights: of each box; those first that feed others.
        edges: from box to box, each once.
        gap: between boxes of a layer.

    >>> placed = layered({"a": 10, "b": 10, "c": 10}, [("a", "b"), ("b", "c"), ("a", "c")], 10)
    >>> placed.layer, len(placed.passes["a", "c"])
    ({'a': 0, 'b': 1, 'c': 2}, 1)
    """
    layer = dict.fromkeys(heights, 0)
    for box in heights:
        layer[box] = max((layer[a] + 1 for a, b in edges if b == box), default=0)
    # An edge over several layers becomes a chain of low boxes.
    chains = {edge: _chain(edge, layer) for edge in edges}
    steps = [step for chain in chains.values() for step in pairwise(chain)]
    lanes = {lane: LANE for chain in chains.values() for lane in chain[1:-1]}
    size = {**heights, **lanes}
    rows = _ordered(_rows(heights, chains, layer), steps)
    centre = _centres(rows, steps, size, gap)
    top = min(centre[one] - size[one] / 2 for one in size)
    centre = {one: at - top for one, at in centre.items()}
    return Layers(
        layer,
        {box: centre[box] for box in heights},
        {edge: [centre[lane] for lane in chain[1:-1]] for edge, chain in chains.items()},
        max(centre[one] + size[one] / 2 for one in size),
    )


def _chain(edge: Edge, layer: Mapping[str, int]) -> list[str]:
    a, b = edge
    return [a, *(f"{a}\0{b}\0{passed}" for passed in range(layer[a] + 1, layer[b])), b]


def _rows(
    boxes: Mapping[str, float], chains: Mapping[Edge, list[str]], layer: Mapping[str, int]
) -> list[list[str]]:
    """The boxes of each layer as one finds them from the left: no tree crosses itself so."""
    rows: list[list[str]] = [[] for _ in range(max(layer.values()) + 1)]
    begun: set[str] = set()

    def walk(box: str) -> None:
        begun.add(box)
        rows[layer[box]].append(box)
        for (a, b), chain in chains.items():
            if a == box:
                for at, lane in enumerate(chain[1:-1], start=layer[a] + 1):
                    rows[at].append(lane)
                if b not in begun:
                    walk(b)

    for box in boxes:
        if box not in begun and not layer[box]:
            walk(box)
    return rows


def _ordered(rows: list[list[str]], steps: Sequence[Edge]) -> list[list[str]]:
    """Each box is moved to where its neighbours are, as long as fewer edges cross."""
    best, fewest = rows, _crossings(rows, steps)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        back = sweep % 2
        numbers = _numbers(rows)
        rows = [
            sorted(row, key=lambda one: _mean(_beside(one, steps, back), numbers, numbers[one]))
            for row in rows
        ]
        crossings = _crossings(rows, steps)
        if crossings < fewest:
            best, fewest = rows, crossings
    return best


def _beside(one: str, steps: Sequence[Edge], back: int) -> list[str]:
    return [step[back] for step in steps if step[1 - back] == one]


def _numbers(rows: list[list[str]]) -> dict[str, float]:
    return {one: number / len(row) for row in rows for number, one in enumerate(row)}


def _mean(those: list[str], at: Mapping[str, float], otherwise: float) -> float:
    return sum(at[one] for one in those) / len(those) if those else otherwise


def _crossings(rows: list[list[str]], steps: Sequence[Edge]) -> int:
    number = {one: n for row in rows for n, one in enumerate(row)}
    level = {one: n for n, row in enumerate(rows) for one in row}
    between: dict[int, list[tuple[int, int]]] = {}
    for a, b in steps:
        between.setdefault(level[a], []).append((number[a], number[b]))
    return sum(
        (a - c) * (b - d) < 0
        for ends in between.values()
        for n, (a, b) in enumerate(ends)
        for c, d in ends[n + 1 :]
    )


def _centres(
    rows: list[list[str]], steps: Sequence[Edge], size: Mapping[str, float], gap: float
) -> dict[str, float]:
    """Boxes stand in the middle of those that they feed, and of those that feed them."""
    around: dict[str, list[str]] = {one: [] for one in size}
    for a, b in steps:
        around[a].append(b)
        around[b].append(a)
    centre: dict[str, float] = dict.fromkeys(size, 0.0)
    for sweep in range(4 * _SWEEPS):
        for row in rows if sweep % 2 else reversed(rows):
            wanted = [_mean(around[one], centre, centre[one]) for one in row]
            apart = [(size[a] + size[b]) / 2 + gap for a, b in pairwise(row)]
            centre |= zip(row, settled(wanted, apart), strict=True)
    return centre


def settled(wanted: Sequence[float], apart: Sequence[float]) -> list[float]:
    """The places nearest to those wanted (least squares) that are in order and far enough apart.

    Args:
        wanted: where each would stand alone.
        apart: at least this far is each from the one before it.

    >>> settled([0, 0, 100], [10, 10])
    [-5.0, 5.0, 100.0]
    """
    # Without the distances it is to be a rising sequence: neighbours that fall share their mean.
    shift = [0.0, *accumulate(apart)]
    level: list[tuple[float, int]] = []
    for want, by in zip(wanted, shift, strict=True):
        total, count = want - by, 1
        while level and level[-1][0] * count >= total * level[-1][1]:
            more, those = level.pop()
            total, count = total + more, count + those
        level.append((total, count))
    flat = [total / count for total, count in level for _ in range(count)]
    return [at + by for at, by in zip(flat, shift, strict=True)]
