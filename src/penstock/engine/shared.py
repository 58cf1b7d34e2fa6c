"""All windows of a network as one frame: one scan, one shuffle for rows, one for panes.

    rows ─► tag (group) ─► panes ─► explode (aggregate, window_end) ─► windows   level 1
                              └─► accounts and statistics                 │
                                                                          ▼
                     tag (aggregate), explode (window_end) ─► windows over windows   level 2, …

There is one operator with state for the panes, and one for each level, however many the queries.
Answers of a level that a query delivers, or that a later level needs, go through the levels
between as groups of one row. Numbers of groups and aggregates begin with 1: 0 is the sample of rows
that tells how many pass each operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType, StructField

from penstock.engine.columns import EVENT_TIME
from penstock.engine.flow import Flow
from penstock.engine.groups import ROWS, Columns, Group, grouped, value_name
from penstock.engine.results import WINDOW_TIME
from penstock.engine.schema import column_type, is_column
from penstock.engine.slots import WHICH, Branch, tag
from penstock.engine.step import quoted
from penstock.engine.tally import SAMPLED, Tally
from penstock.engine.timing import Timing, pick
from penstock.engine.watermark import known_late
from penstock.network.aggregates import Aggregate as Asked
from penstock.network.aggregates import sum as sum_of
from penstock.network.operators import Aggregate, Operator, Source, base, depth, feeds
from penstock.windows import WindowSpec
from penstock.windows.grid import Grid

AGGREGATE, GROUP, PANE, CLOSE = (
    f"penstock_{name}" for name in ("aggregate", "group", "pane", "close")
)
TIME, LATE, END, ENDS = (f"penstock_{name}" for name in ("time", "late", "end", "ends"))
MARK = "penstock_mark"
TOTAL, SQUARES = "penstock_total", "penstock_squares"
"""Sum and sum of squares of what a query sums, for its statistics."""
START_OF, END_OF, TIME_OF = (f"penstock_{name}" for name in ("start_of", "end_of", "time_of"))
NO_TIME = -(1 << 63)
_DUMMY = WindowSpec(range=1, slide=1, rattr="ts", sattr="ts")
"""What number 0 has in the arrays of parameters."""


@dataclass(frozen=True)
class Shared:
    """Aggregates that are computed together.

    Args:
        aggregates: all of them, those of a lower level first; they have windows over time, and
            functions that can be merged from panes.
        wanted: those whose answers are delivered.
        rows: the rows of each stream, with a watermark if they go on coming.
        late: L, up to which windows are closed (`late_watermark`); None for a batch.
        tally: counts rows on their way; None for a batch.
    """

    aggregates: Sequence[Aggregate]
    wanted: Iterable[Aggregate]
    rows: Mapping[Source, DataFrame]
    late: Column | None
    tally: Tally | None

    @cached_property
    def number(self) -> dict[Aggregate, int]:
        """The number of each aggregate."""
        return {aggregate: i for i, aggregate in enumerate(self.aggregates, start=1)}

    @cached_property
    def groups(self) -> list[Group]:
        """The aggregates over streams, in groups that share panes."""
        return grouped([a for a in self.aggregates if depth(a) == 1])

    @property
    def stateful(self) -> int:
        """How many operators with state the stream has."""
        top = max(map(depth, self.aggregates))
        return top if _are_panes(self.groups) else top + 1

    @cached_property
    def _timing(self) -> Timing:
        return Timing([_DUMMY, *(a.query.spec for a in self.aggregates)])

    def compute(self) -> tuple[DataFrame, dict[Aggregate, dict[str, str]]]:
        """The answers of all, and where in the frame each has its own.

        Returns:
            A frame with `AGGREGATE`, window_start, window_end and slots; aggregate → name → slot.
        """
        frame, answers = self._first()
        wanted = set(self.wanted)
        for level in range(2, max(map(depth, self.aggregates)) + 1):
            later = [a for a in self.aggregates if depth(a) > level]
            needed = wanted | {b for a in later for b in _stands_on(a)}
            carried = [a for a in answers if a in needed]
            now = [a for a in self.aggregates if depth(a) == level]
            frame, answers = self._next(frame, answers, now, carried)
        return frame, answers

    def _asked(self, aggregate: Aggregate, view: DataFrame) -> dict[str, Asked]:
        """The functions of an aggregate, and those that its statistics need."""
        asked = aggregate.query.aggregates
        summed = next((a.column for a in asked.values() if a.function in ("sum", "avg")), None)
        if self.tally is None or summed is None:
            return dict(asked)
        if not isinstance(column_type(view, summed, summed), NumericType):
            return dict(asked)
        value = f"cast({quoted(summed) if is_column(view, summed) else f'({summed})'} AS double)"
        return asked | {TOTAL: sum_of(summed), SQUARES: sum_of(f"{value} * {value}")}

    # Level 1 ------------------------------------------------------------------------------------

    def _first(self) -> tuple[DataFrame, dict[Aggregate, dict[str, str]]]:
        groups = self.groups
        flows = {source: Flow.over(source, rows) for source, rows in self.rows.items()}
        columns, asked = self._columns(), dict[Aggregate, dict[str, Asked]]()
        for group in groups:
            feed = group.feeds[0]
            flow = flows[_source(feed)]
            flow.add(feed)
            view = flow.view(feed)
            group.key_slots = columns.take_keys(view, group.keys)
            asked |= {of: self._asked(of, view) for of in group.aggregates}
            listed = [a for of in group.aggregates for a in asked[of].values()]
            group.slots = columns.take_partials(view, listed)
        tagged = [self._tagged(source, flow, groups, columns) for source, flow in flows.items()]
        rows = reduce(DataFrame.unionByName, tagged)
        panes = rows.groupBy(CLOSE, GROUP, PANE, *columns.key_types).agg(*columns.partial())
        windows = self._windows(panes, groups, columns)
        answers = {
            a: dict(zip(group.keys, group.key_slots, strict=True))
            | {name: group.slots[function] for name, function in asked[a].items()}
            for group in groups
            for a in group.aggregates
        }
        return self._answered(windows, columns), answers

    def _tagged(
        self, source: Source, flow: Flow, groups: Sequence[Group], columns: Columns
    ) -> DataFrame:
        """The rows of a stream, each once for every group that it is in."""
        branches = [
            Branch(feed, number, _slots_of(group))
            for number, group in enumerate(groups, start=1)
            for feed in group.feeds
            if _source(feed) == source
        ]
        for branch in branches:
            flow.add(branch.feed)
        if self.late is not None:
            # One row, read once a batch: it is put beside the rows before it is looked into.
            flow.frame = flow.frame.select("*", self.late.alias(MARK))
        time = F.unix_micros(F.col(quoted(_event_time(source, flow))))
        always = {TIME: time}
        if self.late is not None:
            always[LATE] = known_late(F.col(MARK))
        sample = None
        if self.tally is not None:
            sample = self.tally.sample(source, flow, time)
            always[SAMPLED] = self.tally.mask(source, flow)
        rows = tag(flow, branches, columns.inputs, always, sample=sample)
        group = pick(F.col(WHICH), [*(b.target for b in branches), 0]).cast("int")
        rows = rows.select("*", group.alias(GROUP))
        return self._paned(rows, groups, columns)

    def _paned(self, rows: DataFrame, groups: Sequence[Group], columns: Columns) -> DataFrame:
        grids = [Grid(1, 0), *(group.grid for group in groups)]
        which, t = F.col(GROUP), F.col(TIME)
        width, phase = (
            pick(which, [grid.width for grid in grids]),
            pick(which, [grid.phase for grid in grids]),
        )
        pane = F.coalesce(t - F.pmod(t - phase, width), F.lit(NO_TIME))
        if self.tally is not None:
            pane = F.when(which == 0, F.col(SAMPLED)).otherwise(pane)
        rows = rows.select("*", pane.alias(PANE))
        close = F.lit(0)
        if self.late is not None:
            after = F.col(LATE) + 1
            due = F.when((which > 0) & t.isNotNull(), self._due(groups))
            at = F.greatest(due, after)  # which passes over what is null
            close = F.timestamp_micros(at).alias(CLOSE, metadata=EVENT_TIME)
        kept = [GROUP, PANE, *columns.inputs]
        return rows.select(close.alias(CLOSE) if self.late is None else close, *kept)

    def _due(self, groups: Sequence[Group]) -> Column:
        """When the first window of a group that may have the pane is over."""
        most = max(len(group.aggregates) for group in groups)
        ends = []
        for i in range(most):
            specs = [g.aggregates[min(i, len(g.aggregates) - 1)].query.spec for g in groups]
            ends.append(Timing([_DUMMY, *specs]).first_end(F.col(PANE), F.col(GROUP)))
        return ends[0] if most == 1 else F.least(*ends)

    def _windows(self, panes: DataFrame, groups: Sequence[Group], columns: Columns) -> DataFrame:
        """Panes, or the windows that they are, merged into windows."""
        number = self.number
        members = [[0], *([number[a] for a in group.aggregates] for group in groups)]
        if all(len(those) == 1 for those in members):
            which = pick(F.col(GROUP), [those[0] for those in members]).cast("int")
            spread = panes.select("*", which.alias(AGGREGATE))
        else:
            listed = F.array(*(F.array(*map(F.lit, those)) for those in members))
            spread = panes.select("*", F.explode_outer(listed[F.col(GROUP)]).alias(AGGREGATE))
        timing, of = self._timing, F.col(AGGREGATE)
        t = F.when((of > 0) & (F.col(PANE) != NO_TIME), F.col(PANE))
        spread = spread.select("*", t.alias(TIME))
        t = F.col(TIME)
        first, last = timing.first_end(t, of), timing.last_end(t, of)
        kept, gap = t.isNotNull(), timing.in_no_window(t, of)
        reasons = {"no_time": (of > 0) & t.isNull()}
        if gap is not None:
            kept, reasons["in_no_window"] = kept & ~gap, gap
        if self.late is not None:
            closed = F.unix_micros(CLOSE)
            consistent = pick(
                of, [0, *(int(a.query.late == "consistent") for a in self.aggregates)]
            )
            beyond = (last < closed) | ((consistent == 1) & (first < closed))
            counts = t.isNotNull() if gap is None else t.isNotNull() & ~gap
            reasons["late_lost"] = counts & beyond
            reasons["late_partial"] = counts & ~beyond & (first < closed)
            kept = kept & ~beyond
        if self.tally is not None:
            spread = self.tally.observed(spread, reasons, of, F.col(PANE))
        spread = spread.where(kept)
        keys = [AGGREGATE, *columns.key_types]
        partials = [ROWS, *columns.lowered]
        if _are_panes(groups):
            return spread.select(*keys, *partials, _window_end(first))
        ends = F.sequence(first, last, timing.slide(of))
        exploded = spread.select(*keys, *partials, ends.alias(ENDS)).select(
            *keys, *partials, F.explode_outer(ENDS).alias(END)
        )
        ended = exploded.select(*keys, *partials, _window_end(F.col(END)))
        return ended.groupBy("window_end", *keys).agg(*columns.merged())

    # Levels above -------------------------------------------------------------------------------

    def _next(
        self,
        frame: DataFrame,
        answers: Mapping[Aggregate, dict[str, str]],
        now: Sequence[Aggregate],
        carried: Sequence[Aggregate],
    ) -> tuple[DataFrame, dict[Aggregate, dict[str, str]]]:
        number, columns = self.number, self._columns()
        flow = _over_answers(frame, answers, number)
        branches, found = [], dict[Aggregate, dict[str, str]]()
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
            asked = self._asked(a, view)
            partials = columns.take_partials(view, list(asked.values()))
            filled = dict(zip(keys, a.query.keys, strict=True))
            filled |= {value_name(s): x.column or "" for x, s in partials.items() if s != ROWS}
            branches += [Branch(feed, number[a], filled) for feed in fed_by]
            found[a] = dict(zip(a.query.keys, keys, strict=True))
            found[a] |= {name: partials[x] for name, x in asked.items()}
        ended = F.unix_micros(END_OF)
        always = {END: ended, TIME: ended - 1, ROWS: F.col(ROWS)}
        rows = tag(flow, branches, columns.inputs, always)
        targets = [branch.target for branch in branches]
        flags = [int(branch.feed in carried and branch.feed in found) for branch in branches]
        passing = pick(F.col(WHICH), flags) == 1 if any(flags) else F.lit(False)
        of, t, timing = F.col(AGGREGATE), F.col(TIME), self._timing
        rows = rows.select("*", pick(F.col(WHICH), targets).cast("int").alias(AGGREGATE))
        first, last = timing.first_end(t, of), timing.last_end(t, of)
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
        rows = rows.where(F.col(END).isNotNull()).select(*kept, ROWS, _window_end(F.col(END)))
        keys = [AGGREGATE, *columns.key_types]
        windows = rows.groupBy("window_end", *keys).agg(*columns.partial(F.col(ROWS)))
        return self._answered(windows, columns), found

    def _answered(self, windows: DataFrame, columns: Columns) -> DataFrame:
        start = self._timing.start(F.unix_micros("window_end"), F.col(AGGREGATE))
        return windows.select(
            AGGREGATE,
            F.timestamp_micros(start).alias("window_start"),
            "window_end",
            *columns.key_types,
            *columns.final(),
        )

    def _columns(self) -> Columns:
        spark = next(iter(self.rows.values())).sparkSession
        return Columns(str(spark.conf.get("spark.sql.ansi.enabled")).lower() == "true")


def _over_answers(
    frame: DataFrame, answers: Mapping[Aggregate, dict[str, str]], number: Mapping[Aggregate, int]
) -> Flow:
    """The flow over the answers of a level: each aggregate is a base, and knows its rows."""
    named: dict[Operator, dict[str, str]] = {}
    passed: dict[Operator, str | None] = {}
    due = F.timestamp_micros(F.unix_micros("window_end") - 1)
    of = {aggregate: f"penstock_is_{number[aggregate]}" for aggregate in answers}
    rest = [name for name in frame.columns if name not in ("window_start", "window_end")]
    frame = frame.select(
        *rest,
        F.col("window_start").alias(START_OF),
        F.col("window_end").alias(END_OF),
        due.alias(TIME_OF),
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


def _slots_of(group: Group) -> dict[str, str]:
    keys = dict(zip(group.key_slots, group.keys, strict=True))
    return keys | {value_name(s): a.column or "" for a, s in group.slots.items() if s != ROWS}


def _are_panes(groups: Sequence[Group]) -> bool:
    """Whether every group has one tumbling window, so that its panes are its windows."""
    return all(
        len(group.aggregates) == 1
        and group.aggregates[0].query.spec.range == group.aggregates[0].query.spec.slide
        and group.aggregates[0].query.spec.start is None
        for group in groups
    )


def _stands_on(aggregate: Aggregate) -> set[Aggregate]:
    return {one for feed in feeds(aggregate.input) if isinstance(one := base(feed), Aggregate)}


def _source(feed: Operator) -> Source:
    found = base(feed)
    assert isinstance(found, Source)  # noqa: S101 - a feed of the first level
    return found


def _event_time(source: Source, flow: Flow) -> str:
    names = flow.named[source]
    return next(name for name in names if name.lower() == (source.event_time or "").lower())


def _window_end(micros: Column) -> Column:
    return F.timestamp_micros(micros).alias("window_end", metadata=EVENT_TIME)
