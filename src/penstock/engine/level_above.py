"""Aggregates over aggregates: their rows are few, so each goes to its windows at once.

answers ─┬─► tag (aggregate) ─► explode (window_end) ─► windows over windows
         └─► as they are, in groups of one row, where they are still needed
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from penstock.engine.columns import window_time
from penstock.engine.flow import Flow
from penstock.engine.frame import (
    AGGREGATE,
    END,
    END_OF,
    ENDS,
    FIRST,
    LAST,
    START_OF,
    TIME,
    TIME_OF,
    Answers,
    window_end,
)
from penstock.engine.groups import ROWS, value_name
from penstock.engine.passing import Levels, counting, on_windows
from penstock.engine.slots import WHICH, Branch, tag
from penstock.engine.timing import pick
from penstock.network.operators import Aggregate, Operator, depth, feeds
from penstock.network.query import WINDOW_TIME

if TYPE_CHECKING:
    from penstock.engine.shared import Shared


def above(
    shared: Shared,
    frame: DataFrame,
    answers: Mapping[Aggregate, Answers],
    now: Sequence[Aggregate],
    carried: Sequence[Aggregate],
) -> tuple[DataFrame, dict[Aggregate, Answers]]:
    """The windows over windows of a level, with the answers that pass through it.

    Args:
        shared: all aggregates.
        frame: the answers of the level below.
        answers: where in the frame each aggregate has its own.
        now: the aggregates of this level.
        carried: those below whose answers are still needed.
    """
    number, columns = shared.number, shared.columns()
    flow = over_answers(frame, answers, number)
    branches, found = [], dict[Aggregate, Answers]()
    for a in carried:
        view = flow.view(a)
        keys = columns.take_keys(view, a.query.keys)
        others = [name for name in answers[a] if name not in a.query.keys]
        types = {n: f.dataType for n, f in _fields(view, others)}
        slots = dict(zip(a.query.keys, keys, strict=True)) | columns.carry(types)
        filled = {_input(slot, keys): name for name, slot in slots.items()}
        branches.append(Branch(a, number[a], filled))
        found[a] = slots
    for a in now:
        fed_by = feeds(a.input)
        for feed in fed_by:
            flow.add(feed)
        view = flow.view(fed_by[0])
        keys = columns.take_keys(view, a.query.keys)
        asked = shared.asked(a, view)
        partials = columns.take_partials(view, list(asked.values()))
        filled = dict(zip(keys, a.query.keys, strict=True))
        filled |= {value_name(s): x.column or "" for x, s in partials.items() if s != ROWS}
        branches += [Branch(feed, number[a], filled) for feed in fed_by]
        found[a] = dict(zip(a.query.keys, keys, strict=True))
        found[a] |= {name: partials[x] for name, x in asked.items()}
    if shared.tally is not None:
        level = depth(now[0])
        flow.frame = counting(flow, on_windows(shared.aggregates), level, shared.tally.metric)
    ended = F.unix_micros(END_OF)
    always = {END: ended, TIME: ended - 1, ROWS: F.col(ROWS)}
    rows = tag(flow, branches, columns.inputs, always)
    targets = [branch.target for branch in branches]
    flags = [int(branch.feed in carried and branch.feed in found) for branch in branches]
    passing = pick(F.col(WHICH), flags) == 1 if any(flags) else F.lit(False)
    of, t, timing = F.col(AGGREGATE), F.col(TIME), shared.timing
    rows = rows.select("*", pick(F.col(WHICH), targets).cast("int").alias(AGGREGATE))
    first, last = timing.first_end(t, of).alias(FIRST), timing.last_end(t, of).alias(LAST)
    rows = rows.select("*", first, last)
    first, last = F.col(FIRST), F.col(LAST)
    taken = first <= last
    gap = timing.in_no_window(t, of)
    taken = taken if gap is None else taken & ~gap
    ends = F.when(taken, F.sequence(first, F.greatest(first, last), timing.slide(of)))
    ends = F.when(passing, F.array(F.col(END))).otherwise(ends) if any(flags) else ends
    counted = F.when(passing, F.col(ROWS)).otherwise(F.lit(1)) if any(flags) else None
    kept = [AGGREGATE, *columns.inputs]
    rows = rows.select(
        *kept, (F.lit(1) if counted is None else counted).alias(ROWS), ends.alias(ENDS)
    )
    rows = rows.select(*kept, ROWS, F.explode_outer(ENDS).alias(END))
    rows = rows.where(F.col(END).isNotNull()).select(*kept, ROWS, window_end(F.col(END)))
    keys = [AGGREGATE, *columns.key_types]
    windows = rows.groupBy("window_end", *keys).agg(*columns.partial(F.col(ROWS)))
    return shared.answered(windows, columns), found


def above_all(
    frame: DataFrame,
    answers: Mapping[Aggregate, Answers],
    number: Mapping[Aggregate, int],
    levels: Levels,
    metric: str,
) -> DataFrame:
    """The answers of the last level, counted as they pass what queries have above their windows.

    Args:
        frame: the answers.
        answers: where in the frame each aggregate has its own.
        number: of each aggregate.
        levels: from `on_windows`.
        metric: the name of the network's metric.
    """
    last = max(levels)
    if not levels[last]:
        return frame
    flow = over_answers(frame, answers, number)
    for feed in levels[last]:
        flow.add(feed)
    rows = counting(flow, levels, last, metric)
    ours = {"window_start": START_OF, "window_end": END_OF}
    return rows.select(*(F.col(ours.get(name, name)).alias(name) for name in frame.columns))


def over_answers(
    frame: DataFrame, answers: Mapping[Aggregate, Answers], number: Mapping[Aggregate, int]
) -> Flow:
    """The flow over the answers of a level: each aggregate is a base, and knows its rows."""
    named: dict[Operator, dict[str, str]] = {}
    passed: dict[Operator, str | None] = {}
    of = {aggregate: f"penstock_is_{number[aggregate]}" for aggregate in answers}
    rest = [name for name in frame.columns if name not in ("window_start", "window_end")]
    frame = frame.select(
        *rest,
        F.col("window_start").alias(START_OF),
        F.col("window_end").alias(END_OF),
        window_time().alias(TIME_OF),
        *((F.col(AGGREGATE) == number[a]).alias(name) for a, name in of.items()),
    )
    for aggregate, slots in answers.items():
        window = {"window_start": START_OF, "window_end": END_OF, WINDOW_TIME: TIME_OF}
        named[aggregate] = window | slots
        passed[aggregate] = of[aggregate]
    return Flow(frame, named, passed)


def _fields(view: DataFrame, names: Iterable[str]) -> list[tuple[str, StructField]]:
    by = {f.name: f for f in view.schema.fields}
    return [(name, by[name]) for name in names]


def _input(slot: str, keys: Sequence[str]) -> str:
    return slot if slot in keys else value_name(slot)
