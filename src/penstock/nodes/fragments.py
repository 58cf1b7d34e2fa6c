"""Parts of a network that share no stream, node or link are planned apart."""

from __future__ import annotations

from dataclasses import replace

from penstock.nodes.model import Network


def fragments(network: Network) -> tuple[Network, ...]:
    """The parts that have a box, in the order of their inputs: the rest needs no plan.

    Args:
        network: the whole.
    """
    group: dict[str, str] = {}

    def top(name: str) -> str:
        while group.setdefault(name, name) != name:
            group[name] = group[group[name]]
            name = group[name]
        return name

    # Names of nodes and of streams may be the same: each is marked with its kind.
    for box in network.boxes:
        for name in box.inputs:
            group[top(f"stream {name}")] = top(f"stream {box.name}")
        group[top(f"node {box.node}")] = top(f"stream {box.name}")
    for link in network.links:
        crossing = [
            box.name
            for box in network.boxes
            for name in box.inputs
            if box.node == link.before
            and name in network.box
            and network.box[name].node == link.after
        ]
        for name in crossing[1:]:
            group[top(f"stream {name}")] = top(f"stream {crossing[0]}")
    found: dict[str, None] = {}
    for one in network.inputs:
        found[top(f"stream {one.name}")] = None
    working = {top(f"stream {box.name}") for box in network.boxes}
    return tuple(
        replace(
            network,
            nodes=tuple(n for n in network.nodes if top(f"node {n.name}") == part),
            inputs=tuple(i for i in network.inputs if top(f"stream {i.name}") == part),
            boxes=tuple(b for b in network.boxes if top(f"stream {b.name}") == part),
            outputs=outputs,
            links=tuple(
                k
                for k in network.links
                if top(f"node {k.after}") == part and top(f"node {k.before}") == part
            ),
        )
        for part in found
        if part in working
        and (outputs := tuple(o for o in network.outputs if top(f"stream {o.after}") == part))
    )
