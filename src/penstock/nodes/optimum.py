"""The exact plan: where to drop, so that the weighted throughput at the outputs is the largest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.control.checks import amount, known
from penstock.nodes.compiling import compiled
from penstock.nodes.highs import Highs
from penstock.nodes.model import Network
from penstock.nodes.program import Program, Vector
from penstock.nodes.splits import Location


@dataclass(frozen=True, slots=True)
class Best:
    """The optimum at some rates.

    Args:
        flows: what passes each drop location, in rows per second.
        score: weighted rows per second at the outputs.
        worth: what a row per second more of each stream would add to the score.
        prices: what one more of the capacity of each node or link would add to it.
    """

    flows: Vector
    score: float
    worth: Vector
    prices: Vector


@dataclass(frozen=True)
class NodesPlan:
    """What is kept at each drop location, and what comes of it.

    Args:
        keeps: the share of what arrives there that is kept, where it is less than all.
        score: weighted rows per second at the outputs.
        before: load of each node (seconds per second) and link (rows per second), nothing dropped.
        after: the same with the plan.
        worth: what a row per second more of each input would add to the score.
        prices: what one more of the capacity of each node or link would add to it.
    """

    keeps: Mapping[Location, float]
    score: float
    before: Mapping[str, float]
    after: Mapping[str, float]
    worth: Mapping[str, float]
    prices: Mapping[str, float]

    @property
    def sheds(self) -> bool:
        """Whether anything is dropped."""
        return bool(self.keeps)


class Planner:
    """Plans for one network at any rates; the program is set up once.

    Args:
        network: costs, selectivities and places.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.program = compiled(network)
        usual = self.program.rates(network.most)
        self._highs = Highs(self.program, self.program.spread @ usual)

    def best(self, rates: Vector) -> Best:
        """The optimum.

        Args:
            rates: in the order of `program.entering`, in rows per second.
        """
        program = self.program
        free = program.spread @ rates
        if not program.overloaded(free):
            none = np.zeros(len(program.limits))
            return Best(free, float(program.score @ free), program.score @ program.spread, none)
        flows, worth, prices = self._highs.solve(rates)
        return Best(flows, float(program.score @ flows), worth, prices)

    def plan(self, rates: Mapping[str, float] | None = None) -> NodesPlan:
        """The best plan.

        Args:
            rates: of the inputs, in rows per second; None for those of the network.
        """
        named = {**self.network.rates, **(rates or {})}
        known("input", named, self.network.input)
        for name, rate in named.items():
            amount(f"the rate of input {name!r}", rate)
        entering = self.program.rates(named)
        best = self.best(entering)
        return NodesPlan(
            kept(self.program, self.program.keeps(best.flows, entering)),
            best.score,
            self.loads(self.program.spread @ entering),
            self.loads(best.flows),
            dict(zip(self.program.entering, best.worth.tolist(), strict=True)),
            dict(zip(self.program.limits, best.prices.tolist(), strict=True)),
        )

    def loads(self, flows: Vector) -> dict[str, float]:
        """The load of each node and link."""
        of = self.program.loaded(flows)
        return dict(zip(self.program.limits, of.tolist(), strict=True))


def kept(program: Program, shares: Vector) -> dict[Location, float]:
    """Those locations at which something is dropped."""
    return {
        program.locations[place]: float(shares[place])
        for place in np.flatnonzero(shares < 1 - 1e-9)
    }


def optimal_plan(network: Network, rates: Mapping[str, float] | None = None) -> NodesPlan:
    """The best plan for a network.

    Args:
        network: costs, selectivities and places.
        rates: of the inputs, in rows per second; None for those of the network.
    """
    return Planner(network).plan(rates)
