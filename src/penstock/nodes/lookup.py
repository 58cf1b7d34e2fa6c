"""Plans made in advance, found in microseconds and known by an id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.nodes.program import Vector
from penstock.nodes.splits import Location

LISTS = ("axis", "cut", "lower", "upper", "plan", "corner", "counts")
"""Of a part, what is looked at without numpy, which is slow for a few numbers."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The plan to use: all that a node need be told.

    Args:
        id: of the plan.
        scaling: the share of each input that is let in before the plan applies.
    """

    id: str
    scaling: Mapping[str, float]


@dataclass(frozen=True)
class Part:
    """Plans of one fragment: a tree of cuts, and a plan for each region that is not cut.

    Args:
        inputs: their names, in the order of the dimensions.
        locations: of the drops.
        entry: of each location, the input that it drops from; -1 behind a split.
        axis: of each region, the dimension of its cut; -1 if it is not cut.
        cut: where it is cut, in rows per second.
        lower: the half below.
        upper: the half above.
        plan: of each region that is not cut. In plan 0 nothing is dropped but by scaling.
        corner: of each such region, the rates that inputs are scaled down to.
        keeps: of each plan, what is kept at each location.
        counts: of each input, 1 if it brings anything; the others are the first to be dropped.
        loads: seconds per second of each node, rows per second of each link, for a row per second.
        capacity: of these.
        error: the largest share of the best score that a plan may lose.
    """

    inputs: tuple[str, ...]
    locations: tuple[Location, ...]
    entry: tuple[int, ...]
    axis: list[int]
    cut: list[float]
    lower: list[int]
    upper: list[int]
    plan: list[int]
    corner: list[list[float]]
    keeps: Vector
    counts: list[float]
    loads: Vector
    capacity: Vector
    error: float

    def select(self, rates: Sequence[float]) -> tuple[int, list[float]]:
        """The plan for some rates and the scaling of each input; -1 if nothing need be dropped."""
        if not (self.loads @ rates > self.capacity).any():
            return -1, [1.0] * len(rates)
        if 0.0 in self.counts:
            rates = [rate * counts for rate, counts in zip(rates, self.counts, strict=True)]
            if not (self.loads @ rates > self.capacity).any():
                return 0, self.counts
        axes, cuts, lower, upper = self.axis, self.cut, self.lower, self.upper
        at = 0
        while (axis := axes[at]) >= 0:
            at = upper[at] if rates[axis] >= cuts[at] else lower[at]
        scaled = [
            low / rate if rate > low else counts
            for low, rate, counts in zip(self.corner[at], rates, self.counts, strict=True)
        ]
        return self.plan[at], scaled


@dataclass(frozen=True)
class Plans:
    """Plans for all rates that were planned for.

    Args:
        parts: a tree for each fragment of the network.
    """

    parts: tuple[Part, ...]

    @property
    def error(self) -> float:
        """The largest share of the best score that a plan may lose, ε."""
        return max((part.error for part in self.parts), default=0.0)

    def select(self, rates: Mapping[str, float]) -> Choice | None:
        """The plan to use; None if no node is overloaded.

        Args:
            rates: of all inputs, in rows per second.
        """
        ids: list[str] = []
        scaling: dict[str, float] = {}
        sheds = False
        for part in self.parts:
            number, scaled = part.select([rates[name] for name in part.inputs])
            scaling |= zip(part.inputs, scaled, strict=True)
            ids.append(str(number) if number >= 0 else "-")
            sheds = sheds or number >= 0
        return Choice("/".join(ids), scaling) if sheds else None

    def keeps(self, choice: Choice) -> dict[Location, float]:
        """What is kept at each drop location, scaling included.

        Args:
            choice: as `select` gave it.
        """
        kept: dict[Location, float] = {}
        for part, number in zip(self.parts, choice.id.split("/"), strict=True):
            if number == "-":
                continue
            for place, location in enumerate(part.locations):
                entry = part.entry[place]
                scale = choice.scaling[part.inputs[entry]] if entry >= 0 else 1.0
                kept[location] = scale * float(part.keeps[int(number), place])
        return kept
