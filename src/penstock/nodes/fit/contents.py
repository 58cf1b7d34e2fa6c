"""What the messages of neighbours are about."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
    """What a message says; None if it only asks.

    A sealed message may still be of another make, or made by a program that errs. What cannot be
    is a TypeError, ValueError or ArithmeticError.

    Args:
        message: from a neighbour.
    """
    match message.kind:
        case "profile":
            return _profile(Profile(**message.body))
        case "spacing":
            return _spacing(Spacing(**message.body))
        case "table":
            return _changes(Changes(**message.body))
        case "again":
            return None


def _profile(told: Profile) -> Profile:
    worth = _rates(told.worth)
    loads = tuple(_rates(one) for one in told.loads)
    if not worth or any(one.keys() != worth.keys() for one in loads):
        raise ValueError("loads of other streams than those that enter")
    counts = _whole(told.dimensions), _whole(told.merges), _whole(told.depth, least=1)
    return Profile(worth, loads, *counts)


def _spacing(told: Spacing) -> Spacing:
    most, reference, dimensions = _rates(told.most), _amount(told.reference), told.dimensions
    error, merging, near = (_amount(one) for one in (told.error, told.merge_error, told.near))
    if not 0 < error < 1 or merging >= 1 or near >= 1:
        raise ValueError("an error that is no share")
    return Spacing(most, reference, _whole(dimensions, least=1), error, merging, near)


def _changes(told: Changes) -> Changes:
    base = None if told.base is None else _whole(told.base)
    removed = [_whole(number) for number in told.removed]
    added = [
        (_whole(number), [_amount(rate) for rate in rates], _amount(score))
        for number, rates, score in told.added
    ]
    numbers = [number for number, _, _ in added]
    if len(set(removed)) < len(removed) or len(set(numbers)) < len(numbers):
        raise ValueError("an entry that is there twice")
    if base is None and removed:
        raise ValueError("a whole table of which entries are removed")
    return Changes(base, removed, added)


def _rates(told: object) -> dict[str, float]:
    if not isinstance(told, Mapping):
        raise TypeError(f"must name streams, got {told!r}")
    return {str(name): _amount(rate) for name, rate in told.items()}


def _amount(told: object) -> float:
    if isinstance(told, bool) or not isinstance(told, int | float):
        raise TypeError(f"must be a number, got {told!r}")
    if not math.isfinite(told) or told < 0:
        raise ValueError(f"must be 0 or more, got {told!r}")
    return float(told)


def _whole(told: object, least: int = 0) -> int:
    if isinstance(told, bool) or not isinstance(told, int):
        raise TypeError(f"must be a whole number, got {told!r}")
    if told < least:
        raise ValueError(f"must be {least} or more, got {told!r}")
    return told
