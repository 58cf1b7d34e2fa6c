"""Messages between peers in one process, as a network that loses nothing hands them on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.nodes.fit.messages import Message
from penstock.nodes.fit.peers import Peer


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
