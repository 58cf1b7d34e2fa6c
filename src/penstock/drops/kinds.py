"""What becomes of a query's answers when rows have to go: they get bounds, or some are missing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from penstock.drops.checks import whole
from penstock.errors import SpecificationError, complaint

Bounds = Literal["variance", "hoeffding"]

Per = Literal["window", "group"]
PER: tuple[Per, ...] = ("window", "group")

PER_GROUP = "subset per group"
"""What may become of rows whose windows are dropped for some groups only."""
FLOORED = "approximate with a floor"
"""What may become of rows of which rare groups keep more."""


@dataclass(frozen=True, slots=True)
class Approximate:
    """Every window is answered, from some of its rows, with bounds for the error.

    Args:
        confidence: how often the exact answer is within the bounds.
        bounds: from the variance of the sample, or the wider ones of Hoeffding, as in the paper.
        weight: how much its error counts beside that of other queries.
        priority: its level; 1 is the highest, and a lower one gets what is left.
        floor: rows that a group keeps in a window at least, about; None for no such thing.
    """

    confidence: float = 0.99
    bounds: Bounds = "variance"
    weight: float = 1.0
    priority: int = 1
    floor: int | None = None

    def __post_init__(self) -> None:
        _check_share(self.weight, self.priority)
        if self.floor is not None:
            whole("floor", self.floor, least=1)
        if not 0.5 <= self.confidence < 1:  # noqa: PLR2004 - less is no confidence
            rule = "must be a number from 0.5 to below 1"
            raise SpecificationError(complaint("confidence", rule, self.confidence))
        if self.bounds not in ("variance", "hoeffding"):
            rule = "must be 'variance' or 'hoeffding'"
            raise SpecificationError(complaint("bounds", rule, self.bounds))


@dataclass(frozen=True, slots=True)
class Subset:
    """Some windows are not answered; those that are, are exact.

    Args:
        max_gap: B, how many windows in a row may be missing.
        weight: how much its loss counts beside that of other queries.
        priority: its level; 1 is the highest, and a lower one gets what is left.
        per: whether a window is dropped for all groups, or each group drops its own.
    """

    max_gap: int
    weight: float = 1.0
    priority: int = 1
    per: Per = "window"

    def __post_init__(self) -> None:
        _check_share(self.weight, self.priority)
        whole("max_gap", self.max_gap, least=1)
        if self.per not in PER:
            raise SpecificationError(complaint("per", "must be 'window' or 'group'", self.per))


def _check_share(weight: float, priority: int) -> None:
    whole("priority", priority, least=1)
    if not 0 < weight < math.inf:
        raise SpecificationError(complaint("weight", "must be greater than 0", weight))


AnswerKind = Approximate | Subset | None
"""None for a query that is never shed."""


def kind_name(kind: AnswerKind) -> str:
    """In a word.

    >>> kind_name(Subset(max_gap=3)), kind_name(None)
    ('subset', 'exact')
    """
    return "exact" if kind is None else type(kind).__name__.lower()


def is_per_group(kind: AnswerKind) -> bool:
    """Whether each group drops windows of its own."""
    return isinstance(kind, Subset) and kind.per == "group"


def common(kinds: list[AnswerKind]) -> str:
    """What may become of rows that several queries need: those of different kinds must all stay.

    >>> common([Subset(2), Subset(5)]), common([Subset(2), Approximate()])
    ('subset', 'exact')
    """
    names = {_of_rows(kind) for kind in kinds}
    return names.pop() if len(names) == 1 else "exact"


def is_sampled(rows: str) -> bool:
    """Whether rows may be dropped at random.

    >>> is_sampled(FLOORED), is_sampled("subset")
    (True, False)
    """
    return rows in ("approximate", FLOORED)


def _of_rows(kind: AnswerKind) -> str:
    if isinstance(kind, Approximate) and kind.floor is not None:
        return FLOORED
    return PER_GROUP if is_per_group(kind) else kind_name(kind)
