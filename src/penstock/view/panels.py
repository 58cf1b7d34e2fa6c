"""A run over time, as the plots of it: what stands in each, whatever draws them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from penstock.control.status import QueryStatus, Status
from penstock.view import words
from penstock.view.parts import wholes

Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One quantity over time.

    Args:
        name: of it.
        values: one for each batch; None where nobody knows.
        dashed: whether it is what others are compared with.
    """

    name: str
    values: Values
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """A plot.

    Args:
        name: of its file.
        title: what it shows, with the unit.
        lines: that stand in it.
        label: writes a value.
    """

    name: str
    title: str
    lines: tuple[Line, ...]
    label: Callable[[float | None], str]

    @property
    def top(self) -> float:
        """The greatest value."""
        known = [value for line in self.lines for value in line.values if value is not None]
        return max(known, default=0.0) or 1.0


def panels(statuses: Sequence[Status]) -> tuple[Panel, ...]:
    """The plots of a run; those of which nothing is known are left out.

    Args:
        statuses: of its batches, oldest first.
    """
    whole = wholes(statuses)

    def line(name: str, of: Callable[[Status], float | None], *, dashed: bool = False) -> Line:
        values = [of(one) for one in whole]
        return Line(name, tuple(v if words.known(v) else None for v in values), dashed)

    every = (
        Panel(
            "response",
            "Response time",
            (
                line("95 % of rows", lambda one: one.response),
                line("half of them", lambda one: one.median),
                line("target", lambda one: one.target, dashed=True),
            ),
            words.seconds,
        ),
        Panel(
            "rates",
            "Rows a second",
            (
                line("in", lambda one: one.arriving),
                line("taken", lambda one: one.taking),
                line("capacity", lambda one: one.capacity, dashed=True),
            ),
            words.count,
        ),
        Panel(
            "demand",
            "Demand, in multiples of the capacity",
            (
                line("demand", lambda one: one.demand),
                line("capacity", lambda one: None if one.demand is None else 1.0, dashed=True),
            ),
            words.times,
        ),
        Panel(
            "shed",
            "Rows that are dropped",
            (line("of all queries", lost), line("where they enter", lost_at_once)),
            words.share,
        ),
        Panel(
            "backlog",
            "Rows that wait",
            (line("backlog", lambda one: one.backlog),),
            words.count,
        ),
        Panel(
            "error",
            "Expected relative error",
            (line("the greatest of a query", lambda one: _most(_errors(one))),),
            words.share,
        ),
    )
    return tuple(one for one in every if any(v is not None for v in one.lines[0].values))


def lost(status: Status) -> float | None:
    """The share of the rows of all queries that a batch dropped."""
    return _share(sum(q.shed for q in status.queries), sum(q.rows_in for q in status.queries))


def lost_at_once(status: Status) -> float | None:
    """The share of the rows that a batch dropped where they entered."""
    return _share(status.shed, status.rows)


def shedding(statuses: Sequence[Status]) -> list[tuple[int, int]]:
    """The times in which rows were dropped, as the first batch and the last of each.

    Args:
        statuses: of the batches, oldest first.
    """
    found, at = [], 0
    for on, group in groupby(wholes(statuses), key=lambda one: one.phase == "shedding"):
        length = len(list(group))
        if on:
            found.append((at, at + length - 1))
        at += length
    return found


def _errors(status: Status) -> list[QueryStatus]:
    return [query for query in status.queries if query.error is not None]


def _most(queries: Sequence[QueryStatus]) -> float | None:
    return max((query.error for query in queries if query.error is not None), default=None)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
