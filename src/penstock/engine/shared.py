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

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType

from penstock.drops.kinds import FLOORED, PER_GROUP, is_sampled
from penstock.engine.arrivals import arriving
from penstock.engine.asking import questions
from penstock.engine.folds import Fold, folded, looked
from penstock.engine.frame import (
    AGGREGATE,
    COUNTED,
    DUMMY,
    HIGHEST,
    LOWEST,
    SQUARES,
    TOTAL,
    Answers,
)
from penstock.engine.groups import Columns, Group, are_panes, grouped
from penstock.engine.level_above import above
from penstock.engine.level_one import LevelOne
from penstock.engine.lowering import MOMENTS, SKETCH, SQUARED, SUMMED
from penstock.engine.orders import Asking
from penstock.engine.schema import column_type
from penstock.engine.tally import Tally
from penstock.engine.timing import Timing
from penstock.engine.watermark import Places, Told
from penstock.network.aggregates import Aggregate as Asked
from penstock.network.aggregates import sum as sum_of
from penstock.network.operators import Aggregate, Source, base, depth, feeds

_SEVERAL = 2


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
        together: numbers of groups that are folded together (`looked`).
        kinds: what may become of the rows of aggregates (`kinds_of_rows`); those that are not
            named keep all of theirs.
        counted_at_entrance: the streams whose rows that stay are counted before the watermark, in
            large batches that drop some.
    """

    aggregates: Sequence[Aggregate]
    wanted: Iterable[Aggregate]
    rows: Mapping[Source, DataFrame]
    late: Column | None
    tally: Tally | None
    together: Sequence[Sequence[int]] = ()
    kinds: Mapping[Aggregate, str] = field(default_factory=dict)
    counted_at_entrance: Collection[Source] = ()

    @cached_property
    def number(self) -> dict[Aggregate, int]:
        """The number of each aggregate."""
        return {aggregate: i for i, aggregate in enumerate(self.aggregates, start=1)}

    @cached_property
    def groups(self) -> list[Group]:
        """The aggregates over streams, in groups that share panes."""
        return grouped([a for a in self.aggregates if depth(a) == 1], self.kinds)

    @cached_property
    def folds(self) -> list[Fold]:
        """The groups, those together that are folded together."""
        return folded(self.groups, self.together)

    @property
    def are_panes(self) -> bool:
        """Whether every pane is a window."""
        return not self.together and not self.approximates and are_panes(self.groups)

    @property
    def sheds(self) -> bool:
        """Whether rows may be dropped."""
        return self.late is not None and any(kind != "exact" for kind in self.kinds.values())

    @property
    def told(self) -> Told:
        """What a batch must be told besides, as `late_watermark` takes it."""
        by = {"groups": PER_GROUP, "floors": FLOORED}
        more = [name for name, kind in by.items() if kind in self.kinds.values()]
        return {
            "asking": self.asking,
            "sampled": [i for i, fold in enumerate(self.folds) if is_sampled(fold.kind)],
            "timed": self.timed,
            "more": [*more, "in_force"] if self.approximates else more,
        }

    @cached_property
    def timed(self) -> list[int]:
        """The numbers of the folds, from 0 on, that look up which rows stay by their time.

        A fold that has its streams to itself need not: what stays at the stream stays for it.
        """
        by_window = [i for i, fold in enumerate(self.folds) if fold.kind in ("subset", PER_GROUP)]
        on = [{base(feed) for feed in fold.feeds} for fold in self.folds]
        return [i for i in by_window if any(on[i] & on[j] for j in range(len(on)) if j != i)]

    @cached_property
    def looked_up(self) -> list[int]:
        """The numbers of the folds of which it is looked up for each row whether it stays."""
        sampled = (i for i, fold in enumerate(self.folds) if is_sampled(fold.kind))
        return sorted({*sampled, *self.timed})

    @property
    def weighted(self) -> bool:
        """Whether rows come with weights from upstream."""
        return any(source.weight is not None for source in self.rows)

    @property
    def approximates(self) -> bool:
        """Whether rows may be dropped at random, here or upstream, and have weights if so."""
        return (self.sheds or self.weighted) and any(map(is_sampled, self.kinds.values()))

    def estimates(self, aggregate: Aggregate) -> bool:
        """Whether the answers of an aggregate are estimates, from a sample of its rows."""
        return self.approximates and is_sampled(self.kinds.get(aggregate, ""))

    def arriving(self, source: Source) -> str:
        """The metric under which the rows of a stream are counted, if they are."""
        metric = self.tally.metric if self.tally is not None else ""
        return arriving(metric, list(self.rows).index(source))

    @property
    def places(self) -> Places | None:
        """How many places there are where rows or windows may be dropped; None if none may be."""
        return (len(self.rows), len(self.folds), len(self.aggregates) + 1) if self.sheds else None

    @cached_property
    def asking(self) -> Asking:
        """Of each stream, of each question to its rows, the folds that ask it."""
        return [[one.folds for one in questions(self.folds, source)] for source in self.rows]

    @property
    def stateful(self) -> int:
        """How many operators with state the stream has."""
        top = max(map(depth, self.aggregates))
        return top if self.are_panes else top + 1

    @cached_property
    def timing(self) -> Timing:
        """The windows of all, by number."""
        return Timing([DUMMY, *(a.query.spec for a in self.aggregates)])

    def look(self) -> list[list[int]]:
        """The groups that are worth folding together, after a look at the first rows."""
        if len(self.groups) < _SEVERAL or are_panes(self.groups):
            return []
        looks = (looked(self.groups, source, rows) for source, rows in self.rows.items())
        return [those for found in looks for those in found]

    def compute(self) -> tuple[DataFrame, dict[Aggregate, Answers]]:
        """The answers of all, and where in the frame each has its own.

        Returns:
            A frame with `AGGREGATE`, window_start, window_end and slots; aggregate → name → slot.
        """
        frame, answers = LevelOne(self).compute()
        wanted = set(self.wanted)
        for level in range(2, max(map(depth, self.aggregates)) + 1):
            later = [a for a in self.aggregates if depth(a) > level]
            needed = wanted | {b for a in later for b in _stands_on(a)}
            carried = [a for a in answers if a in needed]
            now = [a for a in self.aggregates if depth(a) == level]
            frame, answers = above(self, frame, answers, now, carried)
        return frame, answers

    def asked(self, aggregate: Aggregate, view: DataFrame) -> dict[str, Asked]:
        """The functions of an aggregate, and those that its statistics need."""
        asked = aggregate.query.aggregates
        if self.estimates(aggregate):
            plain = {n: a for n, a in asked.items() if a.function in ("count", "sum", "avg")}
            return plain | self._sampled(list(asked.values()))
        summed = next((a.column for a in asked.values() if a.function in ("sum", "avg")), None)
        if self.tally is None or summed is None:
            return dict(asked)
        if not isinstance(column_type(view, summed, summed), NumericType):
            return dict(asked)
        return asked | {TOTAL: sum_of(summed), SQUARES: Asked(SQUARED, summed)}

    def _sampled(self, asked: Sequence[Asked]) -> dict[str, Asked]:
        """What estimates and their bounds are computed from, for each column."""
        found: dict[str, Asked] = {}
        for column in dict.fromkeys(a.column for a in asked if a.function in ("sum", "avg")):
            found |= {
                f"{COUNTED} {column}": Asked("count", column),
                f"{SUMMED} {column}": Asked(SUMMED, column),
                f"{SQUARES} {column}": Asked(SQUARED, column),
                f"{LOWEST} {column}": Asked("min", column),
                f"{HIGHEST} {column}": Asked("max", column),
            }
        for a in asked:
            if a.column is not None and a.function not in ("count", "sum", "avg"):
                what = MOMENTS if a.parameter is None else SKETCH
                found |= {
                    f"{COUNTED} {a.column}": Asked("count", a.column),
                    f"{what} {a.column}": Asked(what, a.column),
                    f"{LOWEST} {a.column}": Asked("min", a.column),
                    f"{HIGHEST} {a.column}": Asked("max", a.column),
                }
        counted = [a.column for a in asked if a.function == "count" and a.column is not None]
        return found | {f"{COUNTED} {column}": Asked("count", column) for column in counted}

    def answered(self, windows: DataFrame, columns: Columns) -> DataFrame:
        """Windows with their start, and the final values of their slots."""
        start = self.timing.start(F.unix_micros("window_end"), F.col(AGGREGATE))
        return windows.select(
            AGGREGATE,
            F.timestamp_micros(start).alias("window_start"),
            "window_end",
            *columns.key_types,
            *columns.final(),
        )

    def columns(self) -> Columns:
        """Slots, none of which is taken."""
        spark = next(iter(self.rows.values())).sparkSession
        return Columns(str(spark.conf.get("spark.sql.ansi.enabled")).lower() == "true")


def _stands_on(aggregate: Aggregate) -> set[Aggregate]:
    return {one for feed in feeds(aggregate.input) if isinstance(one := base(feed), Aggregate)}
