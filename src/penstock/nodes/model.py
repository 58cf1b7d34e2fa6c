"""A network that runs on several nodes: what each part costs, where it runs, what counts.

          node A                 node B
    left ─► a1 ──────────────────► b1 ─► out 1        a box is a part of a query: it has a cost and
    right ─► a2 ─────────────────► b2 ─► out 2        a selectivity, and runs on one node

A stream or box may feed several boxes (a split); a box may take in several streams (a union), or
two with windows (a join). Rates are rows per second, costs seconds of a node for each row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

from penstock.errors import SpecificationError, complaint, did_you_mean
from penstock.nodes.parts import Box, Input, Link, Node, Output

__all__ = ["Box", "Input", "Link", "Network", "Node", "Output"]


@dataclass(frozen=True)
class Network:
    """Nodes, and what runs on them.

    Args:
        nodes: all of them.
        inputs: streams from outside.
        boxes: in any order.
        outputs: at least one.
        links: those that are narrow.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[Input, ...]
    boxes: tuple[Box, ...]
    outputs: tuple[Output, ...]
    links: tuple[Link, ...] = ()

    def __post_init__(self) -> None:
        for what, names in (
            ("node", [node.name for node in self.nodes]),
            (
                "input or box",
                [*(one.name for one in self.inputs), *(box.name for box in self.boxes)],
            ),
            ("output", [output.name for output in self.outputs]),
            ("link", [str(link) for link in self.links]),
        ):
            twice = [name for name, times in Counter(names).items() if times > 1]
            if twice:
                rule = "must have a name of its own"
                raise SpecificationError(complaint(f"each {what}", rule, twice[0]))
        if not self.outputs:
            raise SpecificationError(complaint("a network", "needs an output", ()))
        nodes = {node.name for node in self.nodes}
        sources = {*self.input, *self.box}
        for box in self.boxes:
            _known(f"the node of box {box.name!r}", [box.node], nodes)
            _known(f"an input of box {box.name!r}", box.inputs, sources)
        for output in self.outputs:
            _known(f"what output {output.name!r} comes from", [output.after], sources)
        for link in self.links:
            _known(f"an end of link {link}", (link.after, link.before), nodes)
        try:
            tuple(TopologicalSorter(self._feeds).static_order())
        except CycleError as error:
            rule = "must not feed themselves"
            raise SpecificationError(complaint("boxes", rule, error.args[1])) from None

    @cached_property
    def input(self) -> Mapping[str, Input]:
        """By name."""
        return {one.name: one for one in self.inputs}

    @cached_property
    def box(self) -> Mapping[str, Box]:
        """By name."""
        return {one.name: one for one in self.boxes}

    @cached_property
    def rates(self) -> Mapping[str, float]:
        """What arrives now, in rows per second."""
        return {one.name: one.rate for one in self.inputs}

    @cached_property
    def most(self) -> Mapping[str, float]:
        """The largest rates that are planned for."""
        return {i.name: 10 * i.rate if i.most is None else i.most for i in self.inputs}

    @cached_property
    def ordered(self) -> tuple[Box, ...]:
        """The boxes, those first that feed others."""
        order = TopologicalSorter(self._feeds).static_order()
        return tuple(self.box[name] for name in order if name in self.box)

    @property
    def _feeds(self) -> dict[str, tuple[str, ...]]:
        return {box.name: box.inputs for box in self.boxes}

    def at(self, rates: Mapping[str, float]) -> Network:
        """The same network with other rates, in rows per second."""
        _known("a rate", rates, self.input)
        inputs = (replace(i, rate=rates.get(i.name, i.rate)) for i in self.inputs)
        return replace(self, inputs=tuple(inputs))

    def changed(self, name: str, **values: float | str) -> Network:
        """The same network with a box that costs, selects or stands otherwise.

        Args:
            name: of the box.
            values: its new `cost`, `selectivity` or `node`.
        """
        _known("box", [name], self.box)
        changed = replace(self.box[name], **values)  # type: ignore[arg-type]
        return replace(self, boxes=tuple(changed if b.name == name else b for b in self.boxes))


def _known(what: str, names: Iterable[str], among: Collection[str]) -> None:
    for name in names:
        if name not in among:
            hint = did_you_mean(name, sorted(among))
            raise SpecificationError(complaint(what, "must be one that is there", name, hint))
