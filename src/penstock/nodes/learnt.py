"""A network as it really is: costs, selectivities and rates from the statistics of its nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.control.checks import known
from penstock.control.snapshot import Snapshot
from penstock.nodes.model import Network
from penstock.nodes.parts import Box, Input, Node

LEAST = 0.2
"""Of its time, that a node has for rows in any case. One whose batches are longer without rows than
they may be will miss its target whatever is dropped: nothing is won by dropping all of it, and what
rows cost would never be learnt again."""


def learnt(
    network: Network, snapshots: Mapping[str, Snapshot], period: float | None = None
) -> Network:
    """The same network with what its nodes have measured; what was not stays as it was.

    A box has the cost and selectivity of the operator of its name, an input the rate of the stream
    of its name. A join's selectivity is for pairs of rows, which nobody counts: it stays.

    Args:
        network: as it was believed to be.
        snapshots: of nodes, by name.
        period: seconds from one batch to the next, of which what a batch costs by itself is taken
            off each node's capacity; None to leave capacities as they are.
    """
    known("node", snapshots, [node.name for node in network.nodes])
    return replace(
        network,
        nodes=tuple(_node(node, snapshots.get(node.name), period) for node in network.nodes),
        inputs=tuple(_input(one, snapshots) for one in network.inputs),
        boxes=tuple(_box(box, snapshots.get(box.node)) for box in network.boxes),
    )


def _node(node: Node, seen: Snapshot | None, period: float | None) -> Node:
    if seen is None or period is None:
        return node
    return replace(node, capacity=max(LEAST, seen.headroom(period)) * node.capacity)


def _input(one: Input, snapshots: Mapping[str, Snapshot]) -> Input:
    for seen in snapshots.values():
        stream = seen.streams.get(one.name)
        if stream is not None and stream.rate is not None:
            return replace(one, rate=stream.rate)
    return one


def _box(box: Box, seen: Snapshot | None) -> Box:
    operator = seen.operators.get(box.name) if seen is not None else None
    if operator is None:
        return box
    kept = box.selectivity if box.windows or operator.selectivity is None else operator.selectivity
    return replace(box, cost=operator.cost, selectivity=kept)
