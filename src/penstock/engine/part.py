"""A part of a network is what one Spark stream computes: queries that share their streams.

Its frame has the answers of all its queries, of which `answers` makes a DataFrame for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from penstock.control.moments import Answers as Seen
from penstock.control.moments import Moments
from penstock.engine.flow import Flow
from penstock.engine.frame import AGGREGATE, SQUARES, TOTAL
from penstock.engine.groups import ROWS
from penstock.engine.level_above import above_all
from penstock.engine.operators import built
from penstock.engine.passing import Levels, on_windows
from penstock.engine.progress import without_punctuation
from penstock.engine.results import rows_of, source_with_watermark
from penstock.engine.schema import column_type
from penstock.engine.shared import Shared
from penstock.engine.slots import WHICH, Branch, Slots, tag
from penstock.engine.step import quoted
from penstock.engine.tally import Tally
from penstock.errors import SchemaError, complaint
from penstock.network.graph import Graph
from penstock.network.operators import (
    Aggregate,
    Operator,
    Source,
    base,
    depth,
    feeds,
    upstream,
)
from penstock.network.query import WINDOW_TIME

QUERY = "penstock_query"
"""Which set-valued query a row is an answer of; null for windows."""


@dataclass
class Part:
    """Queries over common streams.

    Args:
        graph: their operators; all aggregates can be shared.
        late: L (`late_watermark`); None for a batch.
        metric: the name of the metric under which rows are counted; None for a batch.
    """

    graph: Graph
    late: Column | None = None
    metric: str | None = None
    _slots: dict[Aggregate, dict[str, str]] = field(default_factory=dict)
    _sets: dict[str, dict[str, str]] = field(default_factory=dict)

    @cached_property
    def aggregates(self) -> list[Aggregate]:
        """All aggregates, those of a lower level first."""
        found = [one for one in self.graph.operators if isinstance(one, Aggregate)]
        return sorted(found, key=depth)

    @cached_property
    def set_valued(self) -> list[str]:
        """The queries without an aggregate."""
        return [name for name, node in self.graph.queries.items() if depth(node) == 0]

    @cached_property
    def counted(self) -> list[Operator]:
        """The operators whose rows are counted: those between streams and their aggregates."""
        found: dict[Operator, None] = {}
        for aggregate in self.aggregates:
            if depth(aggregate) == 1:
                for feed in feeds(aggregate.input):
                    found |= dict.fromkeys(upstream(feed))
        return list(found)

    @cached_property
    def on_windows(self) -> Levels:
        """The operators that stand on windows, by the level where their rows are counted."""
        return on_windows(self.aggregates, self.graph.queries.values())

    @cached_property
    def shared(self) -> Shared:
        """How its windows are computed."""
        windowed = {base(f) for a in self.aggregates if depth(a) == 1 for f in feeds(a.input)}
        rows = {
            s: source_with_watermark(s) if self.late is not None else data_of(s)
            for s in self.graph.sources
            if s in windowed
        }
        wanted = {
            one
            for node in self.graph.queries.values()
            for feed in feeds(node)
            if isinstance(one := base(feed), Aggregate)
        }
        tally = Tally(self.metric, len(self.aggregates), self.counted) if self.metric else None
        return Shared(self.aggregates, wanted, rows, self.late, tally)

    def scans(self, source: Source) -> int:
        """How often a batch reads the rows of a stream."""
        feeding = [feed for name in self.set_valued for feed in feeds(self.graph.queries[name])]
        windowed = [feed for a in self.aggregates if depth(a) == 1 for feed in feeds(a.input)]
        return max(1, sum(any(base(f) == source for f in fed) for fed in (feeding, windowed)))

    def frame(self) -> DataFrame:
        """The answers of all queries."""
        frames = []
        if self.aggregates:
            frame, self._slots = self.shared.compute()
            if self.metric is not None:
                number = self.shared.number
                frame = above_all(frame, self._slots, number, self.on_windows, self.metric)
            frames.append(frame)
        if self.set_valued:
            frames.append(self._set_frame())
        return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)

    @property
    def delivered(self) -> list[Aggregate]:
        """The aggregates whose answers are those of a query."""
        asked = self.graph.queries.values()
        return [aggregate for aggregate in self.aggregates if aggregate in asked]

    def moments(self, aggregate: Aggregate) -> tuple[Column, Column]:
        """The sum, and the sum of squares, of what a query sums; one that counts sums ones."""
        slots = self._slots[aggregate]
        if SQUARES in slots:
            return F.col(slots[TOTAL]), F.col(slots[SQUARES])
        return F.col(ROWS), F.col(ROWS)

    def look(self, frame: DataFrame, most: int) -> dict[Aggregate, Seen]:
        """What the queries have summed in a batch: mean, deviation and rows follow from it.

        Args:
            frame: a batch of the frame, in memory.
            most: how many groups are told apart, at most: those for which a sample is worth least.
        """
        number = {self.shared.number[aggregate]: aggregate for aggregate in self.delivered}
        mine = frame.where(F.col(AGGREGATE).isin(list(number)))
        last, first = F.unix_micros(F.max("window_end")), F.unix_micros(F.min("window_end"))
        overall = mine.groupBy(AGGREGATE).agg(*self._sums(number), (last - first).alias("span"))
        found = {}
        for row in overall.collect():
            aggregate = number[row[AGGREGATE]]
            windows = row["span"] // aggregate.query.spec.slide + 1
            found[aggregate] = Moments(row["rows"], row["total"], row["squares"], windows)
        groups: dict[Aggregate, dict[tuple[object, ...], Moments]] = {}
        keys = sorted({slot for aggregate in found for slot in self._key_slots(aggregate)})
        if keys:
            each = mine.groupBy(AGGREGATE, *keys).agg(
                *self._sums(number), F.count(F.lit(1)).alias("windows")
            )
            hardest = F.when(F.col("total") != 0, F.col("squares") / F.col("total") ** 2)
            for row in each.orderBy(hardest.desc_nulls_first()).limit(most).collect():
                aggregate = number[row[AGGREGATE]]
                key = tuple(row[slot] for slot in self._key_slots(aggregate))
                moments = Moments(row["rows"], row["total"], row["squares"], row["windows"])
                if key:
                    groups.setdefault(aggregate, {})[key] = moments
        return {one: Seen(moments, groups.get(one, {})) for one, moments in found.items()}

    def _sums(self, number: Mapping[int, Aggregate]) -> list[Column]:
        """Rows, sum and sum of squares of what each query sums."""
        of, nothing = F.col(AGGREGATE), F.lit(0.0)
        both = {n: self.moments(aggregate) for n, aggregate in number.items()}
        total, squares = (
            F.coalesce(*(F.when(of == n, m[i].cast("double")) for n, m in both.items()))
            for i in (0, 1)
        )
        return [
            F.sum(ROWS).cast("double").alias("rows"),
            F.coalesce(F.sum(total), nothing).alias("total"),
            F.coalesce(F.sum(squares), nothing).alias("squares"),
        ]

    def _key_slots(self, aggregate: Aggregate) -> list[str]:
        return [self._slots[aggregate][key] for key in aggregate.query.keys]

    def answers(self, frame: DataFrame) -> dict[str, DataFrame]:
        """The answers of each query.

        Args:
            frame: from `frame`, or a batch of it.
        """
        known: dict[Operator, DataFrame] = {}
        for aggregate, slots in self._slots.items():
            mine = frame.where(F.col(AGGREGATE) == self.shared.number[aggregate])
            query = aggregate.query
            names = (*query.keys, *query.aggregates)
            known[aggregate] = mine.select(
                "window_start", "window_end", *(F.col(slots[n]).alias(n) for n in names)
            )
        return {
            name: self._set_answers(frame, name)
            if name in self._sets
            else _delivered(self.graph.queries[name], known)
            for name in self.graph.queries
        }

    @property
    def in_one_pass(self) -> bool:
        """Whether the frame is read once for the answers of all queries together."""
        nodes = list(self.graph.queries.values())
        return all(isinstance(n, Aggregate) for n in nodes) and len(set(nodes)) == len(nodes)

    def together(self, frame: DataFrame) -> DataFrame:
        """The answers of all queries in one DataFrame, with the name of the query in `query`.

        Args:
            frame: from `frame`, or a batch of it.
        """
        if self.in_one_pass:
            return frame.select(*self._columns_of_all)
        return united(self.answers(frame))

    @cached_property
    def _columns_of_all(self) -> list[Column]:
        """The columns of all queries, made once: to make them takes longer than to use them."""
        of, columns = F.col(AGGREGATE), dict[str, list[tuple[int, str]]]()
        names = [""] * (len(self.aggregates) + 1)
        for name, node in self.graph.queries.items():
            assert isinstance(node, Aggregate)  # noqa: S101 - the caller has looked
            number = self.shared.number[node]
            names[number] = name
            for column in (*node.query.keys, *node.query.aggregates):
                spelled = next((c for c in columns if c.lower() == column.lower()), column)
                columns.setdefault(spelled, []).append((number, self._slots[node][column]))
        label = F.array(*map(F.lit, names))[of].alias("query")
        filled = [_by_number(of, slots).alias(column) for column, slots in columns.items()]
        return [label, F.col("window_start"), F.col("window_end"), *filled]

    # Queries without an aggregate ---------------------------------------------------------------

    def _set_frame(self) -> DataFrame:
        """The rows of set-valued queries: another scan, but one for all of them."""
        slots, types = Slots("penstock_s"), dict[str, DataType]()
        branches: list[Branch] = []
        flows: dict[Source, Flow] = {}
        for number, name in enumerate(self.set_valued):
            for feed in feeds(self.graph.queries[name]):
                source = base(feed)
                assert isinstance(source, Source)  # noqa: S101 - it has no aggregate
                flow = flows.setdefault(source, Flow.over(source, data_of(source)))
                flow.add(feed)
                view = flow.view(feed)
                if name not in self._sets:
                    of = [column_type(view, quoted(c), c) for c in view.columns]
                    taken = slots.take([t.json() for t in of])
                    types |= dict(zip(taken, of, strict=True))
                    self._sets[name] = dict(zip(view.columns, taken, strict=True))
                filled = {slot: column for column, slot in self._sets[name].items()}
                branches.append(Branch(feed, number, filled))
        parts = []
        for source, flow in flows.items():
            mine = [branch for branch in branches if base(branch.feed) == source]
            rows = tag(flow, mine, types, {})
            numbers = F.array(*(F.lit(branch.target) for branch in mine))
            parts.append(rows.select(numbers[F.col(WHICH)].alias(QUERY), *types))
        return reduce(DataFrame.unionByName, parts)

    def _set_answers(self, frame: DataFrame, name: str) -> DataFrame:
        mine = frame.where(F.col(QUERY) == self.set_valued.index(name))
        return mine.select(
            *(F.col(slot).alias(column) for column, slot in self._sets[name].items())
        )


def data_of(source: Source) -> DataFrame:
    """The rows of a stream that are data, without a watermark of ours."""
    return without_punctuation(rows_of(source), source.progress)


def _delivered(node: Operator, known: Mapping[Operator, DataFrame]) -> DataFrame:
    """The answers of a query: those of its aggregate, with what stands above it."""
    if isinstance(node, Aggregate):
        return known[node]
    due = F.timestamp_micros(F.unix_micros("window_end") - 1).alias(WINDOW_TIME)
    timed = {one: rows.select("*", due) for one, rows in known.items()}
    return built(node, timed)


def _by_number(of: Column, slots: Sequence[tuple[int, str]]) -> Column:
    by: dict[str, list[int]] = {}
    for number, slot in slots:
        by.setdefault(slot, []).append(number)
    choices = [F.when(of.isin(numbers), F.col(slot)) for slot, numbers in by.items()]
    return choices[0] if len(choices) == 1 else F.coalesce(*choices)


def united(answers: Mapping[str, DataFrame]) -> DataFrame:
    """The answers of several queries, with the name of the query in `query`."""
    labelled = [rows.select(F.lit(name).alias("query"), "*") for name, rows in answers.items()]
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), labelled)


def check_types(together: Mapping[str, DataFrame]) -> None:
    """Answers that go to one place must not call two types by one name."""
    seen: dict[str, tuple[str, str]] = {}
    for name, rows in together.items():
        for f in rows.schema.fields:
            query, of = seen.setdefault(f.name.lower(), (name, f.dataType.simpleString()))
            if of != f.dataType.simpleString():
                rule = f"must be of one type in all queries that go to one sink ({query}: {of})"
                got = f"{name}: {f.dataType.simpleString()}"
                hint = "rename one of them, or give the queries sinks of their own"
                raise SchemaError(complaint(f"column {f.name}", rule, got, hint))
