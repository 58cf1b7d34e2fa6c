"""Windows that are dropped for some groups only: rows by a hash of their keys, answers by the same.

    rows ─► seed and threshold of their time ─► operators ─► keys ─► hash below it? ─► panes
                                                                          ✗

What the order says is looked up where rows enter, and the keys are hashed where they are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.drops.kinds import PER_GROUP
from penstock.engine.flow import Flow
from penstock.engine.frame import AGGREGATE, AT, MARK, Answers
from penstock.engine.orders import chance
from penstock.engine.schema import OURS
from penstock.engine.step import quoted
from penstock.network.operators import Aggregate, Operator

if TYPE_CHECKING:
    from penstock.engine.shared import Shared

Suppressed = Sequence[tuple[int, Sequence[str]]]
"""Of each query that is dropped per group, the number of its aggregate and slots of its keys."""


def per_group(shared: Shared) -> list[int]:
    """The numbers of the folds, from 0 on, whose windows are dropped per group."""
    return [i for i, fold in enumerate(shared.folds) if fold.kind == PER_GROUP]


def looked_up(shared: Shared, frame: DataFrame) -> DataFrame:
    """The rows with what groups are dropped at their time, for each fold that has such.

    Args:
        shared: all aggregates.
        frame: rows, with `MARK` and `AT`.
    """
    folds = per_group(shared)
    if not folds:
        return frame
    mark, found = F.col(MARK), [f"{OURS}panes_{i}" for i in folds]
    orders = (F.get(mark["orders"]["groups"], F.lit(n))["panes"] for n in range(len(folds)))
    named = zip(orders, found, strict=True)
    frame = frame.select("*", *(F.when(mark["drops"], o).alias(name) for o, name in named))
    columns = []
    for i, name in zip(folds, found, strict=True):
        seed, below = _at(F.col(name), F.col(AT))
        columns += [seed.alias(_seed(i)), below.alias(_below(i))]
    return frame.select("*", *columns).drop(*found)


def lost(shared: Shared, flow: Flow, feed: Operator, number: int) -> str | None:
    """The column of the flow that says which rows are of a dropped group; None if none are.

    Args:
        shared: all aggregates.
        flow: rows, with what `looked_up` gave them.
        feed: the operator that they have passed.
        number: of the fold, from 0 on.
    """
    if number not in per_group(shared):
        return None
    (aggregate,) = shared.folds[number].aggregates
    keys = [F.col(quoted(flow.value(feed, key))) for key in aggregate.query.keys]
    name = f"{OURS}lost_{len(flow.frame.columns)}"
    dropped = _is_below(keys, F.col(_seed(number)), F.col(_below(number)))
    flow.frame = flow.frame.select("*", dropped.alias(name))
    return name


def suppressed(orders: Column, of: Suppressed) -> Column:
    """Which answers are of a dropped group.

    Args:
        orders: of the batch.
        of: the queries, in the order of their folds.
    """
    found = F.lit(False)
    for place, (number, slots) in enumerate(of):
        ends = F.get(orders["groups"], F.lit(place))["ends"]
        seed, below = _at(ends, F.unix_micros("window_end"))
        dropped = _is_below([F.col(slot) for slot in slots], seed, below)
        found = found | ((F.col(AGGREGATE) == number) & dropped)
    return found


def grouped_answers(shared: Shared, slots: dict[Aggregate, Answers]) -> Suppressed:
    """The queries that are dropped per group, in the order of their folds."""
    ones = [shared.folds[i].aggregates[0] for i in per_group(shared)]
    return [(shared.number[a], [slots[a][key] for key in a.query.keys]) for a in ones]


def _at(order: Column, t: Column) -> tuple[Column, Column]:
    inside = (t >= order["base"]) & (t < order["until"])
    cell = F.call_function("div", t - order["base"], order["step"]).cast("int")
    seeds, below = (F.get(order[name], cell) for name in ("seeds", "below"))
    return F.when(inside, seeds), F.when(inside, below)


def _is_below(keys: Sequence[Column], seed: Column, below: Column) -> Column:
    # The hash passes over a key that is null, in rows as in answers.
    hashed = F.when(below > 0, chance([*keys, seed]) < below)
    return F.coalesce(hashed, F.lit(False))


def _seed(fold: int) -> str:
    return f"{OURS}seed_{fold}"


def _below(fold: int) -> str:
    return f"{OURS}below_{fold}"
