"""What a node takes part in: nothing, a coordinator's plans, or its neighbours' tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from penstock.control.snapshot import Snapshot
from penstock.errors import RecordDamaged
from penstock.fleet.messages import COORDINATOR, Mailbox, Message
from penstock.fleet.plans import NOTHING, Handed
from penstock.fleet.statistics import told
from penstock.nodes.splits import Location

EVERY = 1.0
"""Seconds from one telling of statistics to the next."""


class Member(Protocol):
    """A node as others see it."""

    @property
    def keeps(self) -> Mapping[Location, float]:
        """What is to be kept at drop locations; those that are not named keep all."""
        ...

    def start(self) -> list[bytes]:
        """What is to be sent first."""
        ...

    def hear(self, message: Message) -> list[bytes]:
        """What is to be sent because of a message."""
        ...

    def tick(self, seen: Snapshot | None) -> list[bytes]:
        """What is to be sent now, given what the node has measured."""
        ...


class Alone:
    """A node that sheds for itself only."""

    keeps: Mapping[Location, float] = {}

    def start(self) -> list[bytes]:
        """Nothing."""
        return []

    def hear(self, message: Message) -> list[bytes]:
        """Nothing."""
        del message
        return []

    def tick(self, seen: Snapshot | None) -> list[bytes]:
        """Nothing."""
        del seen
        return []


class Follower:
    """A node that tells a coordinator what it measures, and does what it is told.

    Whatever becomes of the coordinator, the last plan stays.

    Args:
        mailbox: of the node.
        last: the plan that it had when it ended, to begin with.
        clock: seconds.
        log: takes a line when another plan is there.
    """

    def __init__(
        self,
        mailbox: Mailbox,
        clock: Callable[[], float],
        log: Callable[[str], None],
        last: Handed = NOTHING,
    ) -> None:
        self._mailbox, self._clock, self._log = mailbox, clock, log
        self.plan = last
        self._said = float("-inf")

    @property
    def keeps(self) -> Mapping[Location, float]:
        """Of the last plan."""
        return self.plan.keeps

    def start(self) -> list[bytes]:
        """Nothing: a coordinator tells its plan again every few seconds."""
        return []

    def hear(self, message: Message) -> list[bytes]:
        """Takes a plan; it is in force with the next batch that is not decided yet.

        Args:
            message: any.
        """
        if message.kind != "plan" or message.sender != COORDINATOR:
            return []
        try:
            plan = Handed.of(message.body)
        except RecordDamaged as error:
            self._mailbox.report(f"a plan from {message.sender!r}", str(error))
            return []
        if plan != self.plan:
            scaled = ", ".join(f"{name} {share:.3g}" for name, share in plan.scaling.items())
            what = f"plan {plan.id}, inputs scaled by {scaled}" if plan.id else "nothing is dropped"
            self._log(f"in force: {what}")
        self.plan = plan
        return [self._mailbox.write("applied", {"plan": plan.id})]

    def tick(self, seen: Snapshot | None) -> list[bytes]:
        """The statistics, now and then.

        Args:
            seen: what the node has measured; None if nothing yet.
        """
        now = self._clock()
        if seen is None or now - self._said < EVERY:
            return []
        self._said = now
        return [self._mailbox.write("statistics", told(seen))]
