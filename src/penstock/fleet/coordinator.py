"""The coordinator: hears what nodes measure, solves the program, and hands out plans.

A machine without a clock or a topic: it is told what was heard and what time it is, and says what
is to be sent. It holds nothing that it could not hear again: one that dies and comes back has its
nodes' statistics within seconds, while they go on with the last plan that they had.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from penstock.control.snapshot import Snapshot
from penstock.errors import RecordDamaged
from penstock.fleet.messages import COORDINATOR, Mailbox
from penstock.fleet.plans import NOTHING, Handed, Solving
from penstock.fleet.statistics import heard
from penstock.nodes.learnt import learnt
from penstock.nodes.lookup import Choice
from penstock.nodes.model import Network
from penstock.nodes.phases import Phases

EVERY, AGAIN = 1.0, 5.0
"""Seconds from one look to the next, and after which a plan is told again to who may have missed
it."""

_LOG = logging.getLogger(__name__)


class Coordinator:
    """One for a network of nodes.

    Args:
        network: as the file says it is.
        pipeline: its name.
        period: seconds that a batch of a node may take, of which its fixed cost is no work.
        clock: seconds since the epoch.
        log: takes a line for each phase; None for the log of this module.
    """

    def __init__(
        self,
        network: Network,
        pipeline: str,
        period: float,
        clock: Callable[[], float],
        log: Callable[[str], None] | None = None,
    ) -> None:
        self.network, self._period, self._clock = network, period, clock
        nodes = [node.name for node in network.nodes]
        self.mailbox = Mailbox(pipeline, COORDINATOR, nodes, clock)
        self.snapshots: dict[str, Snapshot] = {}
        self._solving = Solving(network)
        self.phases = Phases(self._select, nodes, 0.0, log or _LOG.info)
        self._looked = self._said = float("-inf")
        self._told: Handed = NOTHING

    @property
    def told(self) -> Handed:
        """The plan that nodes were told of last."""
        return self._told

    def hear(self, data: bytes) -> None:
        """Takes note of a message.

        Args:
            data: as it arrived.
        """
        message = self.mailbox.read(data)
        if message is None:
            return
        if message.kind == "applied":
            self.phases.applied(message.sender, str(message.body.get("plan")))
        elif message.kind == "statistics":
            try:
                self.snapshots[message.sender] = heard(message.body)
            except RecordDamaged as error:
                self.mailbox.report(f"statistics from {message.sender!r}", str(error))

    def tick(self) -> list[bytes]:
        """What is to be sent now."""
        now = self._clock()
        if now - self._looked < EVERY:
            return []
        self._looked = now
        believed = learnt(self.network, self.snapshots, self._period)
        self._solving = Solving(believed)
        chosen = self.phases.observe(believed.rates) if self._measured else None
        if chosen is not None:
            self._told = self._solving.found
        elif self.phases.choice is None and self._told is not NOTHING:
            self._told = NOTHING
        elif now - self._said < AGAIN or not self._measured:
            return []
        self._said = now
        return [self.mailbox.write("plan", self._told.body())]

    @property
    def _measured(self) -> bool:
        """Whether it is known how many rows come: before that, nothing is dropped."""
        known = {name for one in self.snapshots.values() for name in one.streams}
        return known.issuperset(self.network.input)

    def _select(self, rates: Mapping[str, float]) -> Choice | None:
        return self._solving.select(rates)
