"""A part of a network is what one Spark stream computes: queries that share their streams.

Its frame has the answers of all its queries, of which `answers` makes a DataFrame for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.drops.kinds import AnswerKind, Approximate, is_sampled
from penstock.engine import shed
from penstock.engine.arrivals import arriving, block_of, is_as_read, rows_by_stream, staying
from penstock.engine.asking import Question, knows_before_parsing, questions
from penstock.engine.books import Place, places
from penstock.engine.columns import window_time
from penstock.engine.early import Entrance
from penstock.engine.estimates import Estimates
from penstock.engine.folds import folded
from penstock.engine.frame import AGGREGATE, ORDERS, Answers
from penstock.engine.groups import grouped
from penstock.engine.in_force import with_in_force
from penstock.engine.kinds import kinds_of_rows
from penstock.engine.level_above import above_all
from penstock.engine.operators import built
from penstock.engine.passing import Levels, on_windows
from penstock.engine.results import data_of, rows_of, source_with_watermark
from penstock.engine.schema import own_watermark
from penstock.engine.set_valued import SetValued
from penstock.engine.shared import Shared
from penstock.engine.shed_groups import grouped_answers
from penstock.engine.tally import Tally
from penstock.engine.together import united
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


@dataclass
class Part:
    """Queries over common streams.

    Args:
        graph: their operators; all aggregates can be shared.
        late: L (`late_watermark`); None for a batch.
        metric: the name of the metric under which rows are counted; None for a batch.
        folding: numbers of groups that are folded together.
        kinds: query → what may become of its answers; those that are not named are exact.
        ordered: whether `late` has the orders of the batch.
        slots: where the frame has the answers of each aggregate.
        set_valued: the queries without an aggregate.
    """

    graph: Graph
    late: Column | None = None
    metric: str | None = None
    folding: Sequence[Sequence[int]] = ()
    kinds: Mapping[str, AnswerKind] = field(default_factory=dict)
    ordered: bool = False
    slots: dict[Aggregate, Answers] = field(default_factory=dict, init=False)
    set_valued: SetValued = field(init=False)
    _made: dict[Aggregate, dict[str, Column]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.set_valued = SetValued(self.graph.queries)

    @cached_property
    def aggregates(self) -> list[Aggregate]:
        """All aggregates, those of a lower level first."""
        found = [one for one in self.graph.operators if isinstance(one, Aggregate)]
        return sorted(found, key=depth)

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
        taken = [source for source in self.graph.sources if source in windowed]
        as_read = len(self.graph.sources) == 1 and all(map(is_as_read, taken))
        rows = {s: self._rows(s, i, as_read=as_read) for i, s in enumerate(taken)}
        wanted = {
            one
            for node in self.graph.queries.values()
            for feed in feeds(node)
            if isinstance(one := base(feed), Aggregate)
        }
        tally = Tally(self.metric, len(self.aggregates), self.counted) if self.metric else None
        return Shared(
            self.aggregates,
            wanted,
            rows,
            self.late,
            tally,
            self.folding,
            self.kinds_of_rows,
            [source for source in taken if self._counts(source)],
        )

    def rows_read(self, report: Mapping[str, Any]) -> dict[str, float]:
        """The rows that a batch took from each stream; `report` is what Spark says of it."""
        counted = {one.name: self.shared.arriving(one) for one in self.shared.rows}
        scans = {source.name: self.scans(source) for source in self.graph.sources}
        blocks = {source.name: block_of(source) for source in self.graph.sources}
        return rows_by_stream(report, scans, counted, blocks)

    def _rows(self, source: Source, number: int, *, as_read: bool) -> DataFrame:
        """The rows of a stream; with a watermark, if they go on coming."""
        if self.late is None:
            return data_of(source)
        if not self.ordered:
            return source_with_watermark(source)
        kinds = {kind for a, kind in self.kinds_of_rows.items() if source in upstream(a)}
        sampled = all(map(is_sampled, kinds))
        metric = None if as_read or self.metric is None else arriving(self.metric, number)
        asked, timed = self.asked[source], self.asks_times(source)
        kept = staying(self.metric or "", number) if self._counts(source) else None
        return Entrance(source, number, self.late, sampled, metric, asked, timed, kept).rows()

    def _counts(self, source: Source) -> bool:
        """Whether the rows of a stream that stay are counted before the watermark.

        All that is dropped is dropped at random there, before any query is asked; of what stays for
        its time, or is not parsed yet, the books tell.
        """
        of_ours = self.ordered and self.metric is not None and self.late is not None
        plain = source.event_time is not None and source.progress is None
        if not (of_ours and plain and all(map(is_sampled, self.kinds_of_rows.values()))):
            return False
        rows = rows_of(source)
        ours = rows.isStreaming and own_watermark(rows, source.event_time or "") is None
        return ours and not knows_before_parsing(source)

    @cached_property
    def counting(self) -> dict[Source, str]:
        """Streams whose rows that stay are counted before the watermark → the metric."""
        numbered = enumerate(self.shared.rows)
        return {
            source: staying(self.metric or "", number)
            for number, source in numbered
            if source in self.shared.counted_at_entrance
        }

    @cached_property
    def asked(self) -> dict[Source, tuple[Question, ...]]:
        """What the rows of each stream are asked; `shared` is made of these rows."""
        ones = [a for a in self.aggregates if depth(a) == 1]
        folds = folded(grouped(ones, self.kinds_of_rows), self.folding)
        return {source: questions(folds, source) for source in self.graph.sources}

    def asks(self, source: Source) -> bool:
        """Whether a large batch asks the rows of a stream what they are before it takes them in."""
        return bool(self.asked[source])

    def asks_times(self, source: Source) -> bool:
        """Whether it asks them also in which windows they are."""
        return any(
            self.kinds_of_rows.get(a) == "subset" for q in self.asked[source] for a in q.aggregates
        )

    @cached_property
    def asking(self) -> frozenset[Aggregate]:
        """The aggregates all of whose rows are asked."""
        found = (
            a
            for a in self.aggregates
            if depth(a) == 1 and all(self.asks(s) for s in upstream(a) if isinstance(s, Source))
        )
        return frozenset(found)

    @property
    def shared_sheds(self) -> bool:
        """Whether rows may be dropped."""
        return bool(self.aggregates) and self.shared.sheds

    @cached_property
    def kinds_of_rows(self) -> dict[Aggregate, str]:
        """Aggregate → what may become of its rows: what all its queries allow."""
        return kinds_of_rows(self.graph, self.kinds)

    def scans(self, source: Source) -> int:
        """How often a batch reads the rows of a stream."""
        return self._scans[source]

    # What follows from the graph is asked for in every batch, and looked up once.

    @cached_property
    def _scans(self) -> dict[Source, int]:
        feeding = [feed for node in self.set_valued.queries.values() for feed in feeds(node)]
        windowed = [feed for a in self.level_one for feed in feeds(a.input)]
        return {
            source: max(1, sum(any(base(f) == source for f in fed) for fed in (feeding, windowed)))
            for source in self.graph.sources
        }

    @cached_property
    def level_one(self) -> list[Aggregate]:
        """The aggregates over streams."""
        return [a for a in self.aggregates if depth(a) == 1]

    @cached_property
    def ways(self) -> dict[str, list[tuple[Source, Aggregate]]]:
        """Query → the streams that its rows come from, each with an aggregate that takes them."""
        found = {}
        for name, node in self.graph.queries.items():
            below = list(upstream(node))
            ones = [a for a in self.level_one if a in below]
            sources = [one for one in below if isinstance(one, Source)]
            found[name] = [(s, a) for s in sources for a in ones if s in upstream(a)]
        return found

    @cached_property
    def feeds(self) -> dict[Operator, tuple[Operator, ...]]:
        """The feeds of each operator."""
        return {one: feeds(one) for one in self.graph.operators}

    @cached_property
    def places(self) -> list[Place]:
        """Where rows that may be dropped are booked."""
        return places(self.shared)

    def frame(self) -> DataFrame:
        """The answers of all queries."""
        frames = []
        if self.aggregates:
            frame, self.slots = self.shared.compute()
            if self.shared.sheds and self.late is not None:
                # As a column: each mention of a subquery is planned anew in every batch.
                frame = frame.select("*", self.late["orders"].alias(ORDERS))
                orders, groups = F.col(ORDERS), grouped_answers(self.shared, self.slots)
                frame = shed.delivered(frame, orders, groups)
                sampled = [a for a in self.slots if self.approximation(a) is not None]
                if sampled:
                    frame = with_in_force(frame, orders, self.shared, self.slots, sampled)
                frame = shed.noted(frame.drop(ORDERS), self.metric)
            if self.metric is not None:
                number = self.shared.number
                frame = above_all(frame, self.slots, number, self.on_windows, self.metric)
            frames.append(frame)
        if self.set_valued.queries:
            frames.append(self.set_valued.frame())
        return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)

    @property
    def delivered(self) -> list[Aggregate]:
        """The aggregates whose answers are those of a query."""
        asked = self.graph.queries.values()
        return [aggregate for aggregate in self.aggregates if aggregate in asked]

    def answers(self, frame: DataFrame) -> dict[str, DataFrame]:
        """The answers of each query.

        Args:
            frame: from `frame`, or a batch of it.
        """
        known: dict[Operator, DataFrame] = {}
        for aggregate, slots in self.slots.items():
            mine = frame.where(F.col(AGGREGATE) == self.shared.number[aggregate])
            listed = self._outputs(aggregate, slots).items()
            known[aggregate] = mine.select(
                "window_start", "window_end", *(column.alias(name) for name, column in listed)
            )
        return {
            name: self.set_valued.answers(frame, name)
            if name in self.set_valued.queries
            else _delivered(self.graph.queries[name], known)
            for name in self.graph.queries
        }

    def _outputs(self, aggregate: Aggregate, slots: Mapping[str, str]) -> dict[str, Column]:
        """The columns of an aggregate's answers: its keys, and its functions or estimates."""
        if aggregate not in self._made:
            self._made[aggregate] = self._make_outputs(aggregate, slots)
        return self._made[aggregate]

    def _make_outputs(self, aggregate: Aggregate, slots: Mapping[str, str]) -> dict[str, Column]:
        query = aggregate.query
        keys = {key: F.col(slots[key]) for key in query.keys}
        kind = self.approximation(aggregate)
        if kind is not None:
            below = (one for one in upstream(aggregate) if isinstance(one, Source))
            estimates = Estimates(kind, slots, weighted=any(one.weight for one in below))
            return keys | estimates.columns(query.aggregates, grouped=bool(keys))
        return keys | {name: F.col(slots[name]) for name in query.aggregates}

    def approximation(self, aggregate: Aggregate) -> Approximate | None:
        """How the answers of an aggregate are estimated; None if they are exact."""
        if not self.shared.estimates(aggregate):
            return None
        users, queries = self.graph.users[aggregate], self.graph.queries
        # One whose answers they are knows best; others may want other bounds of what is above.
        kind = self.kinds[next((n for n in users if queries[n] == aggregate), users[0])]
        assert isinstance(kind, Approximate)  # noqa: S101 - all its queries are
        return kind

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
        of, columns = F.col(AGGREGATE), dict[str, list[tuple[int, Column]]]()
        names = [""] * (len(self.aggregates) + 1)
        for name, node in self.graph.queries.items():
            assert isinstance(node, Aggregate)  # noqa: S101 - the caller has looked
            number = self.shared.number[node]
            names[number] = name
            for column, value in self._outputs(node, self.slots[node]).items():
                spelled = next((c for c in columns if c.lower() == column.lower()), column)
                columns.setdefault(spelled, []).append((number, value))
        label = F.array(*map(F.lit, names))[of].alias("query")
        filled = [_by_number(of, values).alias(column) for column, values in columns.items()]
        return [label, F.col("window_start"), F.col("window_end"), *filled]


def _delivered(node: Operator, known: Mapping[Operator, DataFrame]) -> DataFrame:
    """The answers of a query: those of its aggregate, with what stands above it."""
    if isinstance(node, Aggregate):
        return known[node]
    due = window_time().alias(WINDOW_TIME)
    timed = {one: rows.select("*", due) for one, rows in known.items()}
    return built(node, timed)


def _by_number(of: Column, values: Sequence[tuple[int, Column]]) -> Column:
    by: dict[str, tuple[Column, list[int]]] = {}
    for number, value in values:
        by.setdefault(str(value), (value, []))[1].append(number)
    choices = [F.when(of.isin(numbers), value) for value, numbers in by.values()]
    return choices[0] if len(choices) == 1 else F.coalesce(*choices)
