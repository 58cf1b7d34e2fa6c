"""Once a batch: what was measured ─► what the next batch may bring ─► what to drop, and where.

    statistics ─┐
    the batch ──┼─► controller ─► share of the work ─► planner ─► plan ─► limits ─► next batch
    the target ─┘

The controller says how much, the planner says where. Both count in seconds of work by the cost
model; how far that is off, the controller finds out by itself (`control.batches`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.control.admitted import Admitted
from penstock.control.batch import Batch
from penstock.control.batches import SeamlessBatches
from penstock.control.snapshot import Snapshot
from penstock.network.graph import Graph
from penstock.network.operators import depth
from penstock.network.settings import QuerySettings
from penstock.planning.assume import workload
from penstock.planning.known import Known
from penstock.planning.limits import Limits, within
from penstock.planning.planner import plan
from penstock.planning.result import Planned
from penstock.planning.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A batch whose answers are out, when the next one is decided about.

    Args:
        rows: of each stream, before anything was dropped.
        collected: seconds in which they arrived; None if nobody knows.
        seconds: since it began.
        overhead: seconds until the next one begins.
        response: the 95th percentile of its response times, in seconds; None if nobody knows.
        dropped: whether what had been planned for it was dropped, and not only counted.
        share: of the work of its rows, what was left of it; None if that is what was planned.
    """

    rows: Mapping[str, float]
    collected: float | None
    seconds: float
    overhead: float = 0.0
    response: float | None = None
    dropped: bool = True
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What the next batch shall drop.

    Args:
        admitted: how much it may bring, and why.
        planned: where that is dropped; None if nothing is.
        notes: what could not be met.
    """

    admitted: Admitted
    planned: Planned | None = None
    notes: tuple[str, ...] = ()


@dataclass
class Regulator:
    """Holds the response time of a network at its target.

    Args:
        graph: the network.
        wants: query → what may become of its answers; those that are not named stay exact.
        target: for the 95th percentile of response times, in seconds.
        interval: of the trigger, in seconds; 0 if batches follow each other at once.
        limits: what answers may suffer, and what wins if that is not enough.
        folds: the names of aggregates that are computed together, and so keep the same rows.
        last: the decision that is in force.
    """

    graph: Graph
    wants: Mapping[str, QuerySettings]
    target: float
    interval: float = 0.0
    limits: Limits = field(default_factory=Limits)
    folds: Sequence[Sequence[str]] = ()
    last: Decision | None = None

    def __post_init__(self) -> None:
        self._control = SeamlessBatches(self.target, interval=self.interval)

    def step(self, ended: Ended, now: Snapshot) -> Decision:
        """What the next batch shall drop.

        Args:
            ended: the batch that is ending.
            now: the statistics.
        """
        load = self._workload(ended, now)
        batch = self._batch(ended, now, load)
        admitted = self._control.step(batch)
        if not admitted.good and self.last is not None:
            self.last = replace(self.last, admitted=admitted)  # the last plan that made sense
        elif admitted.sheds:
            capacity = max(admitted.share * load.total, 1e-9)
            self.last = self._planned(admitted, replace(load, capacity=capacity))
        else:
            self.last = Decision(admitted)
        return self.last

    def _planned(self, admitted: Admitted, load: Workload) -> Decision:
        found, notes = within(self.limits, load, plan)
        return Decision(admitted, found, (*found.notes, *notes))

    def _workload(self, ended: Ended, now: Snapshot) -> Workload:
        known = Known.of(now, groups="all")
        if ended.collected:
            known = known.at({name: rows / ended.collected for name, rows in ended.rows.items()})
        exact = {n: of for n, of in self.graph.queries.items() if n not in self.wants}
        never = Known(hardness=dict.fromkeys(exact, float("inf")))
        # Of rows, a sample would be an answer: they are held by a gap that no sample can promise.
        rows = {
            n: QuerySettings(n, 1.0, "subset", 1, {}) for n, of in exact.items() if not depth(of)
        }
        wants = {**self.wants, **rows}
        found, _ = workload(
            self.graph, known.but(never), wants, folds=self.folds, errors="quantile"
        )
        return found

    def _batch(self, ended: Ended, now: Snapshot, load: Workload) -> Batch:
        rows = sum(ended.rows.values())
        rate = float(load.rows_in[load.streams].sum())
        cost = load.total / rate if rate else 0.0
        reading = float(load.work[load.streams].sum()) / rate if rate else 0.0
        share = 1.0
        if ended.dropped and self.last is not None and self.last.planned is not None:
            share = self.last.planned.after / self.last.planned.before
        if ended.share is not None:
            share = ended.share
        return Batch(
            rows=rows,
            collected=ended.collected,
            seconds=ended.seconds,
            nominal=now.costs.fixed + rows * cost * share,
            fixed=now.costs.fixed,
            cost=cost,
            dropped=reading,
            overhead=ended.overhead,
            response=ended.response,
        )
