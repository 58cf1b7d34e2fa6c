"""Aggregates over streams: rows are folded into panes that queries share, and panes into windows.

rows ─► tag (fold, pane) ─► panes ─► explode (aggregate, window_end) ─► windows
                               └─► accounts and statistics
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.drops.kinds import is_sampled
from penstock.engine import books, floors, shed, shed_groups
from penstock.engine.apart import apart
from penstock.engine.columns import EVENT_TIME
from penstock.engine.flow import Flow
from penstock.engine.folds import Fold
from penstock.engine.frame import (
    AGGREGATE,
    BOOK,
    CHANCE,
    CLOSE,
    DUMMY,
    END,
    ENDS,
    FIRST,
    GROUP,
    KEEP,
    KEEPS,
    LAST,
    LATE,
    MARK,
    NO_TIME,
    PANE,
    REASON,
    TIME,
    WAYS,
    WEIGHT,
    Answers,
    window_end,
)
from penstock.engine.groups import HEAVIEST, ROWS, Columns, stands_for, value_name, varies
from penstock.engine.lowering import SQUARED, SUMMED
from penstock.engine.packed import Packed
from penstock.engine.schema import OURS
from penstock.engine.slots import WHICH, Branch, tag
from penstock.engine.step import quoted
from penstock.engine.tally import (
    COUNTS,
    IN_NO_WINDOW,
    LATE_LOST,
    LATE_PARTIAL,
    NO_TIME_AT_ALL,
    SAMPLE,
    SAMPLED,
)
from penstock.engine.timing import Timing, begins, pick
from penstock.engine.watermark import known_late
from penstock.network.aggregates import Aggregate as Asked
from penstock.network.operators import Aggregate, Operator, Source, base
from penstock.windows.grid import ending_first

if TYPE_CHECKING:
    from penstock.engine.shared import Shared

_IN_SAMPLE, _PASSED = f"{OURS}in_sample", f"{OURS}passed_in_sample"
_WIDE = 32
_WEIGHTED = ("count", SUMMED, SQUARED)
"""What estimates are computed from."""


@dataclass(frozen=True)
class LevelOne:
    """The aggregates of a network that stand on streams.

    Args:
        shared: all aggregates.
    """

    shared: Shared

    def compute(self) -> tuple[DataFrame, dict[Aggregate, Answers]]:
        """The answers of all aggregates over streams, and where each has its own."""
        shared, folds = self.shared, self.shared.folds
        flows = {source: self._entering(source, i) for i, source in enumerate(shared.rows)}
        columns, asked = shared.columns(), dict[Aggregate, dict[str, Asked]]()
        for fold in folds:
            feed = fold.feeds[0]
            flow = flows[_source(feed)]
            flow.add(feed)
            view = flow.view(feed)
            asked |= {of: shared.asked(of, view) for of in fold.aggregates}
            fold.take(view, columns, [f for of in fold.aggregates for f in asked[of].values()])
            if shared.approximates and is_sampled(fold.kind):
                used = [fold.slots[f] for f in fold.slots if f.function in _WEIGHTED]
                columns.weighted |= dict.fromkeys([ROWS, *used])
        tagged = [self._tagged(source, flow, folds, columns) for source, flow in flows.items()]
        rows = reduce(DataFrame.unionByName, tagged)
        weights = [KEEP] if shared.approximates else []
        packed = self._packed(columns)
        panes = rows.groupBy(CLOSE, PANE, *weights, *packed.names).agg(*columns.partial())
        panes = packed.restored(panes)
        windows = self._windows(panes, folds, columns)
        answers = {
            a: {key: fold.key_slots[key.lower()] for key in a.query.keys}
            | {name: fold.slots[function] for name, function in asked[a].items()}
            | (self._weights_of(fold, asked[a]) if is_sampled(fold.kind) else {})
            for fold in folds
            for a in fold.aggregates
        }
        return shared.answered(windows, columns), answers

    def _weights_of(self, fold: Fold, asked: dict[str, Asked]) -> Answers:
        """Where the weights of an aggregate's rows are, by what was asked."""
        if not self.shared.approximates:
            return {}
        slots = {name: fold.slots[of] for name, of in asked.items() if of.function in _WEIGHTED}
        found = {HEAVIEST: HEAVIEST}
        for name, slot in ({ROWS: ROWS} | slots).items():
            found |= {stands_for(name): stands_for(slot), varies(name): varies(slot)}
        return found

    def _entering(self, source: Source, number: int) -> Flow:
        """The rows of a stream that are not dropped at once."""
        rows = self.shared.rows[source]
        frame = rows
        if self.shared.late is not None:
            # One row, read once a batch: it is put beside the rows before it is looked into.
            frame = frame.select("*", self.shared.late.alias(MARK))
        if self.shared.sheds:
            frame = shed.entering(self.shared, source, frame, number)
            if len(self.shared.folds) > 1:
                frame = apart(frame)  # for one, all that follows is not too long yet
        return Flow(frame, {source: {name: name for name in rows.columns}}, {source: None})

    def _tagged(
        self, source: Source, flow: Flow, folds: Sequence[Fold], columns: Columns
    ) -> DataFrame:
        """The rows of a stream, each once for every fold that it is in."""
        branches = self._branches(source, flow, folds)
        booked: dict[int, tuple[Column, str]] = {}
        if self.shared.sheds and self.shared.tally is not None:
            booked = books.booked(self.shared, flow, source, branches)
            if len(branches) > WAYS:
                flow.cut()  # of as many as that it is looked up at once which a row goes
        time = F.unix_micros(F.col(quoted(_event_time(source, flow))))
        always = {TIME: time}
        if self.shared.sheds:
            always[LATE] = F.col(LATE)
        elif self.shared.late is not None:
            always[LATE] = known_late(F.col(MARK))
        if self.shared.approximates and self.shared.sheds:
            always |= {KEEPS: F.col(KEEPS), CHANCE: F.col(CHANCE)}
        shares = [floors.share_at(i) for i in floors.floored(self.shared)]
        always |= {name: F.col(name) for name in shares if name in flow.frame.columns}
        if source.weight is not None:
            always[WEIGHT] = F.col(quoted(flow.named[source][source.weight]))
        sample: Column | None = None
        if self.shared.tally is not None:
            sampled = self.shared.tally.sample(source, flow, time).alias(_IN_SAMPLE)
            flow.frame = flow.frame.select("*", sampled)
            sample = F.col(_IN_SAMPLE)
            # Here, or all that a row passes would be handed on to where it goes its ways (`apart`).
            passed = F.when(sample, self.shared.tally.mask(source, flow)).otherwise(F.lit(0))
            flow.frame = flow.frame.select("*", passed.alias(_PASSED))
            always[SAMPLED] = F.col(_PASSED)
        if booked:
            always[BOOK] = F.col(BOOK)
            always |= {name: F.col(name) for _, name in booked.values()}
        taken = [which for which, _ in booked.values()]
        rows = tag(flow, branches, columns.inputs, always, sample=sample, booked=taken)
        which, group = F.col(WHICH), pick(F.col(WHICH), [*(b.target for b in branches), 0])
        group, lost = group.cast("int"), F.lit(0).cast("bigint")
        for number, (place, (_, mask)) in enumerate(booked.items(), start=len(branches) + 1):
            group = F.when(which == number, books.group(place)).otherwise(group)
            lost = F.when(which == number, F.col(mask)).otherwise(lost)
        rows = rows.select("*", group.alias(GROUP))
        return self._paned(rows, folds, columns, lost if booked else None)

    def _branches(self, source: Source, flow: Flow, folds: Sequence[Fold]) -> list[Branch]:
        """The ways that the rows of a stream may go."""
        branches = []
        for number, fold in enumerate(folds, start=1):
            for feed in fold.feeds:
                if _source(feed) != source:
                    continue
                for way in (feed, *fold.ways):
                    flow.add(way)
                mask, filled = None, dict[str, str]()
                if fold.mask is not None:
                    mask = fold.mask, flow.mask(fold.ways)
                    filled = _keys_where_used(fold, flow, feed, mask[1])
                stays, lost = None, None
                if self.shared.sheds:
                    lost = shed_groups.lost(self.shared, flow, feed, number - 1)
                    lost = lost or floors.lost(self.shared, flow, number - 1)
                    stays = shed.at_fold(self.shared, number - 1, lost)
                branches.append(Branch(feed, number, _slots_of(fold), mask, filled, stays, lost))
        return branches

    def _paned(
        self, rows: DataFrame, folds: Sequence[Fold], columns: Columns, lost: Column | None
    ) -> DataFrame:
        # What is no fold has no panes; any grid will do.
        grids = [folds[0].grid, *(fold.grid for fold in folds)]
        which, t = F.col(GROUP), F.col(TIME)
        pane = F.coalesce(begins(t, which, grids), F.lit(NO_TIME))
        if self.shared.tally is not None:
            pane = F.when(which == 0, F.col(SAMPLED)).otherwise(pane)
        if lost is not None:
            pane = F.when(which < 0, lost).otherwise(pane)
        rows = rows.select("*", pane.alias(PANE))
        close = F.lit(0)
        if self.shared.late is not None:
            after = F.col(LATE) + 1
            due = F.when((which > 0) & t.isNotNull(), self._due(folds))
            at = F.greatest(due, after)  # which passes over what is null
            close = F.timestamp_micros(at).alias(CLOSE, metadata=EVENT_TIME)
        rest = [name for name in columns.inputs if name not in columns.key_types]
        kept: list[Column | str] = [PANE, *self._packed(columns).columns(), *rest]
        if self.shared.approximates:
            kept.append(self._keep(rows, which).alias(KEEP))
        return rows.select(close.alias(CLOSE) if self.shared.late is None else close, *kept)

    def _packed(self, columns: Columns) -> Packed:
        """What panes are grouped by, besides their time."""
        # Books have numbers of their own, of many batches.
        width = _WIDE if self.shared.sheds else len(self.shared.folds).bit_length() + 1
        return Packed((GROUP, width), columns.key_types, columns.masks)

    def _keep(self, rows: DataFrame, which: Column) -> Column:
        """The probability with which a row has come so far, upstream and here."""
        here = shed.weight(F.col(KEEPS), which) if self.shared.sheds else F.lit(1.0)
        for i in floors.floored(self.shared):
            if floors.share_at(i) in rows.columns:
                here = F.when(which == i + 1, floors.share(i, here)).otherwise(here)
        if WEIGHT not in rows.columns:
            return here
        return F.when(which > 0, here / shed.upstream_weight(F.col(WEIGHT))).otherwise(F.lit(1.0))

    def _due(self, folds: Sequence[Fold]) -> Column:
        """When the first window that may have the pane is over."""
        pane, group = F.col(PANE), F.col(GROUP)
        first = [ending_first(a.query.spec for a in fold.aggregates) for fold in folds]
        if all(ends[0].slide == fold.grid.width for ends, fold in zip(first, folds, strict=True)):
            widths = [fold.grid.width for fold in folds]
            return pane + pick(group, [widths[0], *widths])  # at its own end
        ends = []
        for i in range(max(map(len, first))):
            specs = [some[min(i, len(some) - 1)] for some in first]
            ends.append(Timing([DUMMY, *specs]).first_end(pane, group))
        return ends[0] if len(ends) == 1 else F.least(*ends)

    def _windows(self, panes: DataFrame, folds: Sequence[Fold], columns: Columns) -> DataFrame:
        """Panes, or the windows that they are, merged into windows."""
        spread = self._spread(panes, folds, columns)
        timing, of = self.shared.timing, F.col(AGGREGATE)
        t = F.when((of > 0) & (F.col(PANE) != NO_TIME), F.col(PANE))
        spread = spread.select("*", t.alias(TIME))
        t = F.col(TIME)
        first, last = timing.first_end(t, of).alias(FIRST), timing.last_end(t, of).alias(LAST)
        spread = spread.select("*", first, last)
        spread = spread.select("*", self._reason(timing.in_no_window(t, of)).alias(REASON))
        if self.shared.tally is not None:
            entries = books.entries() if self.shared.sheds else None
            spread = self.shared.tally.observed(spread, F.col(REASON), of, entries)
        spread = spread.where(F.col(REASON).isin(COUNTS, LATE_PARTIAL))
        first, last = F.col(FIRST), F.col(LAST)
        packed = Packed(
            (AGGREGATE, len(self.shared.aggregates).bit_length() + 1), columns.key_types, {}
        )
        keys = packed.columns()
        partials = [ROWS, *columns.lowered, *columns.weight_names]
        if self.shared.approximates:
            spread = spread.select("*", *columns.weights(F.col(KEEP)))
            scaled = columns.scaled(F.col(KEEP))
            spread = spread.withColumns(scaled) if scaled else spread
        if self.shared.are_panes:
            return spread.select(AGGREGATE, *columns.key_types, *partials, window_end(first))
        ends = F.sequence(first, last, timing.slide(of))
        exploded = spread.select(*keys, *partials, ends.alias(ENDS)).select(
            *packed.names, *partials, F.explode_outer(ENDS).alias(END)
        )
        ended = exploded.select(*packed.names, *partials, window_end(F.col(END)))
        windows = ended.groupBy("window_end", *packed.names).agg(*columns.merged())
        return packed.restored(windows)

    def _spread(self, panes: DataFrame, folds: Sequence[Fold], columns: Columns) -> DataFrame:
        """Each pane once for every aggregate that its rows are for, with the keys of that one."""
        number = self.shared.number
        members = [[0], *([number[a] for a in fold.aggregates] for fold in folds)]
        group = F.greatest(F.col(GROUP), F.lit(0)) if self.shared.sheds else F.col(GROUP)
        if all(len(those) == 1 for those in members):
            which = pick(group, [those[0] for those in members]).cast("int")
            return panes.select("*", which.alias(AGGREGATE))
        listed = F.array(*(F.array(*map(F.lit, those)) for those in members))
        spread = panes.select("*", F.explode_outer(listed[group]).alias(AGGREGATE))
        masked = [fold for fold in folds if fold.mask is not None]
        if not masked:
            return spread
        of = F.col(AGGREGATE)
        everyone = [None, *self.shared.aggregates]
        for fold in masked:
            bits = fold.bits()
            bit = pick(of, [bits.get(a, 0) if a is not None else 0 for a in everyone])
            has = (bit == 0) | (F.col(fold.mask or "").bitwiseAND(bit) != 0)
            spread = spread.where(F.coalesce(has, F.lit(True)))
        # A key of another group in the fold is none of this aggregate's.
        used = {
            a: {fold.key_slots[k.lower()] for k in a.query.keys}
            for fold in folds
            for a in fold.aggregates
        }
        keys = {}
        for slot in columns.key_types:
            uses = [0, *(int(slot in used.get(a, ())) for a in self.shared.aggregates)]
            keys[slot] = F.when(pick(of, uses) == 1, F.col(slot))
        return spread.withColumns(keys)

    def _reason(self, gap: Column | None) -> Column:
        """Whether the rows of a pane count in windows of an aggregate, or why they do not."""
        of, t, first, last = map(F.col, (AGGREGATE, TIME, FIRST, LAST))
        reason = F.when(of == 0, SAMPLE).when(t.isNull(), NO_TIME_AT_ALL)
        if gap is not None:
            reason = reason.when(gap, IN_NO_WINDOW)
        if self.shared.late is not None:
            closed = F.unix_micros(CLOSE)
            strict = [0, *(int(a.query.late == "consistent") for a in self.shared.aggregates)]
            lost = (last < closed) | ((pick(of, strict) == 1) & (first < closed))
            reason = reason.when(lost, LATE_LOST).when(first < closed, LATE_PARTIAL)
        return reason.otherwise(COUNTS)


