"""Rows are dropped where they enter, and on the way to each fold; both are counted.

    rows ─► stays at the stream? ─► operators ─┬─► stays for fold 1? ─► panes
                 │                             └─► stays for fold 2? ─► panes
                 └─► counted                              └─► counted

A row that enters no fold costs a hash, a comparison and a count. One in 64 goes on all the same, to
tell how many rows would pass each operator: so statistics do not end where shedding begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.engine.flow import Flow
from penstock.engine.frame import AGGREGATE, AT, CHANCE, KEEPS, LATE, MARK, ON, STAYED
from penstock.engine.groups import ROWS
from penstock.engine.operators import as_column
from penstock.engine.orders import chance, is_dropped, stays
from penstock.engine.slots import Branch
from penstock.engine.step import quoted
from penstock.engine.tally import ONE_IN
from penstock.engine.watermark import known_late
from penstock.network.operators import Aggregate, Operator, Source, feeds

if TYPE_CHECKING:
    from penstock.engine.shared import Shared


NEVER = -1
"""The random number of a row that is never dropped: it is below every threshold."""


def entering(shared: Shared, source: Source, frame: DataFrame, number: int) -> DataFrame:
    """The rows of a stream that stay; all of them are counted.

    Args:
        shared: all aggregates.
        source: the stream.
        frame: its rows, with `MARK`.
        number: of the stream.
    """
    names = source.identity or tuple(shared.rows[source].columns)
    u = chance([F.col(quoted(name)) for name in names])
    if source.never_shed is not None:
        never = F.coalesce(as_column(source.never_shed), F.lit(False))
        u = F.when(never, NEVER).otherwise(u)
    time = F.unix_micros(F.col(quoted(source.event_time or "")))
    frame = frame.select("*", u.alias(CHANCE), time.alias(AT))
    orders, on = F.col(MARK)["orders"], F.col(ON)
    # What the orders say is looked up here, once: a metric on rows ends the code that Spark
    # generates, and all orders would be copied with every row.
    frame = frame.select(
        "*",
        _stays(orders["streams"], number).alias(STAYED),
        *(_stays(orders["folds"], i).alias(_at_fold(i)) for i in range(len(shared.folds))),
        orders["on"].alias(ON),
        orders["keeps"].alias(KEEPS),
        known_late(F.col(MARK)).alias(LATE),
    ).drop(MARK, AT)
    if shared.tally is None:
        return frame.where(F.col(STAYED) | ~on)
    gone = F.count(F.when(~F.col(STAYED), F.lit(1))).alias("shed")
    frame = frame.observe(stream_metric(shared, number), F.count(F.lit(1)).alias("rows"), gone)
    sampled = F.col(CHANCE).bitwiseAND(F.lit(ONE_IN - 1)) == 0
    return frame.where(F.col(STAYED) | sampled | ~on)


def at_fold(number: int) -> Column:
    """Which rows stay on the way to a fold; all of them where rows are only counted.

    Args:
        number: of the fold, from 0 on.
    """
    return (F.col(STAYED) & F.col(_at_fold(number))) | ~F.col(ON)


def weight(keeps: Column, fold: Column) -> Column:
    """The probability with which a row of a fold was kept; 1 for one that is never dropped.

    Args:
        keeps: of all folds.
        fold: its number, from 1 on; 0 for a row that is in none.
    """
    keep = F.when((fold > 0) & (F.col(CHANCE) != NEVER), F.get(keeps, fold - 1))
    return F.coalesce(keep, F.lit(1.0))


def _stays(orders: Column, number: int) -> Column:
    return stays(F.get(orders, F.lit(number)), F.col(CHANCE), F.col(AT))


def _at_fold(number: int) -> str:
    return f"penstock_stays_{number}"


def counted(shared: Shared, flow: Flow, branches: Sequence[Branch]) -> DataFrame:
    """The rows, of which those are counted that each aggregate takes or loses.

    Args:
        shared: all aggregates.
        flow: the rows of a stream, with all operators.
        branches: the ways that they may go.
    """
    if shared.tally is None:
        return flow.frame
    sums: dict[str, Column] = {}
    for branch in branches:
        fold, ordered = shared.folds[branch.target - 1], F.col(_at_fold(branch.target - 1))
        for aggregate in fold.aggregates:
            passes = flow.passes(_feed(aggregate, branch, fold.together))
            here, n = F.col(STAYED) & passes, shared.number[aggregate]
            for name, of in (("taken", here & ordered), ("shed", here & ~ordered)):
                one = F.count(F.when(of, F.lit(1)))
                key = f"a{n}_{name}"
                sums[key] = one if key not in sums else sums[key] + one
    named = [column.alias(name) for name, column in sums.items()]
    number = list(shared.rows).index(_source_of(shared, flow))
    return flow.frame.observe(f"{stream_metric(shared, number)}_folds", *named)


def delivered(frame: DataFrame, orders: Column, metric: str | None) -> DataFrame:
    """The answers of windows that are not dropped; which windows these are is noted.

    Args:
        frame: the answers of all aggregates.
        orders: of the batch.
        metric: the name of the metric under which they are noted; None for not at all.
    """
    flags = F.get(orders["windows"], F.col(AGGREGATE))
    dropped = is_dropped(flags, F.unix_micros("window_end"))
    # The count is no key: so Spark cannot move this below the windows, where it would only keep
    # further rows out of a window that has some already.
    left = frame.where(~dropped | (F.col(ROWS) < 0))
    if metric is None:
        return left
    window = F.struct(F.col(AGGREGATE).alias("a"), F.unix_micros("window_end").alias("end"))
    return left.observe(f"{metric}_windows", F.collect_set(window).alias("delivered"))


def stream_metric(shared: Shared, number: int) -> str:
    """The metric under which the rows of a stream are counted."""
    assert shared.tally is not None  # noqa: S101 - the caller has looked
    return f"{shared.tally.metric}_s{number}"


def _feed(aggregate: Aggregate, branch: Branch, together: bool) -> Operator:
    return feeds(aggregate.input)[0] if together else branch.feed


def _source_of(shared: Shared, flow: Flow) -> Source:
    return next(source for source in shared.rows if source in flow.named)
