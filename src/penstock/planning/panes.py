"""Aggregates of the same rows by the same keys share panes: a row costs once, for all of them.

    ── f ─┬─► A1                ── f ─► panes ─┬─► A1      the work is that of the panes; to give A1
          └─► A2                               └─► A2      fewer rows than A2 would save nothing

This is how the engine runs them. In the paper's model each aggregate costs by itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

from penstock.planning.asked import Node
from penstock.planning.workload import Workload


def share_panes(load: Workload, alike: Mapping[str, Hashable]) -> Workload:
    """The workload in which aggregates that are alike are computed together.

    Args:
        load: the network.
        alike: name of an aggregate → its keys, and what else panes depend on; those with the same
            inputs and the same value here share panes.
    """
    groups: dict[Hashable, list[int]] = {}
    for number, node in enumerate(load.nodes):
        if node.name in alike:
            groups.setdefault((node.inputs, alike[node.name]), []).append(number)
    leads = {members[0]: members for members in groups.values() if len(members) > 1}
    inside = {member: members[0] for members in leads.values() for member in members}
    nodes: list[Node] = []
    moved: dict[int, int] = {}
    panes: dict[int, int] = {}
    for number, node in enumerate(load.nodes):
        fed = tuple(moved[i] for i in node.inputs)
        if number in leads:
            cost = sum(load.nodes[member].cost for member in leads[number])
            panes[number] = len(nodes)
            nodes.append(Node(f"panes of {node.name}", fed, cost, panes=True))
        moved[number] = len(nodes)
        lead = inside.get(number)
        own = replace(node, inputs=fed)
        nodes.append(own if lead is None else replace(own, inputs=(panes[lead],), cost=0.0))
    queries = tuple(replace(query, node=moved[query.node]) for query in load.queries)
    return replace(load, nodes=tuple(nodes), queries=queries)