def _slots_of(fold: Fold) -> dict[str, str]:
    keys = {slot: key for key, slot in fold.key_slots.items()}
    return keys | {value_name(s): a.column or "" for a, s in fold.slots.items() if s != ROWS}


def _keys_where_used(fold: Fold, flow: Flow, feed: Operator, mask: str) -> dict[str, str]:
    """Slot → the column with a key of the fold, null in rows that no query with that key is for.

    So a row of which only the port matters is in one pane with all others of that port, whatever
    its host is.
    """
    found = {}
    for key, uses in fold.uses().items():
        if uses != (1 << len(fold.ways)) - 1:
            value = F.col(quoted(flow.value(feed, key)))
            name = f"{OURS}key_{len(flow.frame.columns)}"
            used = F.when(F.col(mask).bitwiseAND(F.lit(uses).cast("bigint")) != 0, value)
            flow.frame = flow.frame.select("*", used.alias(name))
            found[fold.key_slots[key]] = name
    return found


def _source(feed: Operator) -> Source:
    found = base(feed)
    assert isinstance(found, Source)  # noqa: S101 - a feed of the first level
    return found


def _event_time(source: Source, flow: Flow) -> str:
    names = flow.named[source]
    return next(name for name in names if name.lower() == (source.event_time or "").lower())
