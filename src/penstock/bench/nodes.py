"""Plans for many nodes: how long the program takes, how large tables are, how fast they answer.

The network of eight inputs is that of the paper's §8.2.4: eight queries, each with a box on each of
two nodes, of 16 and 8 ms in turn. No Spark is needed.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

import numpy as np

from penstock.nodes.advance import plans_in_advance
from penstock.nodes.fit.central import Fit, fit
from penstock.nodes.fit.exchange import deliver, peers_of, start
from penstock.nodes.fit.tree import Tree
from penstock.nodes.lookup import Plans
from penstock.nodes.model import Box, Input, Network, Node, Output
from penstock.nodes.optimum import Planner

WANTED = {"lp_1000_nodes_s": 0.1, "fit_8_inputs_s": 5.0, "lookup_us": 100.0}
ERROR = 0.1
REGIONS = 2_000
"""Of plans in advance that are looked up. For eight inputs ERROR would take many more."""
DIFFERENCES = (0.01, 0.02, 0.05, 0.1)
"""The shares by which a parent may be wrong about a score; the third is the one reported."""


def run(*, quick: bool, say: Callable[[str], None]) -> dict[str, object]:
    """Runs all of it.

    Args:
        quick: fewer repetitions.
        say: where progress goes.
    """
    times = 3 if quick else 9
    say("a linear program of 1,000 nodes")
    first, again = _program(wide_network(1000), times)
    say(f"a table for 8 inputs, {ERROR:.0%}")
    eight = eight_inputs()
    table, seconds = _tables(eight, times)
    say("looking plans up")
    looks = 2_000 if quick else 20_000
    in_table = _lookup(table.select, eight, looks)
    in_advance = _lookup(_solved(eight).select, eight, looks)
    say("a selectivity falls by a tenth")
    shares = {str(difference): round(delta_share(difference), 3) for difference in DIFFERENCES}
    return {
        "lp_1000_nodes_s": round(first, 4),
        "lp_again_s": round(again, 4),
        "fit_8_inputs_s": round(seconds, 4),
        "fit_8_entries": table.entries,
        "fit_8_kinds": sum(len(part.kinds.members) for part in table.parts),
        "lookup_us": round(max(in_table, in_advance) * 1e6, 1),
        "lookup_fit_us": round(in_table * 1e6, 1),
        "lookup_solver_us": round(in_advance * 1e6, 1),
        "delta_share": shares[str(DIFFERENCES[2])],
        "delta_share_by_difference": shares,
        "wanted": WANTED,
    }


def wide_network(nodes: int) -> Network:
    """Chains of ten nodes; each node has a box of the chain and one that answers a query.

    Args:
        nodes: how many, a multiple of ten.
    """
    rng = np.random.default_rng(1)
    boxes: list[Box] = []
    outputs: list[Output] = []
    for chain in range(nodes // 10):
        above = f"in {chain}"
        for place in range(10):
            cost, own = rng.uniform(0.002, 0.02, 2).tolist()
            selectivity, other = rng.uniform(0.5, 1.0, 2).tolist()
            name = f"{chain}.{place}"
            boxes.append(Box(name, f"node {chain * 10 + place}", (above,), cost, selectivity))
            at = f"node {int(rng.integers(nodes))}"
            boxes.append(Box(f"{name} query", at, (name,), own, other))
            outputs.append(Output(name, f"{name} query", float(rng.uniform(0.5, 2.0))))
            above = name
        outputs.append(Output(f"{chain}", above))
    return Network(
        tuple(Node(f"node {number}") for number in range(nodes)),
        tuple(Input(f"in {chain}", float(rng.uniform(50, 200))) for chain in range(nodes // 10)),
        tuple(boxes),
        tuple(outputs),
    )


def eight_inputs() -> Network:
    """Two nodes, eight queries: of 16 and 8 ms on the first node, of 8 and 16 ms on the second."""
    costs = [(0.016, 0.008) if query % 2 == 0 else (0.008, 0.016) for query in range(8)]
    return Network(
        (Node("A"), Node("B")),
        tuple(Input(f"in {query}", 20.0, 100.0) for query in range(8)),
        tuple(
            box
            for query, (first, second) in enumerate(costs)
            for box in (
                Box(f"a{query}", "A", (f"in {query}",), first),
                Box(f"b{query}", "B", (f"a{query}",), second),
            )
        ),
        tuple(Output(f"out {query}", f"b{query}") for query in range(8)),
    )


def delta_share(difference: float, selectivity: float = 0.9) -> float:
    """The share of a table's entries that a child sends again when a selectivity falls (Fig. 15b).

    Args:
        difference: the share by which its parent may be wrong about a score.
        selectivity: of a box of the child, 1 before.
    """
    before = Network(
        (Node("A"), Node("B")),
        (Input("in 0", 20.0, 100.0), Input("in 1", 20.0, 100.0)),
        (
            Box("a0", "A", ("in 0",), 0.064),
            Box("a1", "A", ("in 1",), 0.032),
            Box("b0", "B", ("a0",), 0.032),
            Box("b1", "B", ("a1",), 0.064),
        ),
        (Output("out 0", "b0"), Output("out 1", "b1")),
    )
    peers = peers_of(before, ERROR, difference)
    start(peers)
    changed = Tree(before.changed("b0", selectivity=selectivity)).sites["B"]
    deliver(peers, peers["B"].change(changed))
    return sum(delta.share for delta in peers["B"].deltas[1:])


def _program(network: Network, times: int) -> tuple[float, float]:
    """Seconds from the network to its plan, and from other rates to theirs."""
    first, again = [], []
    for number in range(times):
        began = time.perf_counter()
        planner = Planner(network)
        planner.plan()
        first.append(time.perf_counter() - began)
        other = {name: rate * (1.2 + 0.01 * number) for name, rate in network.rates.items()}
        began = time.perf_counter()
        planner.plan(other)
        again.append(time.perf_counter() - began)
    return statistics.median(first), statistics.median(again)


def _tables(network: Network, times: int) -> tuple[Fit, float]:
    """The tables, and the seconds that they take."""
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        made = fit(network, ERROR)
        seconds.append(time.perf_counter() - began)
    return made, statistics.median(seconds)


def _solved(network: Network) -> Plans:
    """Plans in advance, as far as they are made in a few seconds: a deeper tree is a step more."""
    return plans_in_advance(network, error=ERROR, stop=lambda now: now.regions > REGIONS)


def _lookup(select: Callable[[Mapping[str, float]], object], network: Network, times: int) -> float:
    """Seconds for a plan at random rates, of which most are too high."""
    rng = np.random.default_rng(2)
    seconds = []
    for _ in range(times):
        rates = rng.uniform(0, 60, len(network.rates)).tolist()
        named = dict(zip(network.rates, rates, strict=True))
        began = time.perf_counter()
        select(named)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)
