"""Queries share the columns of one frame: keys by their type, partial aggregates by what they are.

              k0 string   k1 int    p0 sum(bigint)   p1 max(int)
    query 0   dst_host    -         sum(size)        max(port)
    query 1   -           port      sum(size)        -
    query 2   src_host    port      sum(size * 8)    -

A row is exploded into the queries that it is for, and each takes its own values along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from penstock.engine.flow import Flow
from penstock.engine.step import quoted
from penstock.network.operators import Operator

WHICH, LISTED = "penstock_which", "penstock_listed"


@dataclass
class Slots:
    """Columns by what they hold; one query has each at most once.

    Args:
        prefix: what their names begin with.
        holds: name of a slot → what it holds.
    """

    prefix: str
    holds: dict[str, str] = field(default_factory=dict)

    def take(self, wanted: Sequence[str]) -> list[str]:
        """A slot for each, all different; there are new ones where none is left.

        >>> slots = Slots("k")
        >>> slots.take(["int", "string", "int"]), slots.take(["string", "int"])
        (['k0', 'k1', 'k2'], ['k1', 'k0'])
        """
        taken: list[str] = []
        for what in wanted:
            free = (slot for slot, held in self.holds.items() if held == what)
            slot = next((slot for slot in free if slot not in taken), None)
            if slot is None:
                slot = f"{self.prefix}{len(self.holds)}"
                self.holds[slot] = what
            taken.append(slot)
        return taken


@dataclass(frozen=True)
class Branch:
    """Rows on their way to a query.

    Args:
        feed: the operator that they have passed.
        target: number of the query, or group of queries.
        columns: slot → column or expression of the feed.
        mask: a slot, and the column of the frame that fills it: only rows for which it is not 0
            go this way.
        stays: which rows are not dropped on this way; None for all.
        lost: the column of the frame that says which rows are of a group that is dropped.
    """

    feed: Operator
    target: int
    columns: Mapping[str, str]
    mask: tuple[str, str] | None = None
    stays: Column | None = None
    lost: str | None = None


def tag(
    flow: Flow,
    branches: Sequence[Branch],
    slots: Mapping[str, DataType],
    always: Mapping[str, Column],
    *,
    sample: Column | None = None,
    booked: Sequence[Column] = (),
) -> DataFrame:
    """Each row once for every branch that it passes, with `WHICH` branch that is.

    Args:
        flow: what the branches stand on.
        branches: the ways that rows may go.
        slots: the slots to be filled, and their types.
        always: columns that every row keeps.
        sample: rows that also go a way of their own, after all others, with no slot filled.
        booked: the same, for rows that are counted (`books`).
    """
    for branch in branches:
        flow.add(branch.feed)
    filled: dict[str, dict[int, str]] = {slot: {} for slot in slots}
    for number, branch in enumerate(branches):
        for slot, text in branch.columns.items():
            filled[slot][number] = flow.value(branch.feed, text)
        if branch.mask is not None:
            slot, column = branch.mask
            filled[slot][number] = column
    ways = [_way(flow, branch, number) for number, branch in enumerate(branches)]
    if sample is not None:
        ways.append(F.when(sample, F.lit(len(branches))))
    frame, which = flow.frame, F.col(WHICH)
    plain = passing(flow, branches[0]) is None and branches[0].stays is None
    if len(ways) == 1 and plain:
        tagged = frame.select("*", F.lit(0).alias(WHICH))
    else:
        # A plain explode would be filtered for empty lists first, at twice the cost.
        listed = F.array(*ways)
        if booked:
            more = [F.when(taken, len(ways) + i) for i, taken in enumerate(booked)]
            listed = F.array(*ways, *more)
        exploded = frame.select("*", listed.alias(LISTED))
        tagged = exploded.select("*", F.explode_outer(LISTED).alias(WHICH))
        tagged = tagged.where(which.isNotNull())
    return tagged.select(
        which,
        *(value.alias(name) for name, value in always.items()),
        *(
            _filled(filled[slot], len(ways) + len(booked), of).alias(slot)
            for slot, of in slots.items()
        ),
    )


def _way(flow: Flow, branch: Branch, number: int) -> Column:
    taken = passing(flow, branch)
    if taken is None:
        return F.lit(number) if branch.stays is None else F.when(branch.stays, number)
    return F.when(taken if branch.stays is None else taken & branch.stays, number)


def passing(flow: Flow, branch: Branch) -> Column | None:
    """Which rows go a way, if none is dropped; None for all."""
    if branch.mask is not None:
        return F.col(branch.mask[1]) != 0
    return None if flow.passed[branch.feed] is None else flow.passes(branch.feed)


def _filled(by: Mapping[int, str], ways: int, of: DataType) -> Column:
    """What a slot holds, by way; null for those that do not use it."""
    which, value = F.col(WHICH), F.lit(None).cast(of)
    sources: dict[str, list[int]] = {}
    for number, name in by.items():
        sources.setdefault(name, []).append(number)
    if len(by) == ways and len(sources) == 1:
        return F.col(quoted(next(iter(sources))))
    for name, numbers in sources.items():
        value = F.when(which.isin(numbers), F.col(quoted(name))).otherwise(value)
    return value
