"""What the boxes with windows of a node cost: as its file says, until batches have told more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from penstock.control.costs import CostModel, Costs
from penstock.control.prior import Prior
from penstock.control.settings import Warmup
from penstock.control.snapshot import OperatorStatistics, Snapshot, StreamStatistics
from penstock.control.status import Status
from penstock.engine.fleet.bearing import SAID
from penstock.engine.network_run import NetworkRun, RunningPart
from penstock.fleet.pipeline import Pipeline
from penstock.fleet.turns import MOST, busy
from penstock.network.operators import Operator, Source, inputs

_LEAST, _BATCH = 1e-7, 1.2
"""Seconds that a row takes at least, and that a batch is believed to take without rows."""


def believe(pipeline: Pipeline, part: RunningPart) -> None:
    """Begins with the costs that the file says; there is no calibration.

    That would take a hundred thousand rows to the boxes, beside the stream: of a box whose rows
    take milliseconds, that is minutes in which the node does nothing else.

    Args:
        pipeline: what the file says.
        part: a stream of the node, which has just been started.
    """
    if part.rehearsal is not None:
        part.rehearsal.cancel()
    if part.measure is None:
        return
    prior, now = part.measure.prior, part.measure.statistics.now
    said = [pipeline.network.box[name].cost for name in part.queries]
    kinds = [_cost(part, now, name) for name in part.queries]
    if min(said) > 0 and min(kinds) > 0:
        times = sum(said) / sum(kinds)
        costs = {name: times * cost for name, cost in prior.costs.items()}
        part.measure.believe(replace(prior, costs=costs, spread=SAID))


def _cost(part: RunningPart, seen: Snapshot, name: str) -> float:
    """Seconds for a row of a query's stream that is not dropped, by the operators on its way."""
    assert part.part is not None  # noqa: S101 - it is measured
    graph = part.part.graph

    def passed(one: Operator) -> float:
        if isinstance(one, Source):
            return 1.0  # what is dropped there is no less work for a row that is not
        return seen.operators[graph.names[one]].selectivity or 1.0

    reach: dict[Operator, float] = {}
    total = 0.0
    needed = {graph.queries[name]}
    for one in reversed(graph.operators):
        if one in needed:
            needed.update(inputs(one))
    for one in graph.operators:
        if one not in needed:
            continue
        known = seen.operators[graph.names[one]]
        fed = inputs(one)
        reach[one] = 1.0
        if fed:
            reach[one] = sum(reach[i] * passed(i) for i in fed)
        total += reach[one] * known.cost
    return total


@dataclass
class Together:
    """What is learnt of several streams that take turns on the cores of one node.

        stream 0   ├─── batch ───┤├───── batch ─────┤
        stream 1      ├────── batch ──────┤├──── batch ────┤
        rounds     │←──────── one ───────→│←──── another ──→│

    A batch waits for those of the other streams, and how long it takes says little of its own
    rows. What all of them did in the time in which any was busy says it: that is an observation.

    Args:
        pipeline: what the file says.
        boxes: of each stream, the boxes that answer in it.
        warmup: batches that nothing is learnt from.
    """

    pipeline: Pipeline
    boxes: tuple[tuple[str, ...], ...]
    warmup: Warmup = field(default_factory=Warmup)
    _ends: dict[int, float] = field(default_factory=dict)
    _new: list[tuple[int, Status]] = field(default_factory=list)
    _first: float | None = None
    _cut: float = 0.0
    _rounds: int = 0

    def __post_init__(self) -> None:
        costs = {box: self.pipeline.network.box[box].cost for some in self.boxes for box in some}
        believed = {box: max(cost, _LEAST) for box, cost in costs.items()}
        # A batch of each stream is the fixed cost of a round, which beliefs hold most loosely.
        self._model = CostModel(Prior(_BATCH * len(self.boxes), believed, SAID), steady=True)

    def take(self, streams: Iterable[Iterable[Status]]) -> None:
        """Learns from what is new.

        Args:
            streams: the statuses of each, oldest first.
        """
        for place, statuses in enumerate(streams):
            for status in statuses:
                if status.at > self._ends.get(place, 0.0):
                    self._ends[place] = status.at
                    self._new.append((place, status))
        told = [place for place, _ in self._new]
        if told and (len(set(told)) == len(self.boxes) or max(map(told.count, told)) >= MOST):
            self._round()

    def _round(self) -> None:
        spans = [(one.at - one.seconds, one.at) for _, one in self._new]
        began, ended = min(begin for begin, _ in spans), max(end for _, end in spans)
        if self._first is None:
            self._first = began
        since = max(began, self._cut)
        seconds = busy([(max(begin, since), end) for begin, end in spans if end > since])
        if self.warmup.over(since - self._first, self._rounds):
            # As if each stream had had one batch: one may have had several, or none.
            each = len(self.boxes) / len(self._new)
            counts = dict.fromkeys(self._model.prior.costs, 0.0)
            for _, status in self._new:
                for query in status.queries:
                    counts[query.name] += each * query.taken
            self._model.observe(counts, each * seconds)
        self._rounds, self._cut, self._new = self._rounds + 1, ended, []

    @property
    def costs(self) -> Costs:
        """Of boxes; the fixed one is that of a batch of each stream."""
        return self._model.costs


def snapshot_of(run: NetworkRun, together: Together) -> Snapshot:
    """What the streams of a node have learnt, with an operator for each box.

    Args:
        run: the streams.
        together: learns from them.
    """
    controls = [part.control for part in run.parts if part.control is not None]
    together.take([list(control.chronicle.statuses) for control in controls])
    costs = together.costs
    streams: dict[str, StreamStatistics] = {}
    for control in controls:
        streams |= control.measure.statistics.now.streams
    # What their rows bring about is the weight of an output, and its file says that: nobody
    # measures a selectivity.
    boxes: Mapping[str, OperatorStatistics] = {
        name: OperatorStatistics(name, "box", 0.0, 0.0, None, cost, 0.0, None)
        for name, cost in costs.per_row.items()
    }
    return Snapshot(costs.batches, costs, boxes, streams, {}, {}, {}, None)
