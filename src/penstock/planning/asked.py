"""The parts of a workload: operators and what they cost, queries and what they want."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

from penstock.control.checks import amount, positive
from penstock.errors import SpecificationError, complaint
from penstock.network.settings import ANSWERS, AnswerKind

Errors = Literal["bound", "quantile"]
"""What a plan makes as small as it can: Hoeffding's bound, as the paper does, or what an error is
known not to exceed at the same confidence."""


@dataclass(frozen=True, slots=True)
class Window:
    """The windows of an aggregate, as far as whole ones can be dropped.

    Args:
        range: ω, in microseconds.
        slide: δ, in microseconds.
        kind: what else two aggregates must have in common if one drop is to serve both: the keys,
            where windows begin.
    """

    range: int
    slide: int
    kind: Hashable = ()


@dataclass(frozen=True, slots=True)
class Node:
    """An operator, or a stream.

    Args:
        name: as in `Graph.names`.
        inputs: the numbers of those that feed it, all smaller than its own; none for a stream.
        cost: seconds for each row that it takes in; what a stream costs no drop can save.
        selectivity: rows out for each row in.
        rate: rows per second, of a stream.
        aggregate: whether it computes windows.
        window: of an aggregate whose windows can be dropped.
        panes: whether it stands for the panes that the aggregates it feeds share.
        feed: of an aggregate that shares panes, the number of the operator that it stands behind.
    """

    name: str
    inputs: tuple[int, ...] = ()
    cost: float = 1.0
    selectivity: float = 1.0
    rate: float = 0.0
    aggregate: bool = False
    window: Window | None = None
    panes: bool = False
    feed: int | None = None

    def __post_init__(self) -> None:
        for what, value in (
            ("cost", self.cost),
            ("selectivity", self.selectivity),
            ("rate", self.rate),
        ):
            amount(f"{what} of {self.name!r}", value)


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, and what is wanted of its answers.

    Args:
        name: of the query.
        node: the number of the operator whose rows are its answers.
        hardness: Σv²/(Σv)² of a window, of the worst group where it has groups; infinite if a
            sample would have no error bound, and the query is never sampled.
        weight: how much its error counts beside that of others.
        priority: its level; 1 is the highest, and lower ones get what higher ones leave.
        answers: "approximate" or "subset".
        max_gap: B, how many windows in a row may be missing; None if any number.
        rows: whether its answers are rows, and no windows (set-valued): rows that are missing are
            its error.
        groups: over how many, as if all were alike, errors are summed if the hardness is that of
            all groups together; 1 if it is that of one.
    """

    name: str
    node: int
    hardness: float = 0.01
    weight: float = 1.0
    priority: int = 1
    answers: AnswerKind = "approximate"
    max_gap: int | None = None
    rows: bool = False
    groups: float = 1.0

    def __post_init__(self) -> None:
        positive(f"weight of {self.name!r}", self.weight)
        positive(f"groups of {self.name!r}", self.groups)
        if not self.hardness > 0:
            rule = "must be greater than 0"
            hint = "no sample of rows that count for nothing can be off"
            what = f"hardness of {self.name!r}"
            raise SpecificationError(complaint(what, rule, self.hardness, hint))
        if self.answers not in ANSWERS:
            rule = "must be 'approximate' or 'subset'"
            raise SpecificationError(complaint(f"answers of {self.name!r}", rule, self.answers))
        for what, value in (("priority", self.priority), ("max_gap", self.max_gap)):
            if value is not None and (not isinstance(value, int) or value < 1):
                rule = "must be a whole number greater than 0"
                raise SpecificationError(complaint(f"{what} of {self.name!r}", rule, value))
