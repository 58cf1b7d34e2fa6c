"""Aggregates that are computed together share panes: a row costs once, for all of them.

    ── f ─┬─► A1                ── f ─► panes ─┬─► A1      the work is that of the panes; to give A1
          └─► A2                               └─► A2      fewer rows than A2 would save nothing

Behind different filters the panes stand where their rows last were the same, and rows that are kept
for them must get through the filters too. This is how the engine runs aggregates. In the paper's
model each costs by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from graphlib import TopologicalSorter

from penstock.planning.asked import Node
from penstock.planning.workload import Workload

_Place = tuple[int, int]
"""A node, or the panes that stand before it: (its number, 0 for the panes and 1 for itself)."""


def share_panes(load: Workload, together: Iterable[Iterable[str]]) -> Workload:
    """The workload in which some aggregates are computed together.

    Args:
        load: the network.
        together: names of aggregates that share panes; each is in one group at most.
    """
    number = {node.name: i for i, node in enumerate(load.nodes)}
    lead: dict[int, int] = {}
    panes: dict[int, Node] = {}
    for names in together:
        members = sorted(number[name] for name in names)
        fed = _common(load, members) if len(members) > 1 else ()
        if fed:
            lead |= dict.fromkeys(members, members[0])
            panes[members[0]] = _panes(load, members, fed)
    if not panes:
        return load
    order = _ordered(load, lead, panes)
    moved = {place: i for i, place in enumerate(order)}
    nodes: list[Node] = []
    for i, itself in order:
        node = load.nodes[i] if itself else panes[i]
        fed = tuple(moved[one, 1] for one in node.inputs)
        if itself and i in lead:
            nodes.append(replace(node, inputs=(moved[lead[i], 0],), cost=0.0, feed=fed[0]))
        else:
            nodes.append(replace(node, inputs=fed))
    queries = tuple(replace(query, node=moved[query.node, 1]) for query in load.queries)
    return replace(load, nodes=tuple(nodes), queries=queries)


def _common(load: Workload, members: Sequence[int]) -> tuple[int, ...]:
    """The last operator whose rows all members get, be it through filters; none if none is."""
    ways = [_way(load, member) for member in members]
    shared = set(ways[0]).intersection(*ways[1:])
    return next(((one,) for one in ways[0] if one in shared), ())


def _way(load: Workload, member: int) -> list[int]:
    """The operators that the rows of an aggregate come from, one by one, the last one first."""
    found: list[int] = []
    while len(load.nodes[member].inputs) == 1:
        (member,) = load.nodes[member].inputs
        found.append(member)
    return found


def _panes(load: Workload, members: Sequence[int], fed: tuple[int, ...]) -> Node:
    """The panes of some aggregates; they cost what the aggregates would cost."""
    rows = sum(float(load.rows_out[one]) for one in fed)
    share = [float(load.rows_in[member]) / rows if rows else 1.0 for member in members]
    cost = sum(load.nodes[m].cost * part for m, part in zip(members, share, strict=True))
    return Node(f"panes of {load.nodes[members[0]].name}", fed, cost, panes=True)


def _ordered(load: Workload, lead: dict[int, int], panes: dict[int, Node]) -> list[_Place]:
    """All nodes and panes, those first that feed others, and filters before the panes."""
    sorter = TopologicalSorter[_Place]()
    for i, node in enumerate(load.nodes):
        fed = [(one, 1) for one in node.inputs]
        if i in lead:
            sorter.add((lead[i], 0), *fed, *((one, 1) for one in panes[lead[i]].inputs))
            sorter.add((i, 1), (lead[i], 0))
        else:
            sorter.add((i, 1), *fed)
    return list(sorter.static_order())
