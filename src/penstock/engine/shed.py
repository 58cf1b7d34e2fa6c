"""Rows are dropped where they enter, and on the way to each fold; those that stay are booked.

    rows ─► stays at the stream? ─► operators ─┬─► stays for fold 1? ─► panes
                 │                             ├─► stays for fold 2? ─► panes
                 ✗                             └─► booked (`books`), while rows are dropped

A row that enters no fold costs a hash and a comparison. One in 64 goes on all the same, to tell how
many rows would pass each operator: so statistics do not end where shedding begins. In a batch that
has nothing to drop a row costs one look at that.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.drops.kinds import is_sampled
from penstock.engine import floors, shed_groups
from penstock.engine.apart import apart
from penstock.engine.books import BATCHES, places
from penstock.engine.early import NEVER, in_sample, random_number
from penstock.engine.frame import (
    AGGREGATE,
    AT,
    BOOK,
    CHANCE,
    COUNTING,
    DROPS,
    KEEPS,
    LATE,
    MARK,
    ON,
    STAYED,
    stays_at,
)
from penstock.engine.groups import ROWS
from penstock.engine.orders import Fields, at_stream, is_dropped, is_small, stays
from penstock.engine.orders import at_fold as order_of
from penstock.engine.step import quoted
from penstock.engine.watermark import known_late
from penstock.network.operators import Source

if TYPE_CHECKING:
    from penstock.engine.shared import Shared

_AT_ONCE, _BY_WINDOW = 9, 3
"""Orders that are looked into in one piece of code: at random, or else."""


def entering(shared: Shared, source: Source, frame: DataFrame, number: int) -> DataFrame:
    """The rows of a stream that stay.

    Args:
        shared: all aggregates.
        source: the stream.
        frame: its rows, with `MARK`.
        number: of the stream.
    """
    assert shared.late is not None  # noqa: S101 - rows are only dropped from streams
    names = source.identity or tuple(shared.rows[source].columns)
    drops, orders = F.col(MARK)["drops"], F.col(MARK)["orders"]
    u = random_number(source, names)
    time = F.unix_micros(F.col(quoted(source.event_time or "")))
    folds, of = shedding(shared), len(places(shared))
    book = -1 - F.pmod(orders["batch"], F.lit(BATCHES)) * of
    mark = F.col(MARK)
    sampled = {stays_at(i): order_of(mark, i) for i in folds if is_sampled(shared.folds[i].kind)}
    at_random = all(is_sampled(fold.kind) for fold in shared.folds)
    found = {stays_at(i): F.get(orders["folds"], F.lit(i)) for i in folds}
    at_top: dict[str, Fields] = {STAYED: at_stream(mark, number), **sampled}
    frame = frame.select("*", F.when(drops, u).alias(CHANCE), time.alias(AT))
    frame = floors.looked_up(shared, source, shed_groups.looked_up(shared, frame))

    def would_stay(name: str) -> Column:
        order = at_top.get(name, F.col(f"{name}_order"))
        rule = is_small if name in sampled or (name == STAYED and at_random) else stays
        # Spark would move the filter below, and write all of this out twice, if it were sure that
        # it gives the same each time.
        looked = drops & (F.spark_partition_id() >= 0)
        would = F.when(looked, rule(order, F.col(CHANCE), F.col(AT)))
        return would.otherwise(F.lit(True)).alias(name)

    # What the orders say is looked up here, once, and never handed from one piece of code to the
    # next: where it ends, all orders would be copied with every row.
    asked = [STAYED, *found]
    at_once = _AT_ONCE if at_random else _BY_WINDOW
    for start in range(0, len(asked), at_once):
        piece = asked[start : start + at_once]
        if start:
            frame = apart(frame.drop(MARK)).select("*", shared.late.alias(MARK))
        looked_up = {name: f"{name}_order" for name in piece if name not in at_top}
        orders_of = [F.when(drops, found[n]).alias(order) for n, order in looked_up.items()]
        frame = frame.select("*", *orders_of)
        more = list(map(would_stay, piece))
        if not start:
            counting = F.coalesce(drops & at_stream(mark, number)["drops"], F.lit(False))
            more.append(counting.alias(COUNTING))
        frame = frame.select("*", *more).drop(*looked_up.values())
    frame = frame.select(
        "*",
        drops.alias(DROPS),
        (drops & orders["on"]).alias(ON),
        F.when(drops, book).cast("int").alias(BOOK),
        orders["keeps"].alias(KEEPS),
        known_late(F.col(MARK)).alias(LATE),
    ).drop(MARK, AT)
    stay = F.col(STAYED)
    if shared.tally is not None:
        stay = stay | in_sample(F.col(CHANCE))
    return frame.where(F.when(F.col(ON), stay).otherwise(F.lit(True)))


def shedding(shared: Shared) -> list[int]:
    """The numbers of the folds, from 0 on, that may lose rows."""
    return [i for i, fold in enumerate(shared.folds) if fold.kind != "exact"]


def at_fold(shared: Shared, number: int, lost: str | None = None) -> Column | None:
    """Which rows stay on the way to a fold; None for all of them.

    Args:
        shared: all aggregates.
        number: of the fold, from 0 on.
        lost: the column that says which rows are of a group that is dropped.
    """
    if number not in shedding(shared):
        return None  # nor are rows dropped at a stream that it needs all of
    stay = F.col(STAYED) & F.col(stays_at(number))
    stay = stay if lost is None else stay & ~F.col(lost)
    return F.when(F.col(ON), stay).otherwise(F.lit(True))


def weight(keeps: Column, fold: Column) -> Column:
    """The probability with which a row of a fold was kept; 1 for one that is never dropped.

    Args:
        keeps: of all folds.
        fold: its number, from 1 on; 0 or less for a row that is in none.
    """
    # A row has no random number in a batch that drops nothing.
    keep = F.when((F.col(CHANCE) != NEVER) & (fold > 0), F.get(keeps, fold - 1))
    return F.coalesce(keep, F.lit(1.0))


def upstream_weight(column: Column) -> Column:
    """How many rows a row stood for before it came here; what is no weight ends the stream.

    Args:
        column: of the weights; a row without one stands for itself.
    """
    w = F.coalesce(column.cast("double"), F.lit(1.0))
    said = F.concat(F.lit("weight must be 1 or more, got "), column.cast("string"))
    wrong = F.raise_error(said).cast("double")
    return F.when((w >= 1) & (w < math.inf), w).otherwise(wrong)


def delivered(
    frame: DataFrame, orders: Column, metric: str | None, groups: shed_groups.Suppressed = ()
) -> DataFrame:
    """The answers of windows that are not dropped; which windows these are is noted.

    Args:
        frame: the answers of all aggregates.
        orders: of the batch.
        metric: the name of the metric under which they are noted; None for not at all.
        groups: the queries that are dropped per group.
    """
    flags = F.get(orders["windows"], F.col(AGGREGATE))
    dropped = is_dropped(flags, F.unix_micros("window_end"))
    dropped = dropped | shed_groups.suppressed(orders, groups) if groups else dropped
    # The count is no key: so Spark cannot move this below the windows, where it would only keep
    # further rows out of a window that has some already.
    left = frame.where(~dropped | (F.col(ROWS) < 0))
    if metric is None:
        return left
    window = F.struct(F.col(AGGREGATE).alias("a"), F.unix_micros("window_end").alias("end"))
    return left.observe(f"{metric}_windows", F.collect_set(window).alias("delivered"))
