"""What neighbours tell each other: numbered, and refused if a byte of it has changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from penstock.errors import PenstockError, complaint

Kind = Literal["profile", "spacing", "table", "again"]
KINDS: tuple[Kind, ...] = ("profile", "spacing", "table", "again")


class DamagedMessage(PenstockError):
    """Bytes that are no message, or no longer the one that was sent."""


@dataclass(frozen=True, slots=True)
class Message:
    """From one site to a neighbour.

    Args:
        kind: "profile" and "table" go upstream, "spacing" and "again" (send all of it) downstream.
        sender: a site.
        receiver: a neighbour of it.
        version: grows with each message of its sender; an older one is stale.
        body: plain values.
    """

    kind: Kind
    sender: str
    receiver: str
    version: int
    body: Mapping[str, Any]

    def encode(self) -> bytes:
        """As bytes that can be sent."""
        content = [self.kind, self.sender, self.receiver, self.version, dict(self.body)]
        text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
        return f"{_mark(text)} {text}".encode()

    @staticmethod
    def decode(data: bytes) -> Message:
        """From bytes that were received.

        Args:
            data: as `encode` made them, if nothing happened to them.
        """
        try:
            mark, _, text = data.decode().partition(" ")
            kind, sender, receiver, version, body = json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise DamagedMessage(complaint("a message", "must be whole", data[:40])) from error
        if mark != _mark(text) or kind not in KINDS:
            raise DamagedMessage(complaint("a message", "must be whole", data[:40]))
        return Message(kind, sender, receiver, version, body)


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
