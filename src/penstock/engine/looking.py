"""A look at the answers of a batch: what queries have summed, for their statistics."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.control.moments import Answers, Moments
from penstock.engine.frame import AGGREGATE, SQUARES, TOTAL
from penstock.engine.groups import ROWS, stands_for
from penstock.engine.lowering import SUMMED
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
    of, found = F.col(AGGREGATE), []
    moments = {n: _moments(part, aggregate) for n, aggregate in number.items()}
    for i, name in enumerate(("rows", "total", "squares")):
        mine = F.coalesce(*(F.when(of == n, m[i].cast("double")) for n, m in moments.items()))
        found.append(F.coalesce(F.sum(mine), F.lit(0.0)).alias(name))
    return found


def _moments(part: Part, aggregate: Aggregate) -> tuple[Column, Column, Column]:
    """Rows, sum and sum of squares of what a query sums; one that counts sums ones.

    Of a sample each row counts for those that it stands for.
    """
    slots, rows = part.slots[aggregate], F.col(ROWS)
    if SQUARES in slots:
        return rows, F.col(slots[TOTAL]), F.col(slots[SQUARES])
    if stands_for(ROWS) not in slots:
        return rows, rows, rows
    rows = F.col(slots[stands_for(ROWS)])
    asked = aggregate.query.aggregates.values()
    summed = next((one.column for one in asked if one.function in ("sum", "avg")), None)
    if summed is None:
        return rows, rows, rows
    total, squares = (slots[stands_for(f"{what} {summed}")] for what in (SUMMED, SQUARES))
    return rows, F.col(total), F.col(squares)


def _key_slots(part: Part, aggregate: Aggregate) -> list[str]:
    return [part.slots[aggregate][key] for key in aggregate.query.keys]
