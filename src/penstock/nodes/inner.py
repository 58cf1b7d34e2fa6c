"""Boxes that feed others of their node: these are computed with them, and no row leaves between.

         node A                                     as it runs
left ─► clean ─┬─► web  ─► node B            left ─┬─► web, clean in it  ─► node B
               └─► mail ─► node B                  └─► mail, clean in it ─► node B
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.errors import SpecificationError, complaint
from penstock.nodes.model import Network
from penstock.nodes.parts import Box


@dataclass(frozen=True, slots=True)
class _Way:
    """How the rows of a stream come to a box.

    Args:
        stream: an input, or a box of another node.
        cost: seconds for each of its rows, up to the box and in it.
        gain: rows out of the box for each of them.
    """

    stream: str
    cost: float
    gain: float


def within(network: Network, name: str) -> tuple[str, ...]:
    """The boxes of its node that a box is computed with, those first that feed others.

    Args:
        network: as it was written.
        name: of the box.
    """
    box = network.box[name]
    found: list[str] = []
    for fed_by in box.inputs:
        if _beside(network, box, fed_by):
            found += [*within(network, fed_by), fed_by]
    return tuple(dict.fromkeys(found))


def is_inner(network: Network, name: str) -> bool:
    """Whether a box is only there for others of its node.

    Args:
        network: as it was written.
        name: of the box.
    """
    fed = [one for one in network.boxes if name in one.inputs]
    out = any(output.after == name for output in network.outputs)
    return bool(fed) and not out and all(one.node == network.box[name].node for one in fed)


def joined(network: Network) -> Network:
    """The network as it runs: boxes without those of their node between, whose work they do.

    Args:
        network: as it was written.
    """
    rates = _rates(network)
    outer = [box for box in network.boxes if not is_inner(network, box.name)]
    return replace(network, boxes=tuple(_joined(network, box, rates) for box in outer))


def _joined(network: Network, box: Box, rates: dict[str, float]) -> Box:
    if not within(network, box.name):
        return box
    ways = list(_ways(network, box))
    twice = [name for name, times in Counter(way.stream for way in ways).items() if times > 1]
    if twice:
        rule = f"must get the rows of {twice[0]!r} in one way on its node"
        hint = "unite them in one cql"
        raise SpecificationError(complaint(f"box {box.name!r}", rule, "two ways", hint))
    # A box has one cost for all that enters: in the mean of its rows.
    weights = [rates[way.stream] for way in ways]
    if not sum(weights):
        weights = [1.0] * len(ways)
    cost = sum(w * way.cost for w, way in zip(weights, ways, strict=True)) / sum(weights)
    gain = sum(w * way.gain for w, way in zip(weights, ways, strict=True)) / sum(weights)
    return replace(box, inputs=tuple(way.stream for way in ways), cost=cost, selectivity=gain)


def _ways(network: Network, box: Box) -> Iterator[_Way]:
    for name in box.inputs:
        if not _beside(network, box, name):
            yield _Way(name, box.cost, box.selectivity)
            continue
        for way in _ways(network, network.box[name]):
            cost = way.cost + way.gain * box.cost
            yield replace(way, cost=cost, gain=way.gain * box.selectivity)


def _beside(network: Network, box: Box, name: str) -> bool:
    """Whether a box of the same node feeds it; joins have windows, and stay as they are."""
    return name in network.box and network.box[name].node == box.node and not box.windows


def _rates(network: Network) -> dict[str, float]:
    """Rows per second that come out of each input and box, if nothing is dropped."""
    found = dict(network.rates)
    for box in network.ordered:
        gains = zip(box.inputs, box.gains, strict=True)
        found[box.name] = sum(found[name] * gain for name, gain in gains)
    return found
