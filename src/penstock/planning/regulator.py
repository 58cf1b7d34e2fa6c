"""Once a batch: what was measured ─► what the next batch may bring ─► what to drop, and where.

    statistics ─┐
    the batch ──┼─► controller ─► share of the work ─► planner ─► plan ─► limits ─► next batch
    the target ─┘

The controller says how much, the planner says where. Both count in seconds of work by the cost
model; how far that is off, the controller finds out by itself (`control.batches`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.control.admitted import Admitted
from penstock.control.batch import Batch
from penstock.control.batches import LONGEST, Q, SeamlessBatches
from penstock.control.prior import asking, taking
from penstock.control.snapshot import Snapshot
from penstock.drops.standing import Standing
from penstock.network.graph import Graph
from penstock.network.operators import depth
from penstock.network.settings import QuerySettings
from penstock.planning.assume import workload
from penstock.planning.at_entrance import Entrances
from penstock.planning.keeping import OVER, Moment
from penstock.planning.known import Known
from penstock.planning.limits import Limits, within
from penstock.planning.planner import plan
from penstock.planning.rates import Rates
from penstock.planning.reach import Came
from penstock.planning.result import Planned
from penstock.planning.taken import Filters, Work
from penstock.planning.trying import Keeping
from penstock.planning.workload import Workload

ENOUGH = 0.01
"""The relative error, exceeded by one answer in a hundred, that need not be made smaller."""

_BELIEVED = 6  # batches until it is known what the machine can do
_BEYOND = 2.0  # times the capacity: what is believed to take more alone is not tried
_LONG = 10  # batches in all of which a tolerance must be out of reach, for a query to be closed


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
        pace: seconds of work, by the cost model, that were done in a second of the last batch of
            which it is known what was dropped; None where that is what was planned.
        standings: of each query whose windows may be dropped, how it stands.
    """

    rows: Mapping[str, float]
    collected: float | None
    seconds: float
    overhead: float = 0.0
    response: float | None = None
    dropped: bool = True
    pace: float | None = None
    standings: Mapping[str, Standing] = field(default_factory=dict)

    @property
    def unknown(self) -> Came:
        """Its rows and those of the next batch: it is not known yet how far these go."""
        rows, period = sum(self.rows.values()), self.seconds + self.overhead
        if not self.collected:
            return Came(2 * rows, 2 * period)
        return Came(rows * (1 + period / self.collected), self.collected + period)


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
        filters: of the aggregates of streams whose rows are asked where they enter, what they ask.
        sampled: the same of streams all of whose rows are dropped by their number.
        last: the decision that is in force.
    """

    graph: Graph
    wants: Mapping[str, QuerySettings]
    target: float
    interval: float = 0.0
    limits: Limits = field(default_factory=Limits)
    folds: Sequence[Sequence[str]] = ()
    filters: Filters = field(default_factory=dict)
    sampled: Filters = field(default_factory=dict)
    last: Decision | None = None

    def __post_init__(self) -> None:
        pieces = any(one.answers == "subset" for one in self.wants.values())
        self._control = SeamlessBatches(
            self.target, interval=self.interval, longest=1.0 if pieces else LONGEST
        )
        self._keeping, self._entrances = Keeping(), Entrances(self.graph, self.sampled)
        self._rates = Rates()
        self._lasting: deque[float] = deque(maxlen=_LONG)
        self._steps = 0

    @property
    def headroom(self) -> float:
        """Seconds of work that a second of the clock does."""
        return self._control.headroom

    def step(self, ended: Ended, now: Snapshot) -> Decision:
        """What the next batch shall drop.

        Args:
            ended: the batch that is ending.
            now: the statistics.
        """
        self._rates.learn(ended.rows, ended.collected or ended.seconds)
        load = self._workload(now, self._rates.lately if ended.collected else None)
        batch = self._batch(ended, now, load)
        admitted = self._control.step(batch)
        if not admitted.good and self.last is not None:
            self.last = replace(self.last, admitted=admitted)  # the last plan that made sense
        elif ended.standings and self._is_serious(admitted, ended):
            fits = self._control.fits(batch)
            self.last = self._kept(admitted, ended, now, load, fits)
        elif self._waits(ended):
            self.last = Decision(admitted)
        elif admitted.sheds:
            capacity = max(admitted.share * load.total, 1e-9)
            self.last = self._planned(
                admitted,
                replace(load, capacity=capacity),
                lambda some: self._entrances.plan(some, plan),
            )
        else:
            self.last = Decision(admitted)
        return self.last

    def _planned(self, admitted: Admitted, load: Workload, how: Callable[..., Planned]) -> Decision:
        found, notes = within(self.limits, load, how)
        return Decision(admitted, found, (*found.notes, *notes))

    def _is_serious(self, admitted: Admitted, ended: Ended) -> bool:
        """Whether windows may have to go: by beliefs alone none does, while rows are in time."""
        self._steps += 1
        if self._keeping.dropped:
            return True
        return admitted.sheds and not self._waits(ended)

    def _waits(self, ended: Ended) -> bool:
        """Whether it is too early to give up windows, where there is nothing else to give up."""
        late = ended.response is None or ended.response > self.target
        only = all(one.answers == "subset" for one in self.wants.values())
        return bool(ended.standings) and only and not late and self._steps <= _BELIEVED

    def _kept(
        self, admitted: Admitted, ended: Ended, now: Snapshot, at_once: Workload, fits: float
    ) -> Decision:
        """A choice of queries; it lasts, so it goes by what lasts, and rows of several batches.

        After a batch that was far too long it goes by the clock: what those that are kept take by
        the cost model is more in truth, and only so much of it fits.
        """
        load = self._workload(now, self._rates.lasting)
        capacity = max(admitted.lasting * at_once.total, 1e-9)
        self._lasting.append(at_once.total / max(1.0, admitted.overload or 1.0))
        short = max(admitted.share * load.total, 1e-9)
        late = None if ended.response is None else ended.response / self.target
        timed = now.costs.batches > 0
        alone = self._alone(load, now, ended.standings)
        beyond = {name for name, work in alone.items() if work > _BEYOND * capacity}
        flows = {name for name, one in ended.standings.items() if one.flows}
        taken, adds = self._taken(load, now, ended.standings)
        self._keeping.look(
            late, list(alone), beyond=beyond, timed=timed, flows=flows, adds=adds, taken=taken
        )
        next_late = self._next_response(ended, now) / self.target
        closing = self._keeping.too_much(next_late, late=fits < 1)
        fits = 1.0 if closing else fits  # those that were there before are not to blame
        if fits < 1:
            capacity = max(min(capacity, fits * self._work_of_kept(load, now)), 1e-9)
        moment = Moment(
            capacity / short,
            max(self._lasting) / short,
            ended.standings,
            self._keeping.dropped,
            self._keeping.barred,
            pressed=self._keeping.pressed,
            settled=self._keeping.settled,
            trial=self._keeping.trial,
            filters=self.filters,
            fits=fits,
            asking=self._asking(now),
            closing=closing,
            proven=self._keeping.proven,
        )
        made = self._planned(
            admitted, replace(load, capacity=short), lambda some: plan(some, moment)
        )
        assert made.planned is not None  # noqa: S101 - it was planned
        found = made.planned.plan
        dropped = {name for drop in found.windows for name in drop.queries} | {*found.closed}
        # What is in time stays, be it that by the costs it is a little too much.
        in_time = late is not None and late <= 1
        over = made.planned.after > capacity * OVER and self._keeping.trial is None and not in_time
        self._keeping.note(frozenset(dropped & ended.standings.keys()), over=over, taken=taken)
        return made

    def _next_response(self, ended: Ended, now: Snapshot) -> float:
        """The response time of the next batch, if a row takes as long as in this one."""
        rows, period = sum(ended.rows.values()), ended.seconds + ended.overhead
        if not rows:
            return 0.0
        rate = sum(self._rates.lasting.values())
        fixed = min(now.costs.fixed / self.headroom, ended.seconds)
        takes = fixed + (ended.seconds - fixed) * rate * period / rows
        return Q * period + takes + ended.overhead

    def _taken(
        self, load: Workload, now: Snapshot, names: Iterable[str]
    ) -> tuple[float, dict[str, float]]:
        """Rows a second taken in for the queries that are kept, and with each of the others too."""
        of, gone = self._work(load, now), self._keeping.dropped
        number = {query.name: n for n, query in enumerate(load.queries)}
        kept = [n for name, n in number.items() if name not in gone]
        more = {name: of.rows([*kept, number[name]]) for name in names if name in gone}
        return of.rows(kept), more

    def _asking(self, now: Snapshot) -> dict[str, float]:
        """What takes in rows that are asked → what it costs to ask one."""
        costs = now.costs.per_row
        streams = [source.name for source in self.graph.sources]
        return {taking(name): costs[asking(name)] for name in streams if asking(name) in costs}

    def _work(self, load: Workload, now: Snapshot) -> Work:
        return Work(load, filters=self.filters, asking=self._asking(now))

    def _work_of_kept(self, load: Workload, now: Snapshot) -> float:
        """The work of all queries but those whose windows are dropped."""
        gone = self._keeping.dropped
        kept = [n for n, query in enumerate(load.queries) if query.name not in gone]
        return float(load.work[load.streams].sum()) + self._work(load, now).of(kept)

    def _alone(self, load: Workload, now: Snapshot, names: Iterable[str]) -> dict[str, float]:
        """Queries and the work that each takes alone, the least for its weight first."""
        of = self._work(load, now)
        number = {query.name: n for n, query in enumerate(load.queries)}
        work = {name: of.of([number[name]]) for name in names}
        by = of.cheapest(number[name] for name in work)
        return {load.queries[n].name: work[load.queries[n].name] for n in by}

    def _workload(self, now: Snapshot, rates: Mapping[str, float] | None) -> Workload:
        known = Known.of(now, groups="all")
        if rates is not None:
            known = known.at(rates)
        exact = {n: of for n, of in self.graph.queries.items() if n not in self.wants}
        never = Known(hardness=dict.fromkeys(exact, float("inf")))
        # Of rows, a sample would be an answer: they are held by a gap that no sample can promise.
        rows = {
            n: QuerySettings(n, 1.0, "subset", 1, {}) for n, of in exact.items() if not depth(of)
        }
        wants = {**self.wants, **rows}
        # Rows that are asked where they enter are there for those that want them, also in a fold.
        folds = [one for one in self.folds if not all(name in self.filters for name in one)]
        found, _ = workload(self.graph, known.but(never), wants, folds=folds, errors="quantile")
        return replace(found, enough=min(ENOUGH, self.limits.max_error or ENOUGH))

    def _batch(self, ended: Ended, now: Snapshot, load: Workload) -> Batch:
        rows = sum(ended.rows.values())
        rate = float(load.rows_in[load.streams].sum())
        cost = load.total / rate if rate else 0.0
        reading = float(load.work[load.streams].sum()) / rate if rate else 0.0
        share = 1.0
        if ended.dropped and self.last is not None and self.last.planned is not None:
            share = self.last.planned.after / self.last.planned.before
        nominal = now.costs.fixed + rows * cost * share
        if ended.pace is not None:
            nominal = ended.pace * ended.seconds
        lately = sum(self._rates.lately.values())
        return Batch(
            rows=rows,
            # Rows may come in lumps: what counts is how many come in the long run.
            collected=rows / lately if ended.collected and lately else ended.collected,
            seconds=ended.seconds,
            nominal=nominal,
            fixed=now.costs.fixed,
            cost=cost,
            dropped=reading,
            overhead=ended.overhead,
            response=ended.response,
            whole=ended.pace is None and share == 1.0,
        )
