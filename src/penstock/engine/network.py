"""Many queries over common streams, computed as one.

net = ps.Network(bytes=web.window("60 s", every="5 s").by("host").agg(n=ps.sum("size")), big=big)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pyspark.sql import DataFrame

from penstock.drops.kinds import AnswerKind, Approximate, is_per_group, kind_name
from penstock.engine.kinds import check_kind, check_weights
from penstock.engine.layout import needs_processor
from penstock.engine.part import Part
from penstock.engine.record import forget_network, remember_network, remembered_folds
from penstock.engine.run import METRIC
from penstock.engine.shed_record import Mode
from penstock.engine.stream import Stream
from penstock.engine.wanted import wanted
from penstock.engine.watermark import late_watermark
from penstock.engine.window_query import WindowQuery, checked_checkpoint
from penstock.errors import PenstockError, SpecificationError, UsageError, complaint
from penstock.network.graph import Graph
from penstock.network.operators import Aggregate, Operator, depth, inputs, upstream
from penstock.network.render import svg, text
from penstock.planning.limits import Winner
from penstock.windows import Kind, choose
from penstock.windows.durations import Duration, Instant, parse_instant

if TYPE_CHECKING:
    from penstock.engine.backfill_report import Backfilled
    from penstock.engine.deliver import Sink
    from penstock.engine.network_run import NetworkRun
    from penstock.engine.watching import Tell

SHARED_KINDS = (Kind.SLIDING, Kind.TUMBLING, Kind.CUMULATIVE)


@dataclass(frozen=True)
class Split:
    """Which queries are computed together, and which by themselves.

    Args:
        parts: networks of queries over common streams.
        alone: queries that are computed by themselves → why.
    """

    parts: tuple[Graph, ...]
    alone: Mapping[str, str]


class Network:
    """Queries with names; equal operators are one, and all share scan, panes and shuffle.

    Args:
        queries: what `agg()` gives, or rows without an aggregate; each has a name by `named()`.
        named: more of them, as name = query.
    """

    def __init__(self, *queries: Stream | WindowQuery, **named: Stream | WindowQuery) -> None:
        found: dict[str, Stream | WindowQuery] = {}
        for query in (*queries, *(of.named(name) for name, of in _checked(named).items())):
            if not isinstance(query, Stream | WindowQuery):
                rule, hint = "needs queries", "such as ps.Network(bytes=query)"
                raise SpecificationError(complaint("a network", rule, type(query).__name__, hint))
            if query.name is None:
                hint = "such as query.named('bytes'), or ps.Network(bytes=query)"
                raise SpecificationError(complaint("a query", "needs a name", None, hint))
            if query.name.lower() in (name.lower() for name in found):
                rule = "must be the name of one query only"
                raise SpecificationError(complaint("query", rule, query.name))
            found[query.name] = query
        self.queries = found
        self.graph = Graph({name: query.node for name, query in found.items()})
        _ = self.split  # refuses what cannot run, before anything starts
        self._check_same()
        for name, kind in self.kinds.items():
            check_kind(self.graph, name, kind, alone=name in self.split.alone)

    def _check_same(self) -> None:
        """Queries that ask the same have one answer, of which not some may be missing for one."""
        asked: dict[Operator, str] = {}
        for name, node in self.graph.queries.items():
            other = asked.setdefault(node, name)
            if self.kinds.get(other) != self.kinds.get(name):
                rule = f"asks the same as query {other}, and must have the same kind of answers"
                raise SpecificationError(complaint(f"query {name}", rule, self.kinds.get(name)))

    def check_weights(self, name: str) -> None:
        """Refuses a query that takes rows that stand for several as if each were one."""
        query = self.queries[name]
        columns = query.rows.columns if isinstance(query, Stream) else ()
        check_weights(self.graph, name, self.kinds.get(name), columns)

    @cached_property
    def is_streaming(self) -> bool:
        """Whether rows go on coming."""
        kinds = {_stream(query).is_streaming for query in self.queries.values()}
        if len(kinds) > 1:
            rule = "must be all streams or all batches"
            raise UsageError(complaint("the queries of a network", rule, sorted(self.queries)))
        return kinds.pop()

    @cached_property
    def split(self) -> Split:
        """Which queries share a Spark stream, and which need one of their own."""
        alone: dict[str, str] = {}
        for name, node in self.graph.queries.items():
            aggregates = [one for one in upstream(node) if isinstance(one, Aggregate)]
            reason = next((said for one in aggregates if (said := _why_alone(one))), "")
            if reason:
                alone[name] = reason
        rest = {n: node for n, node in self.graph.queries.items() if n not in alone}
        parts = Graph(rest).components() if rest else []
        for name, why in alone.items():
            query = self.queries[name]
            if depth(query.node) > 1 or not isinstance(query, WindowQuery):
                rule = "must be one that can be computed with others, where it stands on windows"
                raise UsageError(complaint(f"query {name}", rule, why))
        return Split(tuple(parts), alone)

    def batch(self) -> dict[str, DataFrame]:
        """The exact answers of each query, over rows that are a batch.

        Where rows have weights, answers come with bounds.
        """
        if self.is_streaming:
            raise UsageError(complaint("batch()", "needs a batch", "a stream", "use start()"))
        answers = {}
        for name, query in self.queries.items():
            self.check_weights(name)
            if name in self.split.alone:
                assert isinstance(query, WindowQuery)  # noqa: S101 - the split has looked
                answers[name] = query.dataframe()
            else:
                # Each is a DataFrame by itself, which must not compute the others whenever it is
                # looked at.
                part = Part(Graph({name: query.node}), kinds={name: self.kinds.get(name)})
                answers |= part.answers(part.frame())
        return answers

    def start(
        self,
        checkpoint: str,
        *,
        sink: Sink | None = None,
        sinks: Mapping[str, Sink] | None = None,
        trigger: dict[str, Any] | None = None,
        mode: Mode = "on",
        keep: float | Mapping[str, float] = 1.0,
        drop: float | Mapping[str, float] = 0.0,
        latency: Duration | None = None,
        max_error: float | None = None,
        max_loss: float | None = None,
        wins: Winner = "latency",
    ) -> NetworkRun:
        """Starts the network as a stream.

        Args:
            checkpoint: the checkpointLocation, on any file system.
            sink: where the answers of all queries go that have no sink of their own: a function
                of a DataFrame, with the query's name in `query`, and the number of the batch.
            sinks: query → where its answers go.
            trigger: as for Spark's `trigger`, such as {"processingTime": "1 second"}.
            mode: "on" drops what it is told to, "monitor" counts what it would drop and drops
                nothing, "off" does neither.
            keep: the share of rows to keep, of all queries with approximate answers or of each by
                name; `run.shed()` changes it.
            drop: the share of windows to drop, of all queries with subset answers or of each by
                name.
            latency: the target, such as "3 s": rows are answered within it, and what is too much
                for that is dropped. It decides about `keep` and `drop` by itself.
            max_error: the relative error that approximate answers may be expected to have.
            max_loss: the share of its windows that a query with subset answers may lose.
            wins: what is kept if the latency needs more than that, or than gap tolerances allow:
                "latency", or "answers".
        """
        from penstock.engine.launch import launch  # noqa: PLC0415 - it needs this class

        if not self.is_streaming:
            hint = "use batch() for a batch"
            raise UsageError(complaint("start()", "needs streams", "a batch", hint))
        for name in self.queries:
            self.check_weights(name)
        own = dict(sinks or {})
        for name in own:
            if name not in self.queries:
                rule = "must be sinks of queries of the network"
                raise UsageError(
                    complaint("sinks", rule, name, f"known: {', '.join(self.queries)}")
                )
        if sink is None and set(own) != set(self.queries):
            missing = [name for name in self.queries if name not in own]
            raise UsageError(complaint("start()", "needs a sink for every query", missing))
        checkpoint = checked_checkpoint(checkpoint)
        limits = max_error, max_loss, wins
        asked = wanted(mode, keep, drop, latency, limits=limits, kinds=self.kinds)
        new = remember_network(checkpoint, str(self))
        try:
            return launch(self, checkpoint, sink, own, trigger=trigger, wanted=asked)
        except PenstockError:
            if new:
                forget_network(checkpoint)
            raise

    def backfill(
        self,
        checkpoint: str,
        *,
        sink: Sink | None = None,
        sinks: Mapping[str, Sink] | None = None,
        query: str | Sequence[str] = (),
        since: Instant | None = None,
        until: Instant | None = None,
        again: bool = False,
        dry_run: bool = False,
        stored: Mapping[str, DataFrame] | None = None,
        tell: Tell = lambda _what, _share: None,
    ) -> Backfilled:
        """Computes the windows that a run has left out, exactly, from where its rows are stored.

        A sink gets them with the column `revision`, N from 1 on, under the number -N.

        Args:
            checkpoint: of the run; it may be running.
            sink: where the answers of all queries go that have no sink of their own.
            sinks: query → where its answers go.
            query: the name of a query, or several; all if none is given.
            since: only windows that end after this time.
            until: only windows that end by this time.
            again: compute those again that have been backfilled before; each revision is replaced.
            dry_run: only say what would be done.
            stored: stream → its rows as a table, where the source itself is none.
            tell: is told what is being done, and which share of it is.
        """
        from penstock.engine.backfill import Backfill  # noqa: PLC0415 - it needs this class
        from penstock.engine.backfilling import backfilled  # noqa: PLC0415 - as above

        asked = Backfill(
            self,
            checked_checkpoint(checkpoint),
            (query,) if isinstance(query, str) else tuple(query),
            None if since is None else parse_instant(since, "since"),
            None if until is None else parse_instant(until, "until"),
            again,
            stored,
        )
        return backfilled(asked, sink, dict(sinks or {}), dry_run=dry_run, tell=tell)

    def part(self, graph: Graph, checkpoint: str) -> Part:
        """A part of the network as a stream with that checkpoint."""
        spark = next(iter(self.queries.values()))
        session = _stream(spark).rows.sparkSession
        aggregates = [one for one in graph.operators if isinstance(one, Aggregate)]
        if not aggregates:
            return Part(graph)
        late = late_watermark(session, checkpoint, aggregates[0].query)
        metric = f"{METRIC}_{uuid4().hex[:8]}"
        kinds = {name: kind for name, kind in self.kinds.items() if name in graph.queries}
        plain = Part(graph, late, metric, kinds=kinds)
        folding = remembered_folds(checkpoint, plain.shared.look)
        shared, query = Part(graph, late, metric, folding, kinds).shared, aggregates[0].query
        places = shared.places
        if places is not None:
            late = late_watermark(session, checkpoint, query, places, **shared.told)
        return Part(graph, late, metric, folding, kinds, ordered=places is not None)

    @cached_property
    def kinds(self) -> dict[str, AnswerKind]:
        """Query → what may become of its answers; those that are not named are exact."""
        return {
            name: query.answers
            for name, query in self.queries.items()
            if isinstance(query, WindowQuery) and query.answers is not None
        }

    def explain(self) -> str:
        """The network as text: its operators, what is shared, what is computed by itself."""
        lines = [text(self.graph), ""]
        for graph in self.split.parts:
            part = Part(graph)
            names = ", ".join(graph.queries)
            if not part.aggregates:
                lines.append(f"together  {names}: one scan, no state")
                continue
            groups = len(part.shared.groups)
            lines.append(
                f"together  {names}: one stream, {part.shared.stateful} operators with state, "
                f"{groups} kinds of panes for {len(part.aggregates)} aggregates"
            )
        lines += [f"alone     {name}: {why}" for name, why in self.split.alone.items()]
        return "\n".join(lines)

    def svg(self, notes: Mapping[Operator, str] | None = None) -> str:
        """The network as a picture.

        Args:
            notes: what is to be written at operators.
        """
        return svg(self.graph, notes or {})

    def _repr_html_(self) -> str:
        return self.svg()

    def __str__(self) -> str:
        names = self.graph.names
        lines = [f"{names[one]}: {one}{_of(one, names)}" for one in self.graph.operators]
        lines += [f"{name} = {names[node]}" for name, node in self.graph.queries.items()]
        # A checkpoint has no weights for answers that were exact, nor the other way round.
        for name, kind in self.kinds.items():
            each = " per group" if is_per_group(kind) else ""
            floor = isinstance(kind, Approximate) and kind.floor is not None
            lines.append(f"{name}: {kind_name(kind)} answers{each}{' with a floor' * floor}")
        return "\n".join(lines)


def _stream(query: Stream | WindowQuery) -> Stream:
    return query if isinstance(query, Stream) else query.stream


def _of(operator: Operator, names: Mapping[Operator, str]) -> str:
    """What an operator is fed by; two networks may have the same operators in another order."""
    return "".join(f" < {names[one]}" for one in inputs(operator))


def _checked(named: Mapping[str, object]) -> dict[str, Any]:
    for name, query in named.items():
        if not isinstance(query, Stream | WindowQuery):
            rule = "must be a query, or rows of a stream"
            raise SpecificationError(complaint(f"query {name}", rule, type(query).__name__))
    return dict(named)


def _why_alone(aggregate: Aggregate) -> str:
    """Why an aggregate cannot be computed together with others; empty if it can."""
    query = aggregate.query
    if needs_processor(query) or query.window.kind not in SHARED_KINDS:
        return (
            f"{query.window.kind.value} windows, or their aggregates, have an operator of their own"
        )
    if query.window.unit != "time":
        return "its windows are not over time"
    if aggregate.whole:
        return f"{', '.join(aggregate.whole)} cannot be merged from panes without rounding twice"
    if choose(query.spec, None).tall:
        return "its windows overlap so much that they have panes of their own"
    return ""
