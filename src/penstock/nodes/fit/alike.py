"""Inputs that differ only in scale are one dimension of a table (§8.2.4: merge inputs into one).

Two inputs are alike if each goes its own way without splits or merges, and for the same score both
bring the same load to every node. Then only their sum matters, and both are shed alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from penstock.nodes.compiling import compiled
from penstock.nodes.model import Input, Network
from penstock.nodes.splits import Location, Splits

_DIGITS = 9


@dataclass(frozen=True)
class Alike:
    """A network in which inputs that are alike are one.

    Args:
        network: with one input for each kind.
        members: of each input that is left, the inputs it stands for and how many of its own rows
            a row of theirs counts as.
        places: where the inputs that are not left can be dropped from.
    """

    network: Network
    members: Mapping[str, Mapping[str, float]]
    places: Mapping[str, Location]

    def rates(self, rates: Mapping[str, float]) -> dict[str, float]:
        """The rates of the inputs that are left, in rows per second."""
        return {
            name: sum(times * rates[member] for member, times in those.items())
            for name, those in self.members.items()
        }


def alike(network: Network) -> Alike:
    """Puts inputs that are alike together.

    Args:
        network: one fragment.
    """
    splits, program = Splits(network), compiled(network)
    kinds: dict[bytes, list[str]] = {}
    worth: dict[str, float] = {}
    ways: dict[str, list[str]] = {}
    for place, name in enumerate(program.entering):
        way, score = _way(network, splits, name), float(program.score @ program.spread[:, place])
        key = name.encode()
        if way is not None and score > 0:
            loads = program.load @ program.spread[:, place] / (score * program.capacity)
            key = np.round(loads, _DIGITS).tobytes()
            ways[name], worth[name] = way, score
        kinds.setdefault(key, []).append(name)
    members = {
        first: {first: 1.0, **{name: worth[name] / worth[first] for name in rest}}
        for first, *rest in kinds.values()
    }
    gone = {name for _, *rest in kinds.values() for name in rest}
    boxes = {box for name in gone for box in ways[name]}
    inputs = tuple(_sum(network, members[i.name], i) for i in network.inputs if i.name in members)
    left = replace(
        network,
        inputs=inputs,
        boxes=tuple(box for box in network.boxes if box.name not in boxes),
        outputs=tuple(o for o in network.outputs if o.after not in boxes | gone),
    )
    entrances = {location.after: location for location in program.locations}
    return Alike(left, members, {name: entrances[name] for name in gone})


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
