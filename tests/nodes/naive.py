"""A network walked row by row as it is drawn, and programs solved by trying every corner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from penstock.nodes.model import Network
from penstock.nodes.program import Program
from penstock.nodes.splits import Location


@dataclass
class Walked:
    loads: dict[str, float]
    score: float

    def overloaded(self, network: Network, slack: float = 1e-6) -> bool:
        most = {node.name: node.capacity for node in network.nodes}
        most |= {str(link): link.bandwidth for link in network.links}
        return any(load > most[name] * (1 + slack) for name, load in self.loads.items())


def walk(
    network: Network, keeps: Mapping[Location, float], rates: Mapping[str, float] | None = None
) -> Walked:
    """What nodes and links have to do, and what is delivered."""
    rate = dict(rates or network.rates)
    loads = {node.name: 0.0 for node in network.nodes} | {str(k): 0.0 for k in network.links}

    def passed(after: str, before: str) -> float:
        shares = [x for at, x in keeps.items() if at.after == after and before in at.before]
        return rate[after] * (shares[0] if shares else 1.0)

    for box in network.ordered:
        rate[box.name] = 0.0
        for name, gain in zip(box.inputs, box.gains, strict=True):
            rows = passed(name, box.name)
            loads[box.node] += rows * box.cost
            link = f"{network.box[name].node} ─► {box.node}" if name in network.box else ""
            if link in loads:
                loads[link] += rows
            rate[box.name] += rows * gain
    score = sum(o.weight * passed(o.after, o.name) for o in network.outputs)
    return Walked(loads, score)


def corner_optimum(program: Program, rates: np.ndarray) -> float:
    """The largest score over all corners of the feasible region."""
    width = len(program.locations)
    rows, most = [*program.load], [*program.capacity]
    for variable, stream in enumerate(program.entry):
        row = np.eye(width)[variable]
        if stream < 0:
            for other, gain in program.supply[variable].items():
                row = row - gain * np.eye(width)[other]
        rows += [row, -np.eye(width)[variable]]
        most += [rates[stream] if stream >= 0 else 0.0, 0.0]
    matrix, bound = np.array(rows), np.array(most)
    chosen = np.array(list(combinations(range(len(rows)), width)))
    some = matrix[chosen]
    regular = np.abs(np.linalg.det(some)) > 1e-9
    corners = np.linalg.solve(some[regular], bound[chosen][regular][..., None])[..., 0]
    feasible = (corners @ matrix.T <= bound + 1e-7).all(axis=1)
    return float((corners[feasible] @ program.score).max())
