"""What is said on the control topic: numbered, sealed, and refused if it is not what was said.

    statistics   a node tells what rows cost it, and how many come
    plan         the coordinator tells what is to be kept where
    applied      a node has put a plan in force
    peer         a node tells its neighbour of tables (D-FIT), in the words of `nodes.fit`
    dropped      a node tells which windows downstream of it will not be whole

Each speaker numbers what it says. An older number than the last one heard is stale; a speaker that
comes back from the dead begins above all that it may have said, since numbers follow the clock.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from penstock.drops.sealed import seal, unseal
from penstock.errors import RecordDamaged

Kind = Literal["statistics", "plan", "applied", "peer", "dropped"]
KINDS: tuple[Kind, ...] = ("statistics", "plan", "applied", "peer", "dropped")
COORDINATOR = "coordinator"
"""Who speaks for all nodes."""

VERSION = 1
"""Of the form of messages: one of another form is not understood, and ignored."""

_SEAL = "fleet message"
_KEPT = 100
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Message:
    """One of them.

    Args:
        kind: what it is about.
        pipeline: whose it is: several may share a topic.
        sender: a node, or the coordinator.
        number: grows with each message of its sender.
        body: plain values.
    """

    kind: Kind
    pipeline: str
    sender: str
    number: int
    body: Mapping[str, Any]

    def encode(self) -> bytes:
        """As bytes that can be sent."""
        return seal(
            _SEAL,
            VERSION,
            {
                "kind": self.kind,
                "pipeline": self.pipeline,
                "sender": self.sender,
                "number": self.number,
                "body": dict(self.body),
            },
        ).encode()

    @staticmethod
    def decode(data: bytes) -> Message:
        """From bytes that were received; `RecordDamaged` if they are not what was sent.

        Args:
            data: as `encode` made them, if nothing happened to them.
        """
        values = unseal(_SEAL, VERSION, data)
        try:
            kind, number, body = values["kind"], values["number"], values["body"]
            pipeline, sender = values["pipeline"], values["sender"]
        except KeyError as error:
            raise RecordDamaged(f"a message must say its {error}") from error
        right = isinstance(number, int) and isinstance(body, dict)
        if not right or not all(isinstance(text, str) for text in (kind, pipeline, sender)):
            raise RecordDamaged("a message must be made of the right types")
        return Message(cast("Kind", kind), pipeline, sender, number, body)


@dataclass
class Mailbox:
    """Who speaks here, and who is listened to.

    Args:
        pipeline: whose messages these are.
        name: of the speaker.
        others: who else may speak.
        clock: seconds since the epoch.
        reports: what was ignored, and why.
    """

    pipeline: str
    name: str
    others: Collection[str]
    clock: Callable[[], float]
    reports: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT))
    ignored: int = 0
    _number: int = 0
    _heard: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """Of the last message that was written, in this life or a former one that was heard of."""
        return self._number

    def beyond(self, number: int) -> None:
        """Numbers what is written from now on above a number.

        Args:
            number: that was used elsewhere.
        """
        self._number = max(self._number, number)

    def write(self, kind: Kind, body: Mapping[str, Any]) -> bytes:
        """A message, ready to be sent.

        Args:
            kind: what it is about.
            body: plain values.
        """
        self._number = max(self._number + 1, int(self.clock() * 1000))
        return Message(kind, self.pipeline, self.name, self._number, body).encode()

    def read(self, data: bytes) -> Message | None:
        """A message that is to be listened to; None if it is ignored, which is reported.

        Args:
            data: as it arrived.
        """
        try:
            message = Message.decode(data)
        except RecordDamaged as error:
            self.report("a damaged message", str(error))
            return None
        if message.pipeline != self.pipeline:
            return None  # somebody else's
        if message.sender == self.name:
            # Said in a former life, maybe by a faster clock: what is said now is newer.
            self.beyond(message.number)
            return None
        what = f"{message.kind} {message.number} from {message.sender!r}"
        if message.kind not in KINDS or message.sender not in self.others:
            self.report("an unknown message", what)
            return None
        if message.number <= self._heard.get((message.sender, message.kind), -1):
            self.report("a stale message", what)
            return None
        self._heard[message.sender, message.kind] = message.number
        return message

    def report(self, what: str, why: str) -> None:
        """Notes that something was ignored.

        Args:
            what: it was.
            why: it is of no use.
        """
        self.ignored += 1
        line = f"{self.name} ignored {what}: {why}"
        self.reports.append(line)
        _LOG.warning(line)
