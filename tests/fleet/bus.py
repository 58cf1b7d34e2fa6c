"""A topic in memory, with a clock that is turned by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.control.costs import Costs
from penstock.control.snapshot import OperatorStatistics, Snapshot, StreamStatistics
from penstock.fleet.coordinator import Coordinator
from penstock.fleet.member import Follower
from penstock.fleet.messages import COORDINATOR, Mailbox
from penstock.fleet.neighbour import Neighbour
from penstock.nodes.model import Network

PERIOD = 2.0


@dataclass
class Clock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Topic:
    """All that was said; each reader has a place in it."""

    said: list[bytes] = field(default_factory=list)
    _read: dict[str, int] = field(default_factory=dict)

    def send(self, messages: list[bytes]) -> None:
        self.said += messages

    def poll(self, reader: str) -> list[bytes]:
        begin = self._read.get(reader, 0)
        self._read[reader] = len(self.said)
        return self.said[begin:]


def seen(network: Network, node: str, rates: dict[str, float]) -> Snapshot:
    """What a node measures whose boxes cost what the network says."""
    boxes = {
        box.name: OperatorStatistics(
            box.name, "box", 0.0, 0.0, box.selectivity, box.cost, 0.0, None
        )
        for box in network.boxes
        if box.node == node
    }
    streams = {name: StreamStatistics(name, 0.0, rate, None) for name, rate in rates.items()}
    costs = Costs(0.0, {name: box.cost for name, box in boxes.items()}, 0.0, {}, 0.0, 10)
    return Snapshot(10, costs, boxes, streams, {}, {}, {}, None)


@dataclass
class Fleet:
    """A coordinator and its nodes, or peers, any of which may be dead."""

    network: Network
    clock: Clock = field(default_factory=Clock)
    topic: Topic = field(default_factory=Topic)
    lines: list[str] = field(default_factory=list)
    coordinator: Coordinator | None = None
    members: dict[str, Follower | Neighbour] = field(default_factory=dict)

    def coordinate(self) -> None:
        self.coordinator = Coordinator(self.network, "fleet", PERIOD, self.clock, self.lines.append)
        for data in self.topic.said:
            self.coordinator.hear(data)

    def follow(self, node: str) -> None:
        mailbox = self.mailbox(node)
        last = self.members.get(node)
        kept = {"last": last.plan} if isinstance(last, Follower) else {}
        self.members[node] = Follower(mailbox, self.clock, self.lines.append, **kept)

    def neighbour(self, node: str) -> None:
        """Starts a peer, as a node does: it has read what was said, and has kept its plan."""
        mailbox = self.mailbox(node)
        for data in self.topic.said:
            mailbox.read(data)
        self.topic.poll(node)
        last = self.members.get(node)
        kept = {"last": last.plan} if isinstance(last, Neighbour) else {}
        made = Neighbour(
            self.network,
            node,
            mailbox,
            period=PERIOD,
            clock=self.clock,
            log=self.lines.append,
            **kept,
        )
        self.members[node] = made
        self.boxes[node] = mailbox
        self.topic.send(made.start())

    boxes: dict[str, Mailbox] = field(default_factory=dict)

    def mailbox(self, node: str) -> Mailbox:
        others = [n.name for n in self.network.nodes if n.name != node]
        self.boxes[node] = Mailbox("fleet", node, [*others, COORDINATOR], self.clock)
        return self.boxes[node]

    def turn(
        self,
        rates: Callable[[str], dict[str, float]],
        seconds: float = 1.1,
        alive: tuple[str, ...] | None = None,
    ) -> None:
        """A second passes, and everybody who is alive hears and speaks."""
        self.clock.now += seconds
        for node, member in self.members.items():
            if alive is not None and node not in alive:
                continue
            for data in self.topic.poll(node):
                message = self.boxes[node].read(data)
                if message is not None:
                    self.topic.send(member.hear(message))
            self.topic.send(member.tick(seen(self.network, node, rates(node))))
        if self.coordinator is not None:
            for data in self.topic.poll(COORDINATOR):
                self.coordinator.hear(data)
            self.topic.send(self.coordinator.tick())
