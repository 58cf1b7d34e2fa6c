"""Aggregates over aggregates: their rows are few, so each goes to its windows at once.

answers ─┬─► tag (aggregate) ─► explode (window_end) ─► windows over windows
         └─► as they are, in groups of one row, where they are still needed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

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
from penstock.engine.groups import ROWS, Columns, value_name
from penstock.engine.passing import Levels, counting, on_windows
from penstock.engine.slots import WHICH, Branch, tag
from penstock.engine.summed_estimates import summed_estimates
from penstock.engine.timing import pick
from penstock.network.operators import Aggregate, Operator, depth, feeds
from penstock.network.query import WINDOW_TIME

if TYPE_CHECKING:
    from penstock.engine.shared import Shared

_ESTIMATE = "penstock_estimate"


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
        keys = columns.take_keys(flow.view(a), a.query.keys)
        others = {n: slot for n, slot in answers[a].items() if n not in a.query.keys}
        types = {n: frame.schema[slot].dataType for n, slot in others.items()}
        carried_in = columns.carry(types)
        filled = {value_name(carried_in[n]): slot for n, slot in others.items()}
        inputs = dict(zip(keys, a.query.keys, strict=True)) | dict.fromkeys(filled, "")
        branches.append(Branch(a, number[a], inputs, filled=filled))
        found[a] = dict(zip(a.query.keys, keys, strict=True)) | carried_in
    for a in now:
        mine, found[a] = _computed(shared, a, flow, columns, answers)
        branches += mine
    if shared.tally is not None:
        level = depth(now[0])
        flow.frame = counting(flow, on_windows(shared.aggregates), level, shared.tally.metric)
    ended = F.unix_micros(END_OF)
    always = {END: ended, TIME: ended - 1, ROWS: F.col(ROWS)}
    rows = tag(flow, branches, columns.inputs, always)
    targets = [branch.target for branch in branches]
    # Those that only pass come first; windows over them may be fed by the same answers.
    flags = [int(i < len(carried)) for i in range(len(branches))]
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


def _computed(
    shared: Shared,
    aggregate: Aggregate,
    flow: Flow,
    columns: Columns,
    answers: Mapping[Aggregate, Answers],
) -> tuple[list[Branch], Answers]:
    """The ways of the answers that an aggregate stands on, and where it will have its own."""
    number, fed_by = shared.number[aggregate], feeds(aggregate.input)
    for feed in fed_by:
        flow.add(feed)
    view = flow.view(fed_by[0])
    keys = columns.take_keys(view, aggregate.query.keys)
    named = dict(zip(keys, aggregate.query.keys, strict=True))
    found = dict(zip(aggregate.query.keys, keys, strict=True))
    if shared.estimates(aggregate):
        slots, ways = summed_estimates(aggregate, flow, columns, answers)
        taken = named | dict.fromkeys(ways[0], "")
        listed = zip(fed_by, ways, strict=True)
        return [Branch(feed, number, taken, filled=way) for feed, way in listed], found | slots
    asked = shared.asked(aggregate, view)
    partials = columns.take_partials(view, list(asked.values()))
    taken = named | {value_name(s): x.column or "" for x, s in partials.items() if s != ROWS}
    found |= {name: partials[x] for name, x in asked.items()}
    return [Branch(feed, number, taken) for feed in fed_by], found


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
    estimate = F.lit(None).cast("double").alias(_ESTIMATE)
    rest = [name for name in frame.columns if name not in ("window_start", "window_end")]
    frame = frame.select(
        *rest,
        F.col("window_start").alias(START_OF),
        F.col("window_end").alias(END_OF),
        window_time().alias(TIME_OF),
        *((F.col(AGGREGATE) == number[a]).alias(name) for a, name in of.items()),
        estimate,
    )
    for aggregate, slots in answers.items():
        window = {"window_start": START_OF, "window_end": END_OF, WINDOW_TIME: TIME_OF}
        # What nobody asked for has no name here; an estimate is not made before it is delivered.
        asked = [*aggregate.query.keys, *aggregate.query.aggregates]
        named[aggregate] = window | {name: slots.get(name, _ESTIMATE) for name in asked}
        passed[aggregate] = of[aggregate]
    return Flow(frame, named, passed)
