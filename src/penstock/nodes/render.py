"""Nodes and their plan as text: what each has to do before and after, what is dropped, and why.

A: load 3 → 1 of 1
│  i1 ─► a1: keep 0.2, 1 → 0.2 rows/s
└─► B: load 4 → 1 of 1
       out o1: 0.2 rows/s
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from penstock.control.text import number
from penstock.nodes.model import Network
from penstock.nodes.optimum import NodesPlan, Planner
from penstock.nodes.splits import Location


def plan_text(network: Network, rates: Mapping[str, float] | None = None) -> str:
    """The best plan of a network, on a picture of its nodes.

    Args:
        network: costs, selectivities and places.
        rates: of the inputs, in rows per second; None for those of the network.
    """
    planner = Planner(network.at(rates or {}))
    return render(planner, planner.plan())


def render(planner: Planner, plan: NodesPlan) -> str:
    """A plan on a picture of the nodes.

    Args:
        planner: of the network, at its rates.
        plan: what is kept where.
    """
    network, program = planner.network, planner.program
    entering = program.rates(network.rates)
    keeps = np.array([plan.keeps.get(location, 1.0) for location in program.locations])
    drawing = _Drawing(planner, plan, program.flows(keeps, entering))
    full = float(program.score @ program.spread @ entering)
    share = plan.score / full if full > 0 else 1.0
    head = f"score {number(plan.score)} of {number(full)} without limits ({share:.0%})"
    trees = [line for root in drawing.roots() for line in drawing.tree(root)]
    return "\n".join([head, "", *trees, "", "why", *(f"  {line}" for line in drawing.why())])


class _Drawing:
    def __init__(self, planner: Planner, plan: NodesPlan, flows: np.ndarray) -> None:
        self.network, self.program, self.plan, self.flows = (
            planner.network,
            planner.program,
            plan,
            flows,
        )
        self.capacity = dict(zip(self.program.limits, self.program.capacity.tolist(), strict=True))
        self.feeds: dict[str, dict[str, None]] = {node.name: {} for node in self.network.nodes}
        self.fed: set[str] = set()
        for box in self.network.ordered:
            for name in box.inputs:
                if name in self.network.box and self.network.box[name].node != box.node:
                    self.feeds[self.network.box[name].node][box.node] = None
                    self.fed.add(box.node)
        self.drawn: set[str] = set()

    def roots(self) -> list[str]:
        """Nodes that no other feeds; if all are fed, those that inputs enter."""
        entered = {self.node(location) for location in self.program.locations}
        first = [n.name for n in self.network.nodes if n.name not in self.fed]
        return [*first, *(n.name for n in self.network.nodes if n.name in entered - set(first))]

    def node(self, location: Location) -> str:
        """Where a drop stands."""
        if location.after in self.network.box:
            return self.network.box[location.after].node
        first = next((to for to in location.before if to in self.network.box), None)
        return self.network.box[first].node if first is not None else ""

    def tree(self, node: str, indent: str = "") -> Iterator[str]:
        """The lines of a node and, below it, of those that it feeds."""
        if node in self.drawn:
            return
        self.drawn.add(node)
        yield f"{node}: load {self.change(node)}"
        later = [to for to in self.feeds[node] if to not in self.drawn]
        bar = "│  " if self.feeds[node] else "   "
        for line in self.inside(node):
            yield f"{indent}{bar}{line}"
        for to in self.feeds[node]:
            last = to == list(self.feeds[node])[-1]
            branch, below = ("└─►", "    ") if last else ("├─►", "│   ")
            link = f"{node} ─► {to}"
            wide = f"  (link {self.change(link)} rows/s)" if link in self.capacity else ""
            if to not in later or to in self.drawn:
                yield f"{indent}{branch} {to}, drawn above{wide}"
                continue
            lines = self.tree(to, indent + below)
            yield f"{indent}{branch} {next(lines)}{wide}"
            yield from lines

    def change(self, limit: str) -> str:
        """The load before and after, and the capacity."""
        before, after = self.plan.before[limit], self.plan.after[limit]
        shown = (
            number(before)
            if number(before) == number(after)
            else (f"{number(before)} → {number(after)}")
        )
        return f"{shown} of {number(self.capacity[limit])}"

    def inside(self, node: str) -> Iterator[str]:
        """What is dropped on a node, and what leaves it as an answer."""
        for place, location in enumerate(self.program.locations):
            keep = self.plan.keeps.get(location, 1.0)
            if self.node(location) == node and keep < 1:
                passed = self.flows[place]
                arrived = passed / keep if keep > 0 else self._arrived(place)
                yield (
                    f"{location}: keep {number(keep)}, {number(arrived)} → {number(passed)} rows/s"
                )
        for output in self.network.outputs:
            box = self.network.box.get(output.after)
            if box is not None and box.node == node:
                yield f"out {output.name}: {number(self._leaves(output.name))} rows/s"

    def _arrived(self, place: int) -> float:
        entry = self.program.entry[place]
        if entry >= 0:
            return self.network.rates[self.program.entering[entry]]
        return float(sum(g * self.flows[v] for v, g in self.program.supply[place].items()))

    def _leaves(self, output: str) -> float:
        those = self.program.targets[f"→ {output}"]
        return float(sum(gain * self.flows[variable] for variable, gain in those.items()))

    def why(self) -> Iterator[str]:
        """What is full, what more of it would be worth, and how drops were weighed against it."""
        if not self.plan.sheds:
            yield "no node or link is overloaded: nothing is dropped"
            return
        prices = self.plan.prices
        for limit, price in prices.items():
            if self.plan.before[limit] > self.capacity[limit]:
                over = number(self.plan.before[limit] / self.capacity[limit])
                more = f"; one more of its capacity would add {number(price)} to the score"
                yield f"{limit} has {over} times what it can do{more if price > 0 else ''}"
        for place, location in enumerate(self.program.locations):
            if self.plan.keeps.get(location, 1.0) < 1:
                yield self._weighed(place, location)

    def _weighed(self, place: int, location: Location) -> str:
        """A row here brings so much, and takes so much of what is full."""
        gain, load = self._behind(place)
        prices = np.array(list(self.plan.prices.values()))
        costs = float(load @ prices)
        taken = [
            f"{number(float(load[n]))} of {name}"
            for n, name in enumerate(self.program.limits)
            if load[n] > 0 and prices[n] > 0
        ]
        verdict = (
            "as much as it brings"
            if np.isclose(costs, gain, rtol=1e-6)
            else ("more than it brings" if costs > gain else "less than it brings")
        )
        needs = " and ".join(taken) or "nothing that is full"
        return (
            f"{location}: a row brings {number(gain)} and takes {needs}, "
            f"worth {number(costs)}: {verdict}"
        )

    def _behind(self, place: int) -> tuple[float, np.ndarray]:
        """The score and the loads of a row that passes a location, as later drops leave it."""
        share = np.zeros(len(self.program.locations))
        share[place] = 1.0
        for variable, those in self.program.supply.items():
            if variable > place:
                arrived = sum(gain * share[other] for other, gain in those.items())
                location = self.program.locations[variable]
                share[variable] = arrived * self.plan.keeps.get(location, 1.0)
        return float(self.program.score @ share), self.program.load @ share
