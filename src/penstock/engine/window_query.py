"""A query over a stream, checked and ready: as a DataFrame, or as a stream that runs."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.drops.kinds import AnswerKind, Approximate, Bounds, Per, Subset
from penstock.engine import sessions, stateful
from penstock.engine.domain import AS_TIME, as_time, time_spec, values_again
from penstock.engine.failures import cause
from penstock.engine.interrupted import told_briefly
from penstock.engine.layout import needs_processor, tells_itself
from penstock.engine.lowering import Lowered
from penstock.engine.probe import look
from penstock.engine.progress import watermarked, without_punctuation
from penstock.engine.record import forget, recorded, remember
from penstock.engine.results import built_with_watermark, conditions, results_of
from penstock.engine.run import METRIC, Run
from penstock.engine.schema import check_hashed, check_keys, check_window, lower_all
from penstock.engine.step import Step, count_lost, quoted
from penstock.engine.watermark import known_late, late_watermark
from penstock.errors import PenstockError, UsageError, complaint
from penstock.network.operators import Aggregate, Operator, Source, upstream
from penstock.network.query import Query
from penstock.windows import (
    Density,
    Evaluation,
    Kind,
    SessionSpec,
    WindowSpec,
    choose,
    format_duration,
)
from penstock.windows.kinds import ROW_NUM

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.engine.stream import Stream
    from penstock.network.aggregates import Aggregate as Asked

BY_PROCESSOR = Evaluation(
    (), "Spark has no operator for it; it keeps partials in state", "processor"
)


@dataclass(frozen=True)
class Windowed:
    """A stream with a window, and its grouping columns if it has any."""

    stream: Stream
    spec: WindowSpec | SessionSpec
    keys: tuple[str, ...] = ()

    def by(self, *keys: str) -> Windowed:
        """Groups by columns of the stream."""
        check_keys(self.stream.rows, keys)
        return replace(self, keys=keys)

    def agg(self, /, **aggregates: Asked) -> WindowQuery:
        """The answers of every window, as result column = aggregate."""
        stream = self.stream
        query = Query(
            self.spec,
            self.keys,
            aggregates,
            stream.late,
            stream.progress,
            stream.order,
            conditions(stream.node),
        )
        return WindowQuery(stream, query)


@dataclass(frozen=True)
class WindowQuery:
    """A query over a DataFrame, checked and ready to be computed.

    Args:
        stream: the rows.
        query: what is asked of them.
        density: how full the panes are, if known; it decides how the windows are computed.
        name: of the query in a network; None if it has none.
        answers: what may become of its answers in a network that sheds; None keeps them exact.
    """

    stream: Stream
    query: Query
    density: Density | None = None
    name: str | None = None
    answers: AnswerKind = None

    def __post_init__(self) -> None:
        check_window(self.stream.rows, self.query)
        if self._by_processor:
            stateful.check(self.stream.rows, self.query)
        else:
            _ = self._lowered  # refuses what does not fit, before anything starts

    @property
    def node(self) -> Operator:
        """The operator of a network whose rows are the answers."""
        return Aggregate(self.stream.node, self.query, self._whole)

    @property
    def _whole(self) -> tuple[str, ...]:
        """The functions that cannot be merged from panes."""
        if self._by_processor:
            return ()
        return tuple(name for name, low in self._lowered.items() if low.merge is None)

    def named(self, name: str) -> Self:
        """The same query, with a name in a network."""
        return replace(self, name=name)

    def approximate(
        self,
        confidence: float = 0.99,
        bounds: Bounds = "variance",
        *,
        weight: float = 1.0,
        priority: int = 1,
        floor: int | None = None,
    ) -> Self:
        """The same query, whose answers may come from a sample, with bounds for the error.

        Args:
            confidence: how often the exact answer is within the bounds.
            bounds: "variance", or "hoeffding" for the wider ones of the paper.
            weight: how much its error counts beside that of other queries.
            priority: its level; 1 is the highest, and a lower one gets what is left.
            floor: rows that each group keeps in a window at least, about: rare groups keep all of
                theirs, and heavy ones give more.
        """
        if floor is not None:
            check_hashed(self.stream.rows, self.query.keys, "floor")
        return replace(self, answers=Approximate(confidence, bounds, weight, priority, floor))

    def subset(
        self, max_gap: int, *, per: Per = "window", weight: float = 1.0, priority: int = 1
    ) -> Self:
        """The same query, of which windows may be missing; those that come are exact.

        Args:
            max_gap: how many windows in a row may be missing.
            per: "window" leaves a window out for all groups; "group" for some of them, each group
                by itself, so that some of the groups come in every window.
            weight: how much its loss counts beside that of other queries.
            priority: its level; 1 is the highest, and a lower one gets what is left.
        """
        if per == "group":
            check_hashed(self.stream.rows, self.query.keys, "per='group'")
        return replace(self, answers=Subset(max_gap, weight, priority, per))

    def results(self) -> Stream:
        """The answers as a stream, for filters and windows over windows.

        Its event time is `window_time`, the last microsecond of each window.
        """
        return results_of(self)

    @property
    def _by_processor(self) -> bool:
        return needs_processor(self.query)

    @cached_property
    def _lowered(self) -> dict[str, Lowered]:
        return lower_all(self.stream.rows, self.query)

    @cached_property
    def _timed(self) -> tuple[DataFrame, Query]:
        """The rows and the query over times; another attribute has times that stand for it."""
        rows, query = self.stream.rows, self.query
        if query.window.unit != "value":
            return rows, query
        value = F.col(quoted(query.window.rattr))
        return rows.withColumn(AS_TIME, as_time(value)), replace(
            query, window=time_spec(query.window)
        )

    def dataframe(self, checkpoint: str | None = None) -> DataFrame:
        """The windows as a DataFrame, to be used or written like any other.

        Args:
            checkpoint: for a stream, the checkpointLocation that `writeStream` will be given.
        """
        self._check_weights()
        if not self.stream.is_streaming:
            return self._compute(self._data(), self.evaluation, None, None)
        if not self.stream.rows.isStreaming:
            hint = "give it to a network: ps.Network(query).start(…)"
            raise UsageError(complaint("windows over windows", "run in a network", "one", hint))
        checkpoint = checked_checkpoint(checkpoint)
        evaluation = remember(checkpoint, self.query, self.evaluation)
        accounts = f"{METRIC}_{uuid4().hex[:8]}"
        if self._by_processor:
            return self._compute(self._watermarked(), evaluation, None, accounts)
        query = self._timed[1]
        late = late_watermark(self.stream.rows.sparkSession, checkpoint, query)
        return self._compute(self._watermarked(), evaluation, late, accounts)

    def _check_weights(self) -> None:
        weighted = (one for one in upstream(self.stream.node) if isinstance(one, Source))
        for source in weighted:
            if source.weight is not None:
                rule = f"must be in a network: rows of {source.name} have a weight"
                hint = "ps.Network(query.approximate())"
                raise UsageError(complaint("a query", rule, source.weight, hint))

    def _data(self) -> DataFrame:
        """The rows of a batch that are data; a processor parts them from punctuation itself."""
        rows, progress = self._timed[0], self.stream.progress
        return rows if tells_itself(self.query) else without_punctuation(rows, progress)

    def _watermarked(self) -> DataFrame:
        rows, query = self._timed
        stream = self.stream
        if stream.own_watermark is not None or tells_itself(query):
            return rows
        if query.window.rattr == ROW_NUM:
            return self._data()
        if self.query.window.unit == "time":
            # The stream says how far it is with all of its rows, not with those that are asked for.
            return built_with_watermark(stream.node)
        return watermarked(rows, query.window.rattr, stream.slack * 1000, stream.progress)

    def start(
        self,
        checkpoint: str,
        *,
        format: str | None = None,  # noqa: A002 - as in Spark
        path: str | None = None,
        name: str | None = None,
        trigger: dict[str, Any] | None = None,
        foreach_batch: Callable[[DataFrame, int], None] | None = None,
        **options: str,
    ) -> Run:
        """Starts the stream, after a look at its first batch.

        Args:
            checkpoint: the checkpointLocation, on any file system.
            format: the sink, such as "parquet", "kafka", "console" or "memory".
            path: where the sink writes, if it is one of files.
            name: of the stream; the table of the memory sink.
            trigger: as for Spark's `trigger`, such as {"processingTime": "1 second"}.
            foreach_batch: a sink of your own, given each batch of results and its number.
            options: of the sink.
        """
        rows = self.stream.rows
        if not rows.isStreaming:
            hint = "use dataframe() for a batch"
            raise UsageError(complaint("start()", "needs a streaming DataFrame", "a batch", hint))
        if (format is None) == (foreach_batch is None):
            given = {"format": format, "foreach_batch": foreach_batch}
            raise UsageError(complaint("start()", "needs either format or foreach_batch", given))
        checkpoint = checked_checkpoint(checkpoint)
        if "checkpointlocation" in (option.lower() for option in options):
            rule = "must not be among the options of the sink too"
            raise UsageError(complaint("checkpoint", rule, options))
        query, new = self, recorded(checkpoint) is None
        if self.density is None and new and self._is_planned:
            query = replace(self, density=look(*self._timed))
        try:
            writer = query.dataframe(checkpoint).writeStream.outputMode("append")
            writer = writer.option("checkpointLocation", checkpoint).options(**options)
            writer = writer.queryName(name) if name is not None else writer
            writer = writer.trigger(**trigger) if trigger is not None else writer
            sink = writer.foreachBatch(told_briefly(foreach_batch)) if foreach_batch else None
            handle = (sink or writer.format(str(format))).start(path)
        except (PySparkException, Py4JError, ValueError, TypeError) as error:
            if isinstance(error, PenstockError):
                raise
            if new:
                forget(checkpoint)
            raise UsageError(f"the stream cannot start: {cause(str(error))}") from error
        return Run(handle, name or str(self.query.window), query.explain(checkpoint))

    @property
    def _is_planned(self) -> bool:
        """Whether there are several ways to compute the windows."""
        return self.query.window.kind is not Kind.SESSION and not self._by_processor

    @cached_property
    def evaluation(self) -> Evaluation:
        """How the windows are computed, and why."""
        if self._by_processor:
            return BY_PROCESSOR
        if self.query.window.kind is Kind.SESSION:
            return Evaluation((), "it has an operator for sessions", "Spark")
        if self._whole:
            reason = f"{', '.join(self._whole)} cannot be merged from panes without rounding twice"
            return Evaluation((), reason)
        return choose(self._timed[1].spec, self.density)

    @property
    def accounts(self) -> dict[str, int]:
        """Rows of a batch that count in no window; they are counted anew each time."""
        if self.stream.rows.isStreaming:
            message = "accounts() of a query need a batch; those of a stream are in its Run"
            raise UsageError(message)
        if self._by_processor:
            return stateful.count_lost(self._data(), self.query)
        return count_lost(*self._timed)

    def explain(self, checkpoint: str | None = None) -> str:
        """What the query asks, how it is computed and why.

        Args:
            checkpoint: of a stream that has run; it goes on in the way in which it began.
        """
        evaluation = (recorded(checkpoint) if checkpoint else None) or self.evaluation
        lines = self.query.describe()
        lines.append(f"computed  {evaluation.name}: {evaluation.reason}")
        own = self.stream.own_watermark
        slack = self.stream.slack if own is None else own
        told = format_duration(slack) if self.stream.unit == "time" else str(slack)
        told = f"slack {told}" if self.stream.progress is None else str(self.stream.progress)
        lines.append(
            f"late      {self.query.late}, {told}"
            if self.stream.rows.isStreaming
            else "late      no row is late in a batch"
        )
        if self.query.counts_rows:
            lines.append(f"arrival   batch by batch, in each by {', '.join(self.query.order)}")
        return "\n".join(lines)

    def _compute(
        self,
        rows: DataFrame,
        evaluation: Evaluation,
        late: Column | None,
        accounts: str | None,
    ) -> DataFrame:
        if self._by_processor:
            return stateful.windows(rows, self.query, accounts)
        query = self._timed[1]
        if query.window.kind is Kind.SESSION:
            known = None if late is None else known_late(late)
            windows = sessions.windows(rows, query, self._lowered, known, accounts)
        else:
            promised = query.progress is not None
            step = Step(query, self._lowered, evaluation, late, accounts, promised)
            windows = step.windows(rows)
        return windows if self.query.window.unit == "time" else values_again(windows)


def checked_checkpoint(checkpoint: object) -> str:
    """The checkpoint as text, if it can be one; on this machine, its whole path."""
    if not isinstance(checkpoint, (str, os.PathLike)) or not os.fspath(checkpoint):
        hint = "the watermark of each batch is read there"
        rule = "must be the checkpointLocation of the stream"
        raise UsageError(complaint("checkpoint", rule, checkpoint, hint))
    text = str(os.fspath(checkpoint))
    # Workers of a cluster have folders of their own: a path must mean the same to all.
    return text if re.match(r"\w+:", text) else str(Path(text).absolute())
