"""What is known now: one record for each operator, stream and query. It never changes.

A snapshot is handed out whole, so that a planner or a person can read it while the next batch is
being learnt from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from penstock.control.checks import positive
from penstock.control.costs import Costs
from penstock.control.moments import Group, Moments
from penstock.control.text import render


@dataclass(frozen=True, slots=True)
class OperatorStatistics:
    """An operator: `rows_in` and `rows_out` since the start, the rest of the recent past.

    Args:
        name: of the operator.
        kind: such as "filter".
        rows_in: rows that it took in.
        rows_out: rows that it handed on, where they were counted.
        selectivity: rows out for each row in; None before the first row.
        cost: seconds for each row in.
        deviation: how far the cost may be off, in seconds (one standard deviation).
        share: of the time of a batch, between 0 and 1; None before the first row.
    """

    name: str
    kind: str
    rows_in: float
    rows_out: float
    selectivity: float | None
    cost: float
    deviation: float
    share: float | None


@dataclass(frozen=True, slots=True)
class StreamStatistics:
    """A stream: what arrives, and what waits.

    Args:
        name: of the stream.
        rows: that batches have taken from it since the start.
        rate: rows that arrive per second, whether or not they were taken; None during warm-up.
        backlog: rows that waited at the end of the last batch that knew; None if none did.
    """

    name: str
    rows: float
    rate: float | None
    backlog: float | None


@dataclass(frozen=True, slots=True)
class QueryStatistics:
    """A query's windows of the recent past, or those of one group; see `moments`.

    Args:
        name: of the query.
        group: the hardest group; None for all rows of a window together.
        groups: how many groups there are; 0 if the query has none.
        mean: of the values that are summed; None before the first row.
        deviation: of these values from their mean.
        rows_per_window: the mean number of rows.
        windows: answered since the start; for a group, in the recent past.
        hardness: Σv²/(Σv)² of a window, which the error of a sampled answer grows with.
    """

    name: str
    group: str | None
    groups: int
    mean: float | None
    deviation: float | None
    rows_per_window: float | None
    windows: float
    hardness: float

    def c(self, delta: float = 0.01) -> float:
        """C of the paper's §3.1.1: a sample kept with probability P is off by at most C/P.

        Args:
            delta: the probability that it is off by more.
        """
        return math.sqrt(self.hardness / 2 * math.log(2 / delta))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that is known after a batch.

    Args:
        batches: how many have been seen, those of the warm-up too.
        costs: the cost model.
        operators: by name.
        streams: by name.
        queries: by name, all rows of a window together.
        worst: by name, the hardest group of each query that has groups.
        groups: by name, the moments of each group that is kept; if there are too many, the easiest
            are not.
        cost_per_row: seconds for each row that streams bring, without the fixed part; None before
            the first row.
    """

    batches: int
    costs: Costs
    operators: Mapping[str, OperatorStatistics]
    streams: Mapping[str, StreamStatistics]
    queries: Mapping[str, QueryStatistics]
    worst: Mapping[str, QueryStatistics]
    groups: Mapping[str, Mapping[Group, Moments]]
    cost_per_row: float | None

    def predict(self, rows_in: Mapping[str, float]) -> float:
        """Seconds that a batch will take.

        Args:
            rows_in: of each operator, the rows it will take in; 0 for one that is not named.
        """
        return self.costs.predict(rows_in)

    @property
    def load(self) -> float | None:
        """Seconds of work that a second of the streams brings, as they now arrive and are shed."""
        rates = [stream.rate for stream in self.streams.values() if stream.rate is not None]
        if self.cost_per_row is None or not rates:
            return None
        return sum(rates) * self.cost_per_row

    def headroom(self, period: float) -> float:
        """The share of a period that is left for rows: load above it cannot be kept up with.

        Args:
            period: seconds from one batch to the next.
        """
        positive("period", period)
        return max(0.0, 1.0 - self.costs.fixed / period)

    def table(self) -> list[dict[str, object]]:
        """Plain rows, streams first, then operators, then queries; `of` says which."""
        return [
            *({"of": "stream", **asdict(stream)} for stream in self.streams.values()),
            *({"of": "operator", **asdict(operator)} for operator in self.operators.values()),
            *(
                {"of": "query", **asdict(each)}
                for name, query in self.queries.items()
                for each in (query, self.worst.get(name))
                if each is not None
            ),
        ]

    def to_json(self) -> dict[str, object]:
        """The same as plain values; what is infinite is None, since JSON has no word for it."""
        costs = {
            "fixed": self.costs.fixed,
            "deviation": self.costs.fixed_deviation,
            "noise": self.costs.noise,
            "batches": self.costs.batches,
            "per_row": self.cost_per_row,
        }
        rows = [{name: _plain(value) for name, value in row.items()} for row in self.table()]
        return {"batches": self.batches, "costs": costs, "load": self.load, "table": rows}

    def __str__(self) -> str:
        return render(self)


def _plain(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value
