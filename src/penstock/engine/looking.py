"""A look at the answers of a batch: what queries have summed, for their statistics."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.control.moments import Answers, Moments
from penstock.engine.frame import AGGREGATE, SQUARES, TOTAL
from penstock.engine.groups import ROWS
from penstock.engine.part import Part
from penstock.network.operators import Aggregate


def look(part: Part, frame: DataFrame, most: int) -> dict[Aggregate, Answers]:
    """What the queries have summed in a batch: mean, deviation and rows follow from it.

    Args:
        part: whose answers they are.
        frame: a batch of its frame, in memory.
        most: how many groups are told apart, at most: those for which a sample is worth least.
    """
    number = {part.shared.number[aggregate]: aggregate for aggregate in part.delivered}
    mine = frame.where(F.col(AGGREGATE).isin(list(number)))
    last, first = F.unix_micros(F.max("window_end")), F.unix_micros(F.min("window_end"))
    sums = _sums(part, number)
    overall = mine.groupBy(AGGREGATE).agg(*sums, (last - first).alias("span"))
    found = {}
    for row in overall.collect():
        aggregate = number[row[AGGREGATE]]
        windows = row["span"] // aggregate.query.spec.slide + 1
        found[aggregate] = Moments(row["rows"], row["total"], row["squares"], windows)
    groups: dict[Aggregate, dict[tuple[object, ...], Moments]] = {}
    keys = sorted({slot for aggregate in found for slot in _key_slots(part, aggregate)})
    if keys:
        each = mine.groupBy(AGGREGATE, *keys).agg(*sums, F.count(F.lit(1)).alias("windows"))
        hardest = F.when(F.col("total") != 0, F.col("squares") / F.col("total") ** 2)
        for row in each.orderBy(hardest.desc_nulls_first()).limit(most).collect():
            aggregate = number[row[AGGREGATE]]
            key = tuple(row[slot] for slot in _key_slots(part, aggregate))
            moments = Moments(row["rows"], row["total"], row["squares"], row["windows"])
            if key:
                groups.setdefault(aggregate, {})[key] = moments
    return {one: Answers(moments, groups.get(one, {})) for one, moments in found.items()}


def _sums(part: Part, number: Mapping[int, Aggregate]) -> list[Column]:
    """Rows, sum and sum of squares of what each query sums."""
    of, nothing = F.col(AGGREGATE), F.lit(0.0)
    both = {n: _moments(part, aggregate) for n, aggregate in number.items()}
    total, squares = (
        F.coalesce(*(F.when(of == n, m[i].cast("double")) for n, m in both.items())) for i in (0, 1)
    )
    return [
        F.sum(ROWS).cast("double").alias("rows"),
        F.coalesce(F.sum(total), nothing).alias("total"),
        F.coalesce(F.sum(squares), nothing).alias("squares"),
    ]


def _moments(part: Part, aggregate: Aggregate) -> tuple[Column, Column]:
    """The sum, and the sum of squares, of what a query sums; one that counts sums ones."""
    slots = part.slots[aggregate]
    if SQUARES in slots:
        return F.col(slots[TOTAL]), F.col(slots[SQUARES])
    return F.col(ROWS), F.col(ROWS)


def _key_slots(part: Part, aggregate: Aggregate) -> list[str]:
    return [part.slots[aggregate][key] for key in aggregate.query.keys]
