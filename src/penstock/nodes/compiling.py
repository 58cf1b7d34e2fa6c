"""From a network to its program: each stream becomes a sum over drop locations."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from penstock.nodes.model import Network
from penstock.nodes.program import Program, Sum
from penstock.nodes.splits import Location, Splits, leaves


def compiled(
    network: Network,
    splits: Splits | None = None,
    boxes: Collection[str] | None = None,
    *,
    root: bool = True,
) -> Program:
    """The program of a network.

    Args:
        network: the whole network.
        splits: of the whole network, if they are known.
        boxes: names of those that the program is about; None for all. What they take from others
            enters, and what others take from them leaves.
        root: whether streams that go to an output through no box are among it.
    """
    return _Compiler(network, splits or Splits(network), boxes, root=root).program()


class _Compiler:
    def __init__(
        self, network: Network, splits: Splits, boxes: Collection[str] | None, *, root: bool
    ) -> None:
        self.root = root
        self.network, self.branches = network, splits.branches
        self.inside = set(network.box) if boxes is None else set(boxes)
        self.all = boxes is None
        self.outputs = {leaves(output.name): output for output in network.outputs}
        self.locations: list[Location] = []
        self.entering: list[str] = []
        self.entry: list[int] = []
        self.supply: dict[int, Sum] = {}
        self.targets: dict[str, Sum] = {}
        self.weights: dict[str, float] = {}
        self.arcs: dict[tuple[str, str], Sum] = {}
        here = {network.box[name].node for name in self.inside}
        nodes = [node for node in network.nodes if self.all or node.name in here]
        self.capacity = {node.name: node.capacity for node in nodes}
        self.capacity |= {str(link): link.bandwidth for link in network.links}
        self.loads: dict[str, Sum] = {name: {} for name in self.capacity}

    def program(self) -> Program:
        order = self.network.ordered
        for one in self.network.inputs:
            self._enter(one.name, to_outputs=self.root)
        for box in order:
            if box.name not in self.inside:
                self._enter(box.name, to_outputs=False)
        out: dict[str, Sum] = {}
        for box in order:
            if box.name not in self.inside:
                continue
            total: Sum = {}
            for name, gain in zip(box.inputs, box.gains, strict=True):
                arc = self.arcs[name, box.name]
                _add(total, arc, gain)
                _add(self.loads[box.node], arc, box.cost)
                self._sent(name, box.node, arc)
            out[box.name] = total
            self._leave(box.name, total)
        return self._finished()

    def _enter(self, name: str, *, to_outputs: bool) -> None:
        """A stream from outside: each of its branches that comes in here can be dropped from."""
        for group in self.branches[name]:
            here = [to for to in group if to in self.inside or (to_outputs and to in self.outputs)]
            if not here:
                continue
            stream = name if self.all or name in self.network.input else stream_name(name, group)
            if stream not in self.entering:
                self.entering.append(stream)
            variable = self._variable(name, group, self.entering.index(stream))
            for to in here:
                self.arcs[name, to] = {variable: 1.0}
                if to in self.outputs:
                    self._target(to, self.outputs[to].weight, {variable: 1.0})

    def _variable(self, name: str, group: tuple[str, ...], stream: int) -> int:
        self.locations.append(Location(name, tuple(to.removeprefix("→ ") for to in group)))
        self.entry.append(stream)
        return len(self.locations) - 1

    def _leave(self, name: str, total: Sum) -> None:
        """What a box hands on, to other boxes here, to outputs, or to boxes elsewhere."""
        groups = self.branches[name]
        for group in groups:
            arc = total
            if len(groups) > 1:
                variable = self._variable(name, group, -1)
                self.supply[variable] = total
                arc = {variable: 1.0}
            away = False
            for to in group:
                self.arcs[name, to] = arc
                if to in self.outputs:
                    self._target(to, self.outputs[to].weight, arc)
                elif to not in self.inside:
                    away = True
                    self._sent(name, self.network.box[to].node, arc)
            if away:
                self._target(stream_name(name, group), 0.0, arc)

    def _target(self, name: str, weight: float, arc: Sum) -> None:
        self.targets[name], self.weights[name] = arc, weight

    def _sent(self, name: str, to: str, arc: Sum) -> None:
        """Rows that go over a narrow link count at the node that sends them."""
        if name in self.inside:
            box = self.network.box[name]
            link = f"{box.node} ─► {to}"
            if box.node != to and link in self.loads:
                _add(self.loads[link], arc, 1.0)

    def _finished(self) -> Program:
        limits = tuple(
            name for name in self.capacity if self.all or self.loads[name] or " ─► " not in name
        )
        return Program(
            tuple(self.locations),
            tuple(self.entering),
            tuple(self.entry),
            self.supply,
            limits,
            np.array([self.capacity[name] for name in limits]),
            tuple(self.loads[name] for name in limits),
            self.targets,
            self.weights,
        )


def stream_name(box: str, group: tuple[str, ...]) -> str:
    """How the rows of a box are called where they go from one node to another."""
    return f"{box} ─► {', '.join(group)}"


def _add(total: Sum, those: Sum, times: float) -> None:
    for variable, gain in those.items():
        total[variable] = total.get(variable, 0.0) + times * gain
