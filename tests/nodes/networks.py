"""Networks of nodes to test with: the paper's, and random ones of every shape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.nodes.model import Box, Input, Link, Network, Node, Output


def chains(*costs: Sequence[float], rate: float = 1.0, most: float | None = None) -> Network:
    """A query for each column of costs, with a box on each node: a row of costs for each."""
    nodes = [chr(ord("A") + n) for n in range(len(costs))]
    queries = range(len(costs[0]))
    return Network(
        tuple(map(Node, nodes)),
        tuple(Input(f"i{q}", rate, most) for q in queries),
        tuple(
            Box(f"{node.lower()}{q}", node, (f"{nodes[n - 1].lower()}{q}" if n else f"i{q}",), c[q])
            for n, (node, c) in enumerate(zip(nodes, costs, strict=True))
            for q in queries
        ),
        tuple(Output(f"o{q}", f"{nodes[-1].lower()}{q}") for q in queries),
    )


FIG1 = chains((1.0, 2.0), (3.0, 1.0), most=3.0)
"""Fig. 1: two queries on two nodes; at a row per second both nodes are overloaded."""

FIG7 = Network(
    (Node("A"),),
    (Input("in", 0.2, 1.0),),
    (Box("a", "A", ("in",), 1.0), Box("b", "A", ("a",), 2.0), Box("c", "A", ("a",), 5.0)),
    (Output("top", "b"), Output("bottom", "c")),
)
"""Fig. 7: one input that splits in two branches; dropping from the second saves most."""


def random_network(
    rng: np.random.Generator, *, inputs: int = 3, boxes: int = 5, nodes: int = 3, tree: bool = False
) -> Network:
    """Splits, unions, joins and narrow links, as they come; nodes anywhere, or as a tree."""
    names = [f"n{n}" for n in range(int(rng.integers(1, nodes + 1)))]
    streams = [f"i{n}" for n in range(int(rng.integers(1, inputs + 1)))]
    parent = {name: names[int(rng.integers(n))] for n, name in enumerate(names) if n}
    at = dict.fromkeys(streams, names[0])
    made: list[Box] = []
    for number in range(int(rng.integers(1, boxes + 1))):
        first = str(rng.choice(streams))
        others = [one for one in streams if one != first and (not tree or at[one] == at[first])]
        kind = rng.choice(["one", "one", "one", "union", "join"]) if others else "one"
        taken = (first,) if kind == "one" else (first, str(rng.choice(others)))
        below = [name for name in names if not tree or parent.get(name) == at[first]]
        # Where inputs enter is the root of a tree.
        near = not below or (tree and (first[0] == "i" or rng.random() < 0.3))
        place = at[first] if near else str(rng.choice(below))
        cost, selectivity = float(rng.uniform(0.05, 1)), float(rng.choice([0.3, 0.7, 1.0, 1.4]))
        windows = tuple(rng.uniform(0.5, 2, 2).tolist()) if kind == "join" else ()
        made.append(Box(f"b{number}", place, taken, cost, selectivity, windows))
        streams.append(f"b{number}")
        at[f"b{number}"] = place
    used = {name for box in made for name in box.inputs}
    ends = [box.name for box in made if box.name not in used or rng.random() < 0.2]
    where = [(a, b) for a in names for b in names if a != b]
    links = [Link(a, b, float(rng.uniform(0.2, 2))) for a, b in where if rng.random() < 0.2]
    return Network(
        tuple(Node(name, float(rng.uniform(0.5, 2))) for name in names),
        tuple(Input(name, float(rng.uniform(0, 3)), 3.0) for name in streams if name[0] == "i"),
        tuple(made),
        tuple(Output(f"o{n}", end, float(rng.uniform(0.2, 2))) for n, end in enumerate(ends)),
        tuple(links),
    )
