"""Inputs that are alike are one dimension of a table (§8.2.4: merge several inputs into one).

Two inputs are alike if each goes its own way without splits or merges, and for the same score both
bring about the same load to every node. Then only their sum matters, and both are shed alike. Loads
that are measured are never quite the same: the largest of a kind stands for all of it, which costs
at most the tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from penstock.nodes.compiling import compiled
from penstock.nodes.model import Input, Network
from penstock.nodes.program import Program, Vector
from penstock.nodes.splits import Location, Splits

_EXACT = 1e-9


@dataclass(frozen=True)
class Alike:
    """A network in which inputs that are alike are one.

    Args:
        network: with one input for each kind.
        members: of each input that is left, the inputs it stands for and how many of its own rows
            a row of theirs counts as.
        places: where the inputs that are not left can be dropped from.
        loss: the share of the best score that is lost since the largest load stands for all.
    """

    network: Network
    members: Mapping[str, Mapping[str, float]]
    places: Mapping[str, Location]
    loss: float

    def rates(self, rates: Mapping[str, float]) -> dict[str, float]:
        """The rates of the inputs that are left, in rows per second."""
        return {
            name: sum(times * rates[member] for member, times in those.items())
            for name, those in self.members.items()
        }


@dataclass
class _Kind:
    """Inputs that are alike: their names, and the least and largest loads for a score of one."""

    names: list[str]
    least: Vector
    most: Vector

    def takes(self, load: Vector, tolerance: Vector) -> bool:
        """Whether another is alike to all of them."""
        least, most = np.minimum(self.least, load), np.maximum(self.most, load)
        return bool((most <= least * (1 + tolerance)).all())


def alike(network: Network, tolerance: float = 0.0) -> Alike:
    """Puts inputs that are alike together.

    Args:
        network: one fragment.
        tolerance: the share by which loads for the same score may differ.
    """
    splits, program = Splits(network), compiled(network)
    ways = {name: _way(network, splits, name) for name in program.entering}
    worth = dict(zip(program.entering, (program.score @ program.spread).tolist(), strict=True))
    kinds = _kinds(network, program, {n: w for n, w in ways.items() if worth[n] > 0}, tolerance)
    members = {
        first: {first: 1.0, **{name: worth[name] / worth[first] for name in rest}}
        for first, *rest in (kind.names for kind in kinds)
    }
    gone = {name for kind in kinds for name in kind.names[1:]}
    boxes = {box for name in gone for box in ways[name] or ()}
    costs = _costs(network, program, kinds, ways)
    left = replace(
        network,
        inputs=tuple(
            _sum(network, members[i.name], i) for i in network.inputs if i.name in members
        ),
        boxes=tuple(
            replace(box, cost=costs.get(box.name, box.cost))
            for box in network.boxes
            if box.name not in boxes
        ),
        outputs=tuple(o for o in network.outputs if o.after not in boxes | gone),
    )
    entrances = {location.after: location for location in program.locations}
    apart = [_ratio(kind.most, kind.least).max(initial=1.0) for kind in kinds if kind.names[1:]]
    loss = 1 - 1 / max(apart, default=1.0)
    return Alike(left, members, {name: entrances[name] for name in gone}, float(loss))


def _kinds(
    network: Network,
    program: Program,
    ways: Mapping[str, list[str] | None],
    tolerance: float,
) -> list[_Kind]:
    """All inputs by kind; those that go no way of their own are each of their own kind."""
    links = {str(link) for link in network.links}
    # Nobody can make a narrow link wider for all of a kind: there they must be the same.
    allowed = np.array([_EXACT if name in links else tolerance + _EXACT for name in program.limits])
    worth = program.score @ program.spread
    found: list[_Kind] = []
    for place, name in enumerate(program.entering):
        load = program.load @ program.spread[:, place] / max(worth[place], 1e-300)
        kind = next(
            (
                kind
                for kind in found
                if ways.get(name) is not None
                and ways.get(kind.names[0]) is not None
                and kind.takes(load, allowed)
            ),
            None,
        )
        if kind is None:
            found.append(_Kind([name], load, load))
        else:
            kind.names.append(name)
            kind.least, kind.most = np.minimum(kind.least, load), np.maximum(kind.most, load)
    return found


def _costs(
    network: Network, program: Program, kinds: list[_Kind], ways: Mapping[str, list[str] | None]
) -> dict[str, float]:
    """What boxes cost in the name of all of their kind, on each node as much as the dearest."""
    costs: dict[str, float] = {}
    worth = program.score @ program.spread
    for kind in kinds:
        if len(kind.names) > 1:
            place = program.entering.index(kind.names[0])
            own = program.load @ program.spread[:, place] / worth[place]
            times = dict(zip(program.limits, _ratio(kind.most, own).tolist(), strict=True))
            for name in ways[kind.names[0]] or ():
                box = network.box[name]
                costs[name] = box.cost * times[box.node]
    return costs


def _ratio(most: Vector, least: Vector) -> NDArray[np.float64]:
    return np.divide(most, least, out=np.ones_like(most), where=least > 0)


def _sum(network: Network, members: Mapping[str, float], one: Input) -> Input:
    rate = sum(times * network.rates[name] for name, times in members.items())
    most = sum(times * network.most[name] for name, times in members.items())
    return replace(one, rate=rate, most=most or None)


def _way(network: Network, splits: Splits, name: str) -> list[str] | None:
    """The boxes from an input to an output, if nothing joins or leaves them."""
    way: list[str] = []
    while True:
        consumers = splits.consumers[name]
        if len(consumers) != 1:
            return None
        name = consumers[0]
        if name not in network.box:
            return way
        if len(network.box[name].inputs) > 1:
            return None
        way.append(name)
