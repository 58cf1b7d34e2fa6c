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

from penstock.engine.columns import BITS, bits
from penstock.engine.flow import Flow
from penstock.engine.step import quoted
from penstock.network.operators import Operator

WHICH, LISTED = "penstock_which", "penstock_listed"
_FEW = 6
"""Ways for which all lists of them are made beforehand."""


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
        filled: slot → column of the frame, for those that are not as the feed has them.
        stays: which rows are not dropped on this way; None for all.
        lost: the column of the frame that says which rows are of a group that is dropped.
    """

    feed: Operator
    target: int
    columns: Mapping[str, str]
    mask: tuple[str, str] | None = None
    filled: Mapping[str, str] = field(default_factory=dict)
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
            filled[slot][number] = branch.filled.get(slot) or flow.value(branch.feed, text)
        if branch.mask is not None:
            slot, column = branch.mask
            filled[slot][number] = column
    ways = [_taken(flow, branch) for branch in branches]
    if sample is not None:
        ways.append(sample)
    ways += booked
    frame, which = flow.frame, F.col(WHICH)
    if len(ways) == 1 and ways[0] is None:
        tagged = frame.select("*", F.lit(0).alias(WHICH))
    else:
        tagged = _exploded(frame, ways)
    return tagged.select(
        which,
        *(value.alias(name) for name, value in always.items()),
        *(_filled(filled[slot], len(ways), of).alias(slot) for slot, of in slots.items()),
    )


def _taken(flow: Flow, branch: Branch) -> Column | None:
    """Which rows go a way; None for all."""
    taken = passing(flow, branch)
    if taken is None or branch.stays is None:
        return branch.stays if taken is None else taken
    return taken & branch.stays


def _exploded(frame: DataFrame, ways: Sequence[Column | None]) -> DataFrame:
    """Each row once for every way that it goes, with the number of the way.

    Where there are few ways, all lists that there may be are made once, and a row looks up its own:

        number   0    1      2      3               bit 0: the first way that not all rows go
        list     []   [1]    [2]    [1, 2]

    Where there are more, a row is asked for each way by a bit. A list of its own would be made and
    thrown away for every row.

    Args:
        frame: the rows.
        ways: which rows go each; None for all.
    """
    asked = [(number, taken) for number, taken in enumerate(ways) if taken is not None]
    if len(asked) <= _FEW:
        # A plain explode would be filtered for empty lists first, at twice the cost.
        exploded = frame.select("*", _listed(asked, len(ways)).alias(LISTED))
        tagged = exploded.select("*", F.explode_outer(LISTED).alias(WHICH))
        return tagged.where(F.col(WHICH).isNotNull())
    taken = [F.lit(True) if way is None else way for way in ways]
    cut = range(0, len(ways), BITS)
    masks = {f"{LISTED}_{at}": bits(enumerate(taken[at : at + BITS])) for at in cut}
    exploded = frame.select("*", *(mask.alias(name) for name, mask in masks.items()))
    numbers = F.array(*map(F.lit, range(len(ways)))).cast("array<int>")
    tagged = exploded.select("*", F.explode(numbers).alias(WHICH))
    goes = F.lit(False)
    for at in cut:
        bit = F.expr(f"shiftright({LISTED}_{at}, {WHICH} - {at}) & 1L") != 0
        goes = bit if len(masks) == 1 else F.when(F.col(WHICH) >= at, bit).otherwise(goes)
    return tagged.where(goes)


def _listed(asked: Sequence[tuple[int, Column]], ways: int) -> Column:
    """The numbers of the ways that a row goes.

    Args:
        asked: the ways that not all rows go, and which rows go them.
        ways: how many there are.
    """
    always = sorted(set(range(ways)) - {number for number, _ in asked})
    lists = []
    for which in range(1 << len(asked)):
        some = [number for bit, (number, _) in enumerate(asked) if which >> bit & 1]
        lists.append(F.array(*map(F.lit, sorted(always + some))).cast("array<int>"))
    mine = bits((bit, taken) for bit, (_, taken) in enumerate(asked))
    return F.get(F.array(*lists), mine.cast("int"))


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
