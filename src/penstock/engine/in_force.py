"""What was kept of a window's rows, also of those that are all gone, beside its answers.

See `drops.in_force`. A group all of whose rows are never shed loses none: which groups those are is
known where the predicate is over keys alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from penstock.drops.kinds import FLOORED
from penstock.engine.floors import bucket_of
from penstock.engine.frame import AGGREGATE, Answers
from penstock.engine.groups import HEAVIEST, IN_FORCE, MAY_MISS
from penstock.engine.operators import as_column
from penstock.engine.orders import in_force
from penstock.network.operators import Aggregate, Filter, Source, upstream

if TYPE_CHECKING:
    from penstock.engine.shared import Shared

_SPANS = "penstock_spans"


def with_in_force(
    frame: DataFrame,
    orders: Column,
    shared: Shared,
    slots: dict[Aggregate, Answers],
    sampled: Sequence[Aggregate],
) -> DataFrame:
    """The answers with the greatest weight that was in force while their windows were open.

    Args:
        frame: the answers of all aggregates.
        orders: of the batch.
        shared: all aggregates.
        slots: where the frame has the answers of each; takes what is put beside them.
        sampled: those with approximate answers.
    """
    of = F.col(AGGREGATE)
    # Spark takes no subquery, which the orders are, where it looks through a list.
    frame = frame.select("*", F.get(orders["in_force"], of).alias(_SPANS))
    frame = frame.select("*", in_force(F.col(_SPANS)).alias(MAY_MISS))
    of_group = F.col(MAY_MISS)
    for aggregate in sampled:
        if shared.kinds.get(aggregate) == FLOORED:
            mine = _with_floor(slots[aggregate], aggregate)
            of_group = F.when(of == shared.number[aggregate], mine).otherwise(of_group)
    frame = frame.select("*", of_group.alias(IN_FORCE)).drop(_SPANS)
    for aggregate in sampled:
        slots[aggregate] |= {IN_FORCE: IN_FORCE, MAY_MISS: MAY_MISS}
        keys = {key: slots[aggregate][key] for key in aggregate.query.keys}
        kept = _kept(aggregate, frame, keys)
        if kept is not None:
            named = frame.select("*", *(F.col(slot).alias(key) for key, slot in keys.items()))
            is_kept = (of == shared.number[aggregate]) & F.coalesce(kept, F.lit(False))
            weight = F.when(is_kept, 1.0).otherwise(F.col(IN_FORCE))
            frame = named.withColumn(IN_FORCE, weight).drop(*keys)
    return frame


def _with_floor(slots: Answers, aggregate: Aggregate) -> Column:
    """The weight for a group with a floor, where its rows that stayed show no sign of a drop.

    Where they do, they tell better what it kept: a batch is known by its least share only.
    """
    bucket = bucket_of([F.col(slots[key]) for key in aggregate.query.keys])
    may_be_whole = F.col(slots[HEAVIEST]) == 1
    return F.when(may_be_whole, in_force(F.col(_SPANS), bucket)).otherwise(1.0)


def _kept(aggregate: Aggregate, frame: DataFrame, keys: Answers) -> Column | None:
    """Which groups have only rows that are never shed, by their keys; None if that is not known."""
    way = [one for one in upstream(aggregate) if one != aggregate]
    source = next((one for one in way if isinstance(one, Source)), None)
    if source is None or source.never_shed is None:
        return None
    if not all(isinstance(one, Source | Filter) for one in way):
        return None  # a key may have become another column on the way
    kept, types = as_column(source.never_shed), frame.schema
    named = StructType([StructField(key, types[slot].dataType) for key, slot in keys.items()])
    try:
        _ = frame.sparkSession.createDataFrame([], named).select(kept).schema
    except AnalysisException:
        return None
    return kept
