"""The statistics manager: what each batch tells, smoothed, is what planners and controllers know.

What is counted (rows, selectivities, moments) is true from the first row. What is timed is not,
while the engine warms up: its first batches run code that is not yet compiled, on rows that have
been waiting for it to start. Rates are left out until then; costs are learnt from all batches but
the first few, and those before the end of the warm-up count the less the earlier they were.

Babcock, Datar and Motwani, "Load Shedding for Aggregation Queries over Data Streams", ICDE 2004,
§2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.control.checks import frozen, known
from penstock.control.costs import CostModel, Costs
from penstock.control.observation import Observation
from penstock.control.prior import Prior, default_prior
from penstock.control.records import OperatorRecord, QueryRecord, StreamRecord
from penstock.control.settings import Memory, Warmup
from penstock.control.snapshot import (
    OperatorStatistics,
    QueryStatistics,
    Snapshot,
    StreamStatistics,
)
from penstock.errors import SpecificationError, complaint


class Statistics:
    """Learns from each batch; `now` is what is known, to be read from any thread.

    Args:
        operators: of each operator its kind, such as "filter".
        streams: their names.
        queries: their names.
        prior: what the operators are believed to cost; by their kinds if None.
        warmup: which batches are not timed.
        memory: how fast the past is forgotten.

    >>> from penstock.control import Flow
    >>> found = Statistics({"web": "filter"}, ["packets"])
    >>> through = {"web": Flow(rows_in=1000, rows_out=250)}
    >>> batch = Observation(batch=0, seconds=0.5, at=0.5, rows={"packets": 1000}, operators=through)
    >>> found.observe(batch).operators["web"].selectivity
    0.25
    """

    def __init__(
        self,
        operators: Mapping[str, str],
        streams: Iterable[str],
        queries: Iterable[str] = (),
        *,
        prior: Prior | None = None,
        warmup: Warmup | None = None,
        memory: Memory | None = None,
    ) -> None:
        prior = prior or default_prior(operators)
        if set(prior.costs) != set(operators):
            rule = "must name each operator, and no other"
            raise SpecificationError(complaint("prior", rule, sorted(prior.costs)))
        memory = memory or Memory()
        self._warmup = warmup or Warmup()
        self._model = CostModel(prior, memory.costs)
        self._operators = {
            name: OperatorRecord(name, kind, memory.data) for name, kind in operators.items()
        }
        self._streams = {name: StreamRecord(name, memory.rates, memory.data) for name in streams}
        self._queries = {name: QueryRecord(name, memory.data, memory.groups) for name in queries}
        self._seen = 0
        self._first = 0.0
        self._last: Observation | None = None
        self.now: Snapshot = self._snapshot()

    def observe(self, observation: Observation) -> Snapshot:
        """Learns from a batch; one that has been learnt from already, and is replayed, is ignored.

        Args:
            observation: the batch, in the order of their ids.
        """
        known("operator", observation.operators, self._operators)
        known("stream", [*observation.rows, *observation.backlog], self._streams)
        known("query", observation.queries, self._queries)
        last = self._last
        if last is not None and observation.batch <= last.batch:
            return self.now
        began = observation.at - observation.seconds
        if last is None:
            self._first = began
        self._count(observation)
        self._time(observation, last, self._warmup.warm(began - self._first, self._seen))
        for name, rows in observation.backlog.items():
            self._streams[name].waits(rows)
        self._seen += 1
        self._last = observation
        self.now = self._snapshot()
        return self.now

    @property
    def prior(self) -> Prior:
        """What operators are believed to cost."""
        return self._model.prior

    def believe(self, prior: Prior) -> Snapshot:
        """Takes another belief, as from a calibration; what was learnt of batches stays.

        Args:
            prior: of the same operators.
        """
        self._model.believe(prior)
        self.now = self._snapshot()
        return self.now

    def _count(self, observation: Observation) -> None:
        """What is true whatever the clock says."""
        # Means per batch are over batches that bring rows: the others are there to close windows.
        brings = any(observation.rows.values())
        for name, rows in observation.rows.items():
            self._streams[name].count(rows, brings=brings)
        for name, flow in observation.operators.items():
            self._operators[name].count(flow, brings=brings)
        for name, answers in observation.queries.items():
            self._queries[name].count(answers)

    def _time(self, observation: Observation, last: Observation | None, warm: float) -> None:
        """What depends on how fast the engine is."""
        if warm < 1:
            if self._seen >= self._warmup.batches:
                self._learn(observation, warm)
            return
        period = observation.period
        if period is None and last is not None:
            period = observation.at - last.at
        if period is not None and period > 0:
            for name, rows in observation.rows.items():
                waited = last.backlog.get(name) if last is not None else None
                self._streams[name].time(rows, period, waited, observation.backlog.get(name))
        self._learn(observation, warm)

    def _learn(self, observation: Observation, warm: float) -> None:
        """What operators cost; of a batch of which it is not known what it did, nothing."""
        if observation.operators.keys() == self._operators.keys():
            rows_in = {name: flow.rows_in for name, flow in observation.operators.items()}
            self._model.observe(rows_in, observation.seconds, warm=warm)

    def _snapshot(self) -> Snapshot:
        costs = self._model.costs
        spent = {
            name: costs.per_row[name] * record.rows_per_batch
            for name, record in self._operators.items()
        }
        batch = costs.fixed + sum(spent.values())
        taken = sum(stream.rows_per_batch for stream in self._streams.values())
        worst = {name: record.worst() for name, record in self._queries.items()}
        return Snapshot(
            batches=self._seen,
            costs=costs,
            operators=frozen(
                {
                    name: record.known(costs, spent[name] / batch if batch else None)
                    for name, record in self._operators.items()
                }
            ),
            streams=frozen({name: record.known() for name, record in self._streams.items()}),
            queries=frozen({name: record.known() for name, record in self._queries.items()}),
            worst=frozen({name: group for name, group in worst.items() if group is not None}),
            groups=frozen({name: record.groups for name, record in self._queries.items()}),
            cost_per_row=sum(spent.values()) / taken if taken else None,
        )

    # What a snapshot says, of the newest one.

    @property
    def costs(self) -> Costs:
        """The cost model."""
        return self.now.costs

    @property
    def operators(self) -> Mapping[str, OperatorStatistics]:
        """By name."""
        return self.now.operators

    @property
    def streams(self) -> Mapping[str, StreamStatistics]:
        """By name."""
        return self.now.streams

    @property
    def queries(self) -> Mapping[str, QueryStatistics]:
        """By name."""
        return self.now.queries

    def predict(self, rows_in: Mapping[str, float]) -> float:
        """Seconds that a batch will take, by the rows that each operator takes in."""
        return self.now.predict(rows_in)

    def table(self) -> list[dict[str, object]]:
        """Plain rows: see `Snapshot.table`."""
        return self.now.table()

    def to_json(self) -> dict[str, object]:
        """Plain values: see `Snapshot.to_json`."""
        return self.now.to_json()

    def __str__(self) -> str:
        return str(self.now)
