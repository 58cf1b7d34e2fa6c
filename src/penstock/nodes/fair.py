"""What a network delivers when overloaded nodes serve their boxes in turn (§1.1, Table 1).

A node that has too much to do takes one row for each of its boxes in turn. So a box gets through
all that it is sent, or as many rows as any other box that does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.nodes.model import Box, Network


@dataclass(frozen=True, slots=True)
class Served:
    """What nodes have to do, and what they get done.

    Args:
        loads: seconds of work per second that arrive at each node.
        throughput: rows per second that leave each box.
        score: weighted rows per second at the outputs.
    """

    loads: Mapping[str, float]
    throughput: Mapping[str, float]
    score: float


def served(network: Network, kept: Mapping[str, float] | None = None) -> Served:
    """What each node gets done, from the inputs on.

    Args:
        network: of which no box is fed by a later box of the same node through another node.
        kept: rows per second that are let in of each input; None for all.
    """
    passed: dict[str, float] = {**network.rates, **(kept or {})}
    loads: dict[str, float] = {node.name: 0.0 for node in network.nodes}
    boxes: dict[str, list[Box]] = {node.name: [] for node in network.nodes}
    # Boxes of a node that feed each other are served in their order, with what is left.
    left = {node.name: node.capacity for node in network.nodes}
    for box in network.ordered:
        boxes[box.node].append(box)
    done: set[str] = set()
    for box in network.ordered:
        ready = [b for b in boxes[box.node] if b.name not in done and set(b.inputs) <= set(passed)]
        if box.name in done:
            continue
        offered = {b.name: sum(passed[name] for name in b.inputs) for b in ready}
        costs = {b.name: b.cost for b in ready}
        loads[box.node] += sum(costs[name] * offered[name] for name in offered)
        turns = _turns(offered, costs, left[box.node])
        left[box.node] -= sum(costs[n] * min(rate, turns) for n, rate in offered.items())
        for b in ready:
            share = min(1.0, turns / offered[b.name]) if offered[b.name] > 0 else 1.0
            gains = zip(b.inputs, b.gains, strict=True)
            passed[b.name] = share * sum(gain * passed[name] for name, gain in gains)
            done.add(b.name)
    score = sum(output.weight * passed[output.after] for output in network.outputs)
    return Served(loads, {box.name: passed[box.name] for box in network.boxes}, score)


def _turns(offered: Mapping[str, float], costs: Mapping[str, float], capacity: float) -> float:
    """Rows per second that each box gets at most, so that the node is just busy."""
    rest, busy = capacity, sum(costs.values())
    for name in sorted(offered, key=lambda name: offered[name]):
        if busy * offered[name] >= rest:
            return max(0.0, rest) / busy if busy > 0 else float("inf")
        rest -= costs[name] * offered[name]
        busy -= costs[name]
    return float("inf")
