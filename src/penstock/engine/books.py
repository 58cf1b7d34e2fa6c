"""The books of a batch that drops rows: what stays is counted, in groups of the panes.

    row   stays at the stream   lost on the way to      booked as
    1     yes                   -                       batch 7, stream 0, 100
    2     yes                   aggregates 1 and 2      batch 7, stream 0, 111
    3     no                    -                       not at all

A row that is dropped at once is not worth a count: how many came is known, and those that stayed
are booked. A count on the rows themselves (`observe`) would end the code that Spark generates. (At
the watermark it has ended in any case: there rows are counted that are dropped at random in a large
batch, and only those are booked that are lost on the way to somebody; see `early`.)
The groups are due as soon as the watermark moves, in the batch itself or a later one; so each says
which batch it is of.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as F

from penstock.engine.columns import BITS, bits
from penstock.engine.flow import Flow
from penstock.engine.frame import BOOK, COUNTING, DROPS, GROUP, PANE, STAYED, flag, flags_at, way
from penstock.engine.groups import ROWS
from penstock.engine.schema import OURS
from penstock.engine.slots import Branch
from penstock.network.operators import Aggregate, Source, base, feeds

if TYPE_CHECKING:
    from penstock.engine.shared import Shared

BATCHES = 1 << 20
"""Batches that are told apart, by their number modulo this."""

AT_STREAM = 1 << BITS
"""The bit that says that rows may have been dropped where they enter: all that stay are booked."""

Place = tuple[Source, tuple[Aggregate, ...]]
"""A stream, and aggregates that may lose rows of it: as many as a mask has bits. Where there are
more, a row may be booked more than once."""


def places(shared: Shared) -> list[Place]:
    """What is booked apart; the first of each stream has all of its rows that stay."""
    found: list[Place] = []
    for source in shared.rows:
        mine = [
            aggregate
            for fold in shared.folds
            if fold.kind != "exact"
            for aggregate in fold.aggregates
            if any(base(feed) == source for feed in feeds(aggregate.input))
        ]
        cuts = range(0, max(len(mine), 1), BITS)
        found += [(source, tuple(mine[i : i + BITS])) for i in cuts]
    return found


def booked(
    shared: Shared, flow: Flow, source: Source, branches: Sequence[Branch]
) -> dict[int, tuple[Column, str]]:
    """Place → which rows are booked there, and the column of the flow that says what they lose.

    Args:
        shared: all aggregates.
        flow: the rows of a stream, with all operators.
        source: the stream.
        branches: the ways that its rows may go.
    """
    lost: dict[Aggregate, Column] = {}
    for branch in branches:
        fold = shared.folds[branch.target - 1]
        for aggregate in fold.aggregates if fold.kind != "exact" else ():
            feed = feeds(aggregate.input)[0] if fold.together else branch.feed
            stays = shared_stays(shared, branch.target - 1)
            stays = stays if branch.lost is None else stays & ~F.col(branch.lost)
            here = flow.passes(feed) & ~stays
            lost[aggregate] = lost[aggregate] | here if aggregate in lost else here
    found: dict[int, tuple[Column, str]] = {}
    for number, (of, aggregates) in enumerate(places(shared)):
        if of != source:
            continue
        losses = ((i, lost[aggregate]) for i, aggregate in enumerate(aggregates))
        mask = bits([*losses, (BITS, flag(COUNTING))])
        name = f"{OURS}book_{number}"
        # A batch that drops nothing has no books, and does not look at all this; nor does a row
        # that stays for all, and is counted already.
        kept = flag(DROPS) & flag(STAYED)
        if source in shared.counted_at_entrance and all(branch.lost is None for branch in branches):
            kept = kept & (flag(COUNTING) | ~stays_for_all(shared))
        flow.frame = flow.frame.select("*", F.when(kept, mask).otherwise(0).alias(name))
        least = 0 if not found else AT_STREAM
        found[number] = (F.col(name).bitwiseAND(F.lit(~least)) != 0, name)
    return found


def shared_stays(shared: Shared, fold: int) -> Column:
    """Which of the rows that stay at the stream also stay on the way to a fold, but for its groups.

    Args:
        shared: all aggregates.
        fold: its number, from 0 on.
    """
    number, bit = way(fold)
    return flag(bit, flags_at(number)) if fold in shared.looked_up else F.lit(True)


def stays_for_all(shared: Shared) -> Column:
    """Which of the rows that stay at the stream also stay on the way to all folds."""
    ways: dict[int, int] = {}
    for fold in shared.looked_up:
        number, bit = way(fold)
        ways[number] = ways.get(number, 0) | 1 << bit
    each = (F.col(flags_at(number)) == F.lit(mask).cast("bigint") for number, mask in ways.items())
    return reduce(Column.__and__, each, F.lit(True))


def group(place: int) -> Column:
    """The group of the panes that rows are booked in: below 0, by batch and place."""
    return F.col(BOOK) - place


def entries() -> Column:
    """What is booked in the panes of a batch, as a metric: group, mask and rows."""
    entry = F.struct(
        F.col(GROUP).alias("group"), F.col(PANE).alias("mask"), F.col(ROWS).alias("rows")
    )
    return F.collect_list(F.when(F.col(GROUP) < 0, entry))


def placed(number: int, count: int) -> tuple[int, int]:
    """Batch, modulo `BATCHES`, and place of a group.

    Args:
        number: of the group, below 0.
        count: how many places there are.

    >>> placed(-1 - (7 * 3 + 2), 3)
    (7, 2)
    """
    return divmod(-1 - number, count)
