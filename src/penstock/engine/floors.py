"""A floor for groups: rows stay by the share of their bucket, and answers tell how large it is.

rows ─► bucket of their keys ─► threshold ─► random number below it? ─► panes, by that share
answers ─► rows of each group ─► buckets ─► shares of the next batch
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.drops.coins import HASH_BITS
from penstock.drops.floors import BUCKETS, Bucket, Buckets
from penstock.drops.kinds import FLOORED
from penstock.engine.flow import Flow
from penstock.engine.frame import AGGREGATE, CHANCE, KEEPS, MARK
from penstock.engine.groups import ROWS, stands_for
from penstock.engine.schema import OURS
from penstock.engine.step import quoted
from penstock.network.operators import Source, base

if TYPE_CHECKING:
    from penstock.engine.part import Part
    from penstock.engine.shared import Shared


def floored(shared: Shared) -> list[int]:
    """The numbers of the folds, from 0 on, whose groups have a floor."""
    return [i for i, fold in enumerate(shared.folds) if fold.kind == FLOORED]


def looked_up(shared: Shared, source: Source, frame: DataFrame) -> DataFrame:
    """The rows with the threshold of their bucket, for each fold over the stream that has a floor.

    Args:
        shared: all aggregates.
        source: the stream.
        frame: its rows, with `MARK`.
    """
    mark, columns = F.col(MARK), []
    for place, i in enumerate(floored(shared)):
        if any(base(feed) == source for feed in shared.folds[i].feeds):
            keys = [F.col(quoted(key)) for key in shared.folds[i].aggregates[0].query.keys]
            shares = F.get(mark["orders"]["floors"], F.lit(place))
            below = F.when(mark["drops"], F.get(shares, bucket_of(keys)))
            columns.append(below.alias(share_at(i)))
    return frame.select("*", *columns) if columns else frame


def lost(shared: Shared, flow: Flow, number: int) -> str | None:
    """The column of the flow that says which rows do not stay; None if the fold has no floor.

    Args:
        shared: all aggregates.
        flow: rows, with what `looked_up` gave them.
        number: of the fold, from 0 on.
    """
    if number not in floored(shared):
        return None
    name = f"{OURS}lost_{len(flow.frame.columns)}"
    gone = F.coalesce(F.col(CHANCE) >= F.col(share_at(number)), F.lit(False))
    flow.frame = flow.frame.select("*", gone.alias(name))
    return name


def share(number: int, of_all: Column) -> Column:
    """The share of its rows that the bucket of a row keeps.

    Args:
        number: of the fold, from 0 on.
        of_all: the share that is kept of all rows, where nothing is known of its bucket.
    """
    mine = F.col(share_at(number)) / F.lit(float(2**HASH_BITS))
    # Where rows are only counted, all of them stay.
    some = (F.get(F.col(KEEPS), F.lit(number)) < 1) & (F.col(CHANCE) >= 0)
    return F.coalesce(F.when(some, mine), of_all)


def rows_by_bucket(part: Part, frame: DataFrame) -> dict[str, Buckets]:
    """Of each query with a floor, how many rows the groups of a batch's answers had in a window.

    Args:
        part: whose answers they are.
        frame: a batch of its frame, in memory.
    """
    found: dict[str, Buckets] = {}
    for i in floored(part.shared):
        (aggregate,) = part.shared.folds[i].aggregates
        slots = part.slots[aggregate]
        keys = [F.col(slots[key]) for key in aggregate.query.keys]
        mine = frame.where(F.col(AGGREGATE) == part.shared.number[aggregate])
        rows = F.sum(F.col(slots[stands_for(ROWS)])) / F.count(F.lit(1))
        groups = mine.groupBy(bucket_of(keys).alias("bucket"), *keys).agg(rows.alias("rows"))
        buckets = groups.groupBy("bucket").agg(F.sum("rows").alias("rows"), F.min("rows"))
        listed = {bucket: Bucket(total, least) for bucket, total, least in buckets.collect()}
        for name in part.graph.users[aggregate]:
            found[name] = listed
    return found


def share_at(fold: int) -> str:
    """The column with the threshold of a row's bucket."""
    return f"{OURS}share_{fold}"


def bucket_of(keys: list[Column]) -> Column:
    """The bucket of the group with these keys."""
    return F.xxhash64(*keys).bitwiseAND(F.lit(BUCKETS - 1)).cast("int")
