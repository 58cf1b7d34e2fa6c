"""Messages between peers in one process, as a network that loses nothing hands them on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.nodes.fit.messages import Message
from penstock.nodes.fit.peers import Peer
from penstock.nodes.fit.tree import Tree
from penstock.nodes.model import Network


def peers_of(network: Network, error: float, difference: float = 0.0) -> dict[str, Peer]:
    """A peer for each site of a fragment, as each node would make its own.

    Args:
        network: a fragment, in which inputs that are alike have been put together.
        error: ε, the share of the best score that a plan may lose.
        difference: the share by which what a parent believes of a score may be off.
    """
    return {
        name: Peer(site, error, network.most, difference=difference)
        for name, site in Tree(network).sites.items()
    }


def deliver(peers: Mapping[str, Peer], messages: Iterable[bytes]) -> int:
    """Hands messages on until none is left, as a network that loses nothing does.

    Args:
        peers: by the names of their sites.
        messages: to begin with.

    Returns:
        how many messages there were.
    """
    waiting, count = list(messages), 0
    while waiting:
        data = waiting.pop(0)
        count += 1
        waiting += peers[Message.decode(data).receiver].receive(data)
    return count


def start(peers: Mapping[str, Peer]) -> int:
    """Lets all peers begin, until all have their tables; returns how many messages that took."""
    return deliver(peers, [data for peer in peers.values() for data in peer.start()])
