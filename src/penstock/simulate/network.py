"""Operators with costs and selectivities; one stream comes in at the top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from penstock.control.checks import amount
from penstock.control.coefficients import coefficients
from penstock.errors import SpecificationError, complaint, did_you_mean


@dataclass(frozen=True, slots=True)
class Box:
    """An operator.

    Args:
        name: of the operator.
        cost: seconds of work for a row that it takes in.
        selectivity: rows out for each row in; a join can have more than 1.
        above: the operators that feed it; none for the one that reads the stream.
    """

    name: str
    cost: float
    selectivity: float = 1.0
    above: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        amount("cost", self.cost)
        amount("selectivity", self.selectivity)


@dataclass(frozen=True)
class Boxes:
    """A network, from the stream down: a box comes after those that feed it.

    Args:
        boxes: of which the first reads the stream.

    >>> shared = Boxes((Box("f", 1.0, 0.5), Box("a", 2.0, above=("f",)), Box("b", 3.0, 1, ("f",))))
    >>> shared.cost, shared.feeds["f"]
    (3.5, ('a', 'b'))
    """

    boxes: Sequence[Box]

    def __post_init__(self) -> None:
        known: list[str] = []
        for box in self.boxes:
            if bool(box.above) != bool(known):
                rule = "must be fed by a box, unless it is the first"
                raise SpecificationError(complaint(f"box {box.name!r}", rule, box.above))
            for name in box.above:
                if name not in known:
                    hint = did_you_mean(name, known)
                    raise SpecificationError(complaint("above", "must come before", name, hint))
            if box.name in known:
                raise SpecificationError(complaint("box", "must have its own name", box.name))
            known.append(box.name)
        if not known:
            raise SpecificationError(complaint("a network", "needs a box", self.boxes))

    @cached_property
    def feeds(self) -> dict[str, tuple[str, ...]]:
        """The boxes that each one feeds; one that feeds none delivers answers."""
        found: dict[str, list[str]] = {box.name: [] for box in self.boxes}
        for box in self.boxes:
            for name in box.above:
                found[name].append(box.name)
        return {name: tuple(those) for name, those in found.items()}

    @cached_property
    def coefficients(self) -> dict[str, float]:
        """Seconds of work that a row brings to each box and all below it."""
        costs = {box.name: box.cost for box in self.boxes}
        return coefficients(costs, {b.name: b.selectivity for b in self.boxes}, self.feeds)

    @property
    def cost(self) -> float:
        """Seconds of work that a row of the stream brings."""
        return self.coefficients[self.boxes[0].name]


def flat(boxes: int, cost: float, selectivity: float = 1.0) -> Boxes:
    """One query: boxes in a row, which together cost so many seconds for a row that gets through.

    Args:
        boxes: how many.
        cost: of all together, in seconds.
        selectivity: of each.
    """
    names = [f"box {i}" for i in range(boxes)]
    return Boxes(
        tuple(
            Box(name, cost / boxes, selectivity, above=() if i == 0 else (names[i - 1],))
            for i, name in enumerate(names)
        )
    )


def shared(queries: int, depth: int, cost: float, fan: int = 4) -> Boxes:
    """A tree of shared selections under one source, each query with boxes of its own below.

        source ─┬─ shared ─┬─ query ─ …
                │          └─ query ─ …
                └─ shared ─── …

    Args:
        queries: how many.
        depth: boxes of each query alone.
        cost: seconds of work that a row of the stream brings to the whole network.
        fan: queries that share a selection.
    """
    boxes = [Box("source", 1.0)]
    for query in range(queries):
        above = f"shared {query // fan}"
        if query % fan == 0:
            boxes.append(Box(above, 1.0, 0.9, ("source",)))
        for place in range(depth):
            name = f"query {query} box {place}"
            boxes.append(Box(name, 1.0, 0.9, (above,)))
            above = name
    unit = cost / Boxes(tuple(boxes)).cost
    return Boxes(tuple(Box(b.name, b.cost * unit, b.selectivity, b.above) for b in boxes))
