"""Small networks, and the same questions answered by trying everything."""

import itertools
import math
import random

import numpy as np
from hypothesis import strategies as st

from penstock.planning import Asked, Node, Workload

GRID = np.linspace(0.05, 1.0, 20)


def network(
    rng: random.Random, *, queries: int = 3, drop_cost: float = 0.0, unions: int = 0
) -> Workload:
    """A stream or two, a few operators, perhaps unions, and an aggregate for each query."""
    nodes = [
        Node(f"s{n}", rate=rng.choice([1.0, 3.0]), cost=rng.choice([0.0, 0.0, 0.1]))
        for n in range(rng.choice([1, 1, 2]))
    ]
    for n in range(rng.randint(0, 3)):
        fed = (rng.randrange(len(nodes)),)
        nodes.append(
            Node(f"f{n}", fed, cost=rng.uniform(0, 1), selectivity=rng.choice([0.1, 0.5, 1, 2]))
        )
    for n in range(unions if len(nodes) > 1 else 0):
        two = tuple(rng.sample(range(len(nodes)), 2))
        nodes.append(Node("u" * (n + 1), two, cost=rng.choice([0.0, 0.1])))
    asked = []
    inner = len(nodes)
    for n in range(queries):
        nodes.append(Node(f"q{n}", (rng.randrange(inner),), cost=rng.uniform(0.01, 1)))
        hard, weight = 10 ** rng.uniform(-4, 0), rng.choice([1.0, 1.0, 2.0])
        asked.append(Asked(f"q{n}", len(nodes) - 1, hardness=hard, weight=weight))
    load = Workload(tuple(nodes), tuple(asked), drop_cost=drop_cost)
    fixed = float(load.work[load.streams].sum())
    # Between next to nothing and all of what can be dropped.
    capacity = fixed + rng.uniform(0.05, 1.0) * (load.total - fixed) + 1e-6
    return Workload(load.nodes, load.queries, capacity=capacity, drop_cost=drop_cost)


networks = st.tuples(st.integers(0, 2**32), st.booleans()).map(
    lambda drawn: network(random.Random(drawn[0]), unions=drawn[1])
)


def below(load: Workload, node: int) -> list[int]:
    """The queries that stand on a node."""

    def reaches(one: int) -> bool:
        return one == node or any(reaches(i) for i in load.nodes[one].inputs)

    return [n for n, query in enumerate(load.queries) if reaches(query.node)]


def rows(load: Workload, node: int) -> float:
    """Rows per second into a node, by walking up to the streams."""
    one = load.nodes[node]
    if not one.inputs:
        return one.rate
    return sum(rows(load, i) * load.nodes[i].selectivity for i in one.inputs)


def loads(load: Workload, rates: np.ndarray) -> np.ndarray:
    """The least load for each row of keep probabilities, one for each query."""
    total = np.zeros(len(rates))
    for number, node in enumerate(load.nodes):
        needed = below(load, number)
        if not node.inputs:
            total += node.cost * node.rate
        elif needed:
            total += node.cost * rows(load, number) * rates[:, needed].max(axis=1)
    return total


def errors(load: Workload, rates: np.ndarray) -> np.ndarray:
    """The greatest weighted error of each row; a query that is whole has none."""
    c = np.array(
        [math.sqrt(q.hardness / 2 * math.log(2 / load.delta)) * q.weight for q in load.queries]
    )
    greatest: np.ndarray = np.where(rates < 1, c / rates, 0.0).max(axis=1)
    return greatest


def grid(queries: int) -> np.ndarray:
    return np.array(list(itertools.product(GRID, repeat=queries)))


def least_load(load: Workload, wanted: list[float]) -> float:
    """The least load of all ways to place drops so that each query keeps what it wants, or more."""
    inner = [n for n, node in enumerate(load.nodes) if node.inputs]
    needs = {n: max((wanted[q] for q in below(load, n)), default=0.0) for n in inner}
    choices = [[None, *sorted({w for w in wanted if w >= needs[n] > 0})] for n in inner]
    best = math.inf
    for drops in itertools.product(*choices):
        keep = {n: 1.0 for n, node in enumerate(load.nodes) if not node.inputs}
        total = sum(node.cost * node.rate for node in load.nodes if not node.inputs)
        for n, drop in zip(inner, drops, strict=True):
            fed = load.nodes[n].inputs
            # All inputs of a union are kept alike.
            least = min(keep[a] for a in fed)
            keep[n] = least if drop is None else min(least, drop)
            if needs[n]:
                total += load.nodes[n].cost * rows(load, n) * keep[n]
                for a in fed:
                    if keep[a] > keep[n] or (drop is not None and len(fed) == 1):
                        out = rows(load, a) * load.nodes[a].selectivity
                        total += load.drop_cost * out * keep[a]
        if all(keep[q.node] >= wanted[i] for i, q in enumerate(load.queries)):
            best = min(best, total)
    return best
