"""What is remembered of one operator, one stream, one query: totals, and sums that fade."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from penstock.control.costs import Costs
from penstock.control.fading import Faded
from penstock.control.groups import Groups
from penstock.control.moments import Answers, Group, Moments
from penstock.control.observation import Flow
from penstock.control.snapshot import OperatorStatistics, QueryStatistics, StreamStatistics


class OperatorRecord:
    """Counts of an operator.

    Args:
        name: of the operator.
        kind: such as "filter".
        half_life: after that many batches with rows, a batch counts half.
    """

    def __init__(self, name: str, kind: str, half_life: float) -> None:
        self._name, self._kind = name, kind
        self._in = self._out = 0.0
        self._selectivity = Faded(half_life)
        self._batch = Faded(half_life)

    def count(self, flow: Flow, *, brings: bool) -> None:
        """The rows of a batch.

        Args:
            flow: what went through.
            brings: whether any stream brought rows to the batch.
        """
        self._in += flow.rows_in
        if brings:
            self._batch.add(flow.rows_in, 1.0)
        if flow.rows_out is not None:
            self._out += flow.rows_out
            # Windows may be handed on in a batch without rows; one without either tells nothing.
            if flow.rows_in or flow.rows_out:
                self._selectivity.add(flow.rows_out, flow.rows_in)

    @property
    def rows_per_batch(self) -> float:
        """Rows in, of a batch that brings rows at all."""
        return self._batch.ratio or 0.0

    def known(self, costs: Costs, share: float | None) -> OperatorStatistics:
        """What is known now.

        Args:
            costs: the cost model.
            share: of the time of a batch.
        """
        return OperatorStatistics(
            name=self._name,
            kind=self._kind,
            rows_in=self._in,
            rows_out=self._out,
            selectivity=self._selectivity.ratio,
            cost=costs.per_row[self._name],
            deviation=costs.deviations[self._name],
            share=share if self._in else None,
        )


class StreamRecord:
    """Counts of a stream.

    Args:
        name: of the stream.
        rates: half-life of its rate, in batches.
        data: half-life of its rows per batch, in batches.
    """

    def __init__(self, name: str, rates: float, data: float) -> None:
        self._name = name
        self._rows = 0.0
        self._rate = Faded(rates)
        self._batch = Faded(data)
        self._backlog: float | None = None

    def count(self, rows: float, *, brings: bool) -> None:
        """The rows that a batch took.

        Args:
            rows: how many.
            brings: whether any stream brought rows to the batch.
        """
        self._rows += rows
        if brings:
            self._batch.add(rows, 1.0)

    def time(self, rows: float, period: float, before: float | None, now: float | None) -> None:
        """The time in which they arrived.

        Args:
            rows: that the batch took.
            period: in seconds.
            before: rows that waited at the end of the batch before, if that is known.
            now: rows that wait at the end of this one, if that is known.
        """
        # A batch may take rows that have waited, or leave some: neither changes what arrives.
        grown = now - before if now is not None and before is not None else 0.0
        self._rate.add(max(0.0, rows + grown), period)

    def waits(self, backlog: float) -> None:
        """The rows that wait at the end of a batch."""
        self._backlog = backlog

    @property
    def rows_per_batch(self) -> float:
        """Of a batch that brings rows at all, from this stream or another."""
        return self._batch.ratio or 0.0

    def known(self) -> StreamStatistics:
        """What is known now."""
        return StreamStatistics(self._name, self._rows, self._rate.ratio, self._backlog)


class QueryRecord:
    """The windows of a query.

    Args:
        name: of the query.
        half_life: after that many batches with answers, an answer counts half.
        groups: how many are kept, at most.
    """

    def __init__(self, name: str, half_life: float, groups: int) -> None:
        self._name = name
        self._windows = 0.0
        self._moments = Groups(half_life, groups)

    def count(self, answers: Answers) -> None:
        """The windows that a batch has answered."""
        self._windows += answers.overall.windows
        self._moments.add(answers)

    def known(self) -> QueryStatistics:
        """All rows of a window together."""
        return self._of(None, self._moments.overall, self._windows)

    @property
    def groups(self) -> Mapping[Group, Moments]:
        """Those that are kept; never changed, but replaced with the next batch."""
        return MappingProxyType(self._moments.groups)

    def worst(self) -> QueryStatistics | None:
        """The hardest group."""
        found = self._moments.worst
        if found is None:
            return None
        group, moments = found
        return self._of(_written(group), moments, moments.windows)

    def _of(self, group: str | None, moments: Moments, windows: float) -> QueryStatistics:
        return QueryStatistics(
            name=self._name,
            group=group,
            groups=self._moments.number,
            mean=moments.mean,
            deviation=moments.deviation,
            rows_per_window=moments.rows_per_window,
            windows=windows,
            hardness=moments.hardness,
        )


def _written(group: Group) -> str:
    return ", ".join(map(str, group)) if isinstance(group, tuple) else str(group)
