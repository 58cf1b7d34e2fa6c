"""What the messages of neighbours are about."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.nodes.fit.messages import Message
from penstock.nodes.fit.spacing import Profile, Spacing


@dataclass(frozen=True, slots=True)
class Changes:
    """What a child tells of its table.

    Args:
        base: the version of the table message that it changes; None if this is all of it.
        removed: numbers of entries that are no longer true.
        added: entries: a number, rates, a score.
    """

    base: int | None
    removed: list[int]
    added: list[tuple[int, list[float], float]]


def read(message: Message) -> Profile | Spacing | Changes | None:
    """What a message says; None if it only asks. A body of another make is a TypeError."""
    match message.kind:
        case "profile":
            return Profile(**message.body)
        case "spacing":
            return Spacing(**message.body)
        case "table":
            return Changes(**message.body)
        case "again":
            return None
