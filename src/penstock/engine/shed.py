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
from penstock.engine.columns import bits
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
    bits_at,
    flag,
    flags_at,
    taken_at,
    way,
)
from penstock.engine.groups import ROWS
from penstock.engine.orders import (
    at_all,
    at_stream,
    bit_of,
    is_dropped,
    is_kept_warm,
    is_small,
    kept_warm,
    staying,
    stays,
)
from penstock.engine.orders import at_fold as order_of
from penstock.engine.step import quoted
from penstock.engine.watermark import known_late
from penstock.network.operators import Source

if TYPE_CHECKING:
    from penstock.engine.shared import Shared


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
    mark, u, t = F.col(MARK), F.col(CHANCE), F.col(AT)
    drops, order = mark["drops"], at_stream(mark, number)
    time = F.unix_micros(F.col(quoted(source.event_time or "")))
    frame = frame.select(
        "*", F.when(drops, random_number(source, names)).alias(CHANCE), time.alias(AT)
    )
    by_time = {bits_at(i): some for i, some in enumerate(staying(mark, shared.timed, t))}
    if by_time:
        warm = {name: kept_warm(some, mark["early"], u) for name, some in by_time.items()}
        listed = (F.when(drops, some).alias(name) for name, some in warm.items())
        frame = frame.select("*", *listed)
    frame = floors.looked_up(shared, source, shed_groups.looked_up(shared, frame))
    # Spark would move the filter below, and write all of this out twice, if it were sure that it
    # gives the same each time.
    looked = drops & (F.spark_partition_id() >= 0)
    at_random = all(is_sampled(fold.kind) for fold in shared.folds)
    stayed = is_small(order, u, t)
    if not at_random:
        stayed = stays(order, u, t) | is_kept_warm(mark["early"], u)
    counting = drops & order["drops"]
    if source in shared.counted_at_entrance:
        counting = counting & ~mark["early"]  # they are counted where they enter
    conditions = {
        STAYED: F.when(looked, stayed).otherwise(F.lit(True)),
        COUNTING: counting,
        DROPS: drops,
        ON: drops & mark["on"],
    }
    found = {
        flags_at(0): bits(conditions.items()),
        BOOK: F.when(drops, -1 - F.pmod(mark["batch"], F.lit(BATCHES)) * len(places(shared))).cast(
            "int"
        ),
        LATE: known_late(mark),
    }
    if shared.approximates:
        found[KEEPS] = mark["orders"]["keeps"]
    ways: dict[int, list[tuple[int, Column]]] = {}
    for fold in shared.looked_up:
        at, bit = way(fold)
        ways.setdefault(at, []).append((bit, _stays_on_the_way(shared, fold)))
    # Where all keep the same share, who stays for all is not asked for each.
    asked = looked if shared.timed else looked & ~is_small(at_all(mark), u, t)

    def going(some: list[tuple[int, Column]]) -> Column:
        every = F.lit(sum(1 << bit for bit, _ in some)).cast("bigint")
        return F.when(asked, bits(some)).otherwise(every)

    # What is told is never handed from one piece of code to the next: where it ends, all of it
    # would be copied with every row.
    numbers = list(ways)
    while len(ways) > 1:
        at = next(iter(ways))
        frame = frame.select("*", going(ways.pop(at)).alias(flags_at(at))).drop(MARK)
        frame = apart(frame).select("*", shared.late.alias(MARK))
    found |= {flags_at(at): going(some) for at, some in ways.items()}
    rest = [quoted(name) for name in frame.columns if name not in (MARK, AT, *by_time)]
    frame = frame.select(*rest, *(value.alias(name) for name, value in found.items()))
    stay = flag(STAYED)
    if shared.tally is not None:
        stay = stay | in_sample(u)
    frame = frame.where(F.when(flag(ON), stay).otherwise(F.lit(True)))
    taken = {
        taken_at(at): F.when(~flag(ON), F.lit(-1)).when(flag(STAYED), F.col(flags_at(at)))
        for at in numbers
    }
    whole = (value.otherwise(0).cast("bigint").alias(name) for name, value in taken.items())
    return frame.select("*", *whole)


def _stays_on_the_way(shared: Shared, fold: int) -> Column:
    """Whether a row stays for a fold, if its orders are looked into.

    Args:
        shared: all aggregates.
        fold: its number, from 0 on.
    """
    u = F.col(CHANCE)
    if fold not in shared.timed:
        return is_small(order_of(F.col(MARK), fold), u, F.col(AT))
    number, bit = bit_of(shared.timed, fold)
    return (F.col(bits_at(number)).bitwiseAND(F.lit(1 << bit).cast("bigint")) != 0) | (u == NEVER)


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
    at, bit = way(number)
    found = number in shared.looked_up
    taken = flag(bit, taken_at(at)) if found else ~flag(ON) | flag(STAYED)
    return taken if lost is None else taken & ~(flag(ON) & F.col(lost))


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


def delivered(frame: DataFrame, orders: Column, groups: shed_groups.Suppressed = ()) -> DataFrame:
    """The answers of windows that are not dropped.

    Args:
        frame: the answers of all aggregates.
        orders: of the batch.
        groups: the queries that are dropped per group.
    """
    flags = F.get(orders["windows"], F.col(AGGREGATE))
    dropped = is_dropped(flags, F.unix_micros("window_end"))
    dropped = dropped | shed_groups.suppressed(orders, groups) if groups else dropped
    # The count is no key: so Spark cannot move this below the windows, where it would only keep
    # further rows out of a window that has some already.
    return frame.where(~dropped | (F.col(ROWS) < 0))


def noted(frame: DataFrame, metric: str | None) -> DataFrame:
    """The answers; which windows they are of is noted.

    Args:
        frame: the answers that are delivered.
        metric: the name of the metric under which they are noted; None for not at all.
    """
    if metric is None:
        return frame
    window = F.struct(F.col(AGGREGATE).alias("a"), F.unix_micros("window_end").alias("end"))
    return frame.observe(f"{metric}_windows", F.collect_set(window).alias("delivered"))
