"""Nodes as a tree of sites, as feasible input tables need it.

inputs ─► root ─┬─► B ─► outputs         Each site but the root is fed by one other. Nodes that
                └─► C ─┬─► D             do not stand so, such as one with two parents, are put
                       └─► E             together with these: a site is a cluster of nodes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from penstock.nodes.compiling import compiled
from penstock.nodes.model import Network
from penstock.nodes.program import Program
from penstock.nodes.splits import Splits


@dataclass(frozen=True)
class Site:
    """A node, or several that are planned together.

    Args:
        name: of its nodes.
        nodes: their names.
        program: of its boxes; streams to other sites are targets of no weight.
        parent: the site that feeds it; None for the root.
        children: the sites that it feeds.
    """

    name: str
    nodes: tuple[str, ...]
    program: Program
    parent: str | None
    children: tuple[str, ...]


@dataclass(frozen=True)
class Tree:
    """The sites of a network that hangs together.

    Args:
        network: one fragment.
    """

    network: Network

    @cached_property
    def sites(self) -> dict[str, Site]:
        """By name, those first that feed others."""
        splits, group = Splits(self.network), _Groups(self.network)
        group.gather(splits)
        while True:
            sites = _sites(self.network, splits, group)
            tangled = next((s for s in sites.values() if s.children and _tangled(s.program)), None)
            if tangled is None:
                return sites
            # What enters it cannot be told from what its children are to get: they are one.
            below = [tangled]
            for site in below:
                below.extend(sites[name] for name in site.children)
            group.join([name for site in below for name in site.nodes])

    @property
    def root(self) -> Site:
        """Where the inputs enter."""
        return next(iter(self.sites.values()))


def _sites(network: Network, splits: Splits, group: _Groups) -> dict[str, Site]:
    nodes: dict[str, list[str]] = {}
    for node in network.nodes:
        nodes.setdefault(group.top(node.name), []).append(node.name)
    names = {top: " + ".join(those) for top, those in nodes.items()}
    boxes: dict[str, list[str]] = {name: [] for name in names.values()}
    for box in network.boxes:
        boxes[names[group.top(box.node)]].append(box.name)
    parent = {names[child]: names[next(iter(above))] for child, above in group.parents().items()}
    order = [name for name in boxes if name not in parent and boxes[name]]
    for name in order:
        order.extend(child for child, above in parent.items() if above == name)
    return {
        name: Site(
            name,
            tuple(next(those for top, those in nodes.items() if names[top] == name)),
            compiled(network, splits, boxes[name], root=name not in parent),
            parent.get(name),
            tuple(child for child in order if parent.get(child) == name),
        )
        for name in order
    }


def _tangled(program: Program) -> bool:
    """Whether what passes a drop location goes to several places, none of which can be spared.

    So it is where a stream splits between the parting and the meeting of branches.
    """
    sums = [
        *program.targets.values(),
        *{program.locations[v].after: those for v, those in program.supply.items()}.values(),
    ]
    return any(times > 1 for times in Counter(v for those in sums for v in those).values())


class _Groups:
    """Nodes that are put together."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.of = {node.name: node.name for node in network.nodes}

    def top(self, node: str) -> str:
        while self.of[node] != node:
            node = self.of[node]
        return node

    def join(self, nodes: list[str]) -> None:
        for node in nodes[1:]:
            if self.top(node) != self.top(nodes[0]):
                self.of[self.top(node)] = self.top(nodes[0])

    def parents(self) -> dict[str, set[str]]:
        """Of each group, the groups that feed it."""
        found: dict[str, set[str]] = {}
        for box in self.network.boxes:
            for name in box.inputs:
                if name in self.network.box:
                    above, here = self.top(self.network.box[name].node), self.top(box.node)
                    if above != here:
                        found.setdefault(here, set()).add(above)
        return found

    def gather(self, splits: Splits) -> None:
        """Puts together what must be, until the rest is a tree."""
        node = {box.name: box.node for box in self.network.boxes}
        entered = [
            node[to]
            for one in self.network.inputs
            for to in splits.consumers[one.name]
            if to in node
        ]
        self.join(entered)
        for name, branches in splits.branches.items():
            for group in branches:
                if len(group) > 1:
                    self.join([node[one] for one in _between(splits, name, group) if one in node])
        root = entered[0]
        while True:
            parents = self.parents()
            crowded = [
                (here, above)
                for here, above in parents.items()
                if len(above) > 1 or here == self.top(root)
            ]
            if not crowded:
                return
            here, above = crowded[0]
            self.join([here, *above])


def _between(splits: Splits, name: str, group: tuple[str, ...]) -> list[str]:
    """The boxes from where branches part to where they have met again."""
    order = [box.name for box in splits.network.boxes]
    reaches = [splits.reached.get(to, 0) for to in group]
    seen = met = 0
    for reach in reaches:
        met |= seen & reach
        seen |= reach
    bit = {one: 1 << place for place, one in enumerate(order)}
    before = [o for o in order if bit[o] & seen and not bit[o] & met and splits.reached[o] & met]
    begun = {name, *before}
    first = [o for o in order if bit[o] & met and set(splits.network.box[o].inputs) & begun]
    return [name, *before, *first]
