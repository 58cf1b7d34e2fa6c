"""What a user writes: a stream, its operators, its window, its keys, its aggregates.

ps.stream(df, event_time="ts").window("60 s", every="5 s").by("host").agg(n=ps.count())
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import IntegralType

from penstock.engine.operators import (
    added,
    applied,
    as_expression,
    chosen,
    joined,
    same_columns,
)
from penstock.engine.schema import column, own_watermark
from penstock.engine.window_query import Windowed
from penstock.errors import SpecificationError, UsageError, complaint
from penstock.network.operators import Operator, Source, Union, filtered, upstream
from penstock.network.progress import Progress
from penstock.windows import Late, SessionSpec, WindowSpec, cumulative, spark_aligned
from penstock.windows.kinds import ROW_NUM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.windows.amounts import DomainUnit
    from penstock.windows.durations import Duration, Instant


@dataclass(frozen=True)
class Stream:
    """Rows with an event time: a DataFrame, batch or stream.

    Args:
        rows: the DataFrame. Where windows of a stream are the rows, it has their columns only.
        event_time: its column that windows are over: of type timestamp, or a whole number; None if
            all windows count rows.
        slack: how far the watermark stays behind the newest row, in microseconds, or in steps of a
            whole number.
        late: "generous" counts a late row in those of its windows that are open, as Spark does;
            "consistent" counts it only if all of its windows are open.
        progress: how the stream says how far it is, if not by a slack.
        order: the columns that say in which order the rows of a batch arrive.
        node: the operator of a network that the rows come from.
        name: what its rows are called as a query of a network; None if they are none.
    """

    rows: DataFrame
    event_time: str | None
    slack: int
    late: Late
    progress: Progress | None
    order: tuple[str, ...]
    node: Operator
    name: str | None = None

    @cached_property
    def own_watermark(self) -> int | None:
        """How far the watermark that the rows bring along stays behind, in microseconds."""
        return None if self.event_time is None else own_watermark(self.rows, self.event_time)

    @property
    def unit(self) -> DomainUnit:
        """What the event time is measured in."""
        if self.event_time is None:
            return "time"
        of = column(self.rows, "event_time", self.event_time).dataType
        return "value" if isinstance(of, IntegralType) else "time"

    @property
    def is_streaming(self) -> bool:
        """Whether rows go on coming."""
        sources = (one for one in upstream(self.node) if isinstance(one, Source))
        return any(isinstance(s.rows.of, DataFrame) and s.rows.of.isStreaming for s in sources)

    def where(self, predicate: str | Column) -> Stream:
        """The rows for which a predicate holds, and all punctuation."""
        return self._with(filtered(self.node, as_expression("where()", predicate)))

    filter = where

    def with_columns(self, **columns: str | Column) -> Stream:
        """The rows with more columns, or with others in place of some, as name = expression."""
        return self._with(added(self.node, self.event_time, columns))

    def select(self, *columns: str, **computed: str | Column) -> Stream:
        """Some columns, and others that are computed, as name = expression."""
        stream = self._with(chosen(self.node, self.rows, self.event_time, columns, computed))
        kept = [name.lower() for name in stream.rows.columns]
        time = self.event_time
        return stream if time is None or time.lower() in kept else replace(stream, event_time=None)

    def join(
        self, relation: DataFrame, on: str | Mapping[str, str], *, name: str = "relation"
    ) -> Stream:
        """Each row with the row of a stored relation that it refers to; others are left out.

        Args:
            relation: a DataFrame that is no stream, in which each key is there once.
            on: the column that both have, or stream's column → relation's column.
            name: what the relation is called.
        """
        return self._with(joined(self.node, self.rows, relation, on, name, semi=False))

    def semi_join(
        self, relation: DataFrame, on: str | Mapping[str, str], *, name: str = "relation"
    ) -> Stream:
        """The rows that refer to a row of a stored relation.

        Args:
            relation: a DataFrame that is no stream.
            on: as for `join`.
            name: what the relation is called.
        """
        return self._with(joined(self.node, self.rows, relation, on, name, semi=True))

    def union(self, other: Stream) -> Stream:
        """All rows of both, which must have the same columns and the same event time."""
        same_columns(self, other)
        return self._with(Union((self.node, other.node)), self.rows.unionByName(other.rows))

    def named(self, name: str) -> Stream:
        """The same rows, as a query of a network that has this name."""
        return replace(self, name=name)

    def _with(self, node: Operator, rows: DataFrame | None = None) -> Stream:
        rows = applied(node, self.node, self.rows, self.progress) if rows is None else rows
        return replace(self, rows=rows, node=node, name=None)

    def window(
        self,
        range: Duration | WindowSpec | SessionSpec,
        every: Duration | None = None,
        *,
        origin: Instant = 0,
    ) -> Windowed:
        """Sliding windows, or tumbling ones without `every`; they begin where Spark's do.

        Args:
            range: length of a window, such as "60 seconds"; or a window of any other kind, such as
                `ps.rows(1000, 10)`.
            every: from the start of one window to the start of the next, such as "5 seconds".
            origin: a window starts here, and every `every` before and after; since the epoch.
        """
        if isinstance(range, WindowSpec | SessionSpec):
            if every is not None or origin != 0:
                rule = "must be part of the window that is given"
                raise SpecificationError(complaint("every and origin", rule, (every, origin)))
            if range.rattr != ROW_NUM and range.rattr.lower() != (self.event_time or "").lower():
                rule = f"must be over the event time of the stream, {self.event_time}"
                raise SpecificationError(complaint("window", rule, str(range)))
            return Windowed(self, range)
        slide = range if every is None else every
        on = self._time("window()")
        spec = spark_aligned(range, slide, on=on, origin=origin, unit=self.unit)
        return Windowed(self, spec)

    def cumulative(self, period: Duration, every: Duration, *, origin: Instant = 0) -> Windowed:
        """Windows from the start of each period to now, such as since midnight, every minute.

        Args:
            period: after which windows start afresh, such as "1 day".
            every: from the end of one window to the end of the next; it divides the period.
            origin: a period starts here; since the epoch.
        """
        on = self._time("cumulative()")
        return Windowed(self, cumulative(period, every, on=on, origin=origin, unit=self.unit))

    def _time(self, what: str) -> str:
        if self.event_time is None:
            hint = "name it: ps.stream(df, event_time=…)"
            raise UsageError(complaint(what, "needs a stream with an event time", None, hint))
        return self.event_time
