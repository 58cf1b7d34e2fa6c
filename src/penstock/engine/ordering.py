"""Decisions become orders: for each place of a part where rows may go, which of them stay.

plan ─────┐
decisions ┼─► orders of a batch: streams, folds, windows that are not delivered
sizes ────┘   and what was in force while windows were open
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from penstock.control.prior import taking
from penstock.drops.arrays import Flags, early
from penstock.drops.decisions import Decisions
from penstock.drops.floors import cut as cut_of
from penstock.drops.floors import thresholds
from penstock.drops.group_orders import group_order
from penstock.drops.in_force import Span, noted
from penstock.drops.kinds import FLOORED, PER_GROUP, Approximate, Subset, is_per_group, is_sampled
from penstock.drops.linear import length_of, reach_back
from penstock.drops.nested import droppable_below
from penstock.drops.orders import (
    ALL_STAY,
    EVER,
    NOTHING,
    Order,
    Orders,
    at_random,
    before,
    by_window,
    suppress_all,
    undelivered,
)
from penstock.drops.plan import Arc, Plan, RandomDrop, WindowDrop
from penstock.drops.targets import Target
from penstock.engine.part import Part
from penstock.engine.shed_record import Mode, Record
from penstock.errors import UsageError, complaint, did_you_mean
from penstock.network.operators import (
    Aggregate,
    Operator,
    Source,
    base,
    feeds,
    inputs,
    upstream,
)
from penstock.windows import window_bounds


@dataclass(frozen=True)
class Ordering:
    """Makes orders for a part of a network.

    Args:
        part: what runs.
    """

    part: Part

    # What follows from the part alone is asked for in every batch, and looked up once.

    @cached_property
    def targets(self) -> dict[str, Target]:
        """The queries whose windows may be dropped."""
        kinds = self.part.kinds
        return {n: one for n, one in self.skippable.items() if isinstance(kinds[n], Subset)}

    @cached_property
    def skippable(self) -> dict[str, Target]:
        """The queries that may lose rows; of approximate ones a window is only lost by a jump."""
        found = {}
        for name, node in self.part.graph.queries.items():
            kind = self.part.kinds.get(name)
            if kind is not None and isinstance(node, Aggregate):
                gap = kind.max_gap if isinstance(kind, Subset) else 0
                per_group, reach = is_per_group(kind), reach_back(node)
                found[name] = Target(name, node.query.spec, gap, per_group, reach)
        return found

    def by_hand(self, keep: float | Mapping[str, float], drop: float | Mapping[str, float]) -> Plan:
        """A plan of what a user says.

        Args:
            keep: the share of rows to keep, of all approximate queries or of each by name.
            drop: the share of windows to drop, of all subset queries or of each by name.
        """
        graph = self.part.graph
        mine = {n: k for n, k in self.part.kinds.items() if n in graph.queries}
        approximate = [n for n, k in mine.items() if isinstance(k, Approximate)]
        keeps = _by_name(keep, approximate, "keep")
        drops = _by_name(drop, list(self.targets), "drop")
        random, windows = [], []
        for name, share in keeps.items():
            if share < 1:
                random.append(RandomDrop(self._arc(name), share))
        for name, share in drops.items():
            spec = self.targets[name].window
            length, gap = spec.range or spec.period or spec.slide, self.targets[name].max_gap
            if share > 0:
                arc = self._arc(name)
                windows.append(WindowDrop(arc, length, spec.slide, share, gap, (name,)))
        return Plan(tuple(random), tuple(windows))

    def _arc(self, name: str) -> Arc:
        node = self.part.graph.queries[name]
        return Arc(self.part.graph.names[inputs(node)[0]], name)

    def keep(self, aggregate: Aggregate, plan: Plan) -> float:
        """The share of rows that the least thinned query of an aggregate keeps."""
        shares = []
        for name in self.part.graph.users[aggregate]:
            path = self._paths[name]
            on = [d.keep for d in plan.random if d.arc.after in path and d.arc.before in path]
            shares.append(min(on, default=1.0))
        return max(shares)

    @cached_property
    def _paths(self) -> dict[str, set[str]]:
        """Query → the names of all that its rows pass."""
        graph, found = self.part.graph, {}
        for name, node in graph.queries.items():
            path = {name, *(graph.names[one] for one in upstream(node))}
            path |= {taking(one.name) for one in upstream(node) if isinstance(one, Source)}
            found[name] = path
        return found

    def orders(
        self,
        batch: int,
        plan: Plan,
        mode: Mode,
        known: Record,
        *,
        mark: int | None,
        seen: int | None,
    ) -> Orders:
        """All that a batch is told.

        Args:
            batch: its id.
            plan: what to drop at random.
            mode: whether rows are dropped, or only counted as if, or neither.
            known: what has been decided, and what that goes by.
            mark: windows that end by this time are over, in microseconds; None if it is not known.
            seen: the newest time that was seen, in microseconds, if any.
        """
        made = self._made(batch, plan, mode, known)
        return replace(made, in_force=self._in_force(made, known, mark, seen))

    def _made(self, batch: int, plan: Plan, mode: Mode, known: Record) -> Orders:
        shared, number = self.part.shared, self.part.shared.number
        if known.lost is not None:
            assert shared.places is not None  # noqa: S101 - rows may be dropped
            return suppress_all(batch, *shared.places)
        if mode == "off":
            plan = Plan()
        needs = self._droppable(known.would or known.decisions)

        def flags_of(those: list[Target]) -> Flags:
            return early(needs, those) if those else NOTHING

        folds: list[Order] = []
        floors: list[tuple[int, ...]] = []
        for fold in shared.folds:
            if is_sampled(fold.kind):
                keep = max(self.keep(a, plan) for a in fold.aggregates)
                order = at_random(keep, min(self._since(a, known) for a in fold.aggregates))
                if fold.kind == FLOORED:
                    shares = self._shares(fold.aggregates[0], keep, known)
                    floors.append(shares)
                    order = replace(order, below=max(shares, default=order.below))
                folds.append(order)
            elif fold.kind != "exact":
                folds.append(by_window(flags_of(self._level_one(fold.aggregates))))
            else:
                folds.append(ALL_STAY)
        streams = []
        for source in shared.rows:
            mine = [i for i, fold in enumerate(shared.folds) if _stands_on(fold.feeds, source)]
            by_windows = [
                a
                for i in mine
                if shared.folds[i].kind in ("subset", PER_GROUP)
                for a in shared.folds[i].aggregates
            ]
            streams.append(before([folds[i] for i in mine], flags_of(self._level_one(by_windows))))
        asked = tuple(
            tuple(
                before(
                    [folds[i] for i in one.folds],
                    flags_of(self._level_one([a for a in one.aggregates if self._by_window(a)])),
                )
                for one in self.part.asked[source]
            )
            for source in shared.rows
        )
        windows = [NOTHING] * (len(shared.aggregates) + 1)
        for name, target in self.skippable.items():
            node = self.part.graph.queries[name]
            assert isinstance(node, Aggregate)  # noqa: S101 - it is a target
            windows[number[node]] = undelivered(known.decisions, target)
        wanted, names = known.would or known.decisions, self.part.graph.users
        groups = (
            group_order(self.skippable[names[fold.aggregates[0]][0]], wanted, known.decisions)
            for fold in shared.folds
            if fold.kind == PER_GROUP
        )
        places = tuple(streams), tuple(folds), tuple(windows)
        made = Orders(batch, *places, groups=tuple(groups), floors=tuple(floors), asked=asked)
        return replace(made, counts_only=mode == "monitor", large=known.large)

    def _in_force(
        self, orders: Orders, known: Record, mark: int | None, seen: int | None
    ) -> tuple[tuple[Span, ...], ...]:
        """Which windows may have lost rows at random by the end of the batch."""
        if known.lost is not None:
            return known.in_force  # nothing is dropped, and no window that is open is delivered
        shared, newest = self.part.shared, known.newest
        if newest is not None and any(source.progress is not None for source in shared.rows):
            newest = max(newest, seen or newest)  # what rows promise says little of the newest
        before = known.in_force or ((),) * (len(shared.aggregates) + 1)
        found: list[tuple[Span, ...]] = [()] * len(before)
        for one, folds in self._sampled.items():
            number = shared.number[one]
            keep, cut = self._kept(orders, folds)
            found[number] = noted(
                before[number],
                batch=orders.batch,
                keep=1.0 if orders.counts_only else keep,
                cut=cut,
                mark=mark,
                # Of windows over windows, those below began earlier.
                newest=None if newest is None else newest + reach_back(one),
                length=length_of(one),
            )
        return tuple(found)

    def _kept(self, orders: Orders, folds: list[int]) -> tuple[float, int | None]:
        """The least share that is kept, and the buckets of groups that keep less than all."""
        shared = self.part.shared
        if len(folds) == 1 and shared.folds[folds[0]].kind == FLOORED:
            place = [i for i, fold in enumerate(shared.folds) if fold.kind == FLOORED]
            some = orders.floors[place.index(folds[0])]
            if some:
                return cut_of(some)
        return min(orders.folds[i].keep for i in folds), None

    @cached_property
    def _sampled(self) -> dict[Aggregate, list[int]]:
        """Aggregates whose rows are dropped at random → the folds that these go through."""
        shared, kinds = self.part.shared, self.part.kinds_of_rows
        found = {}
        for one in shared.aggregates:
            if is_sampled(kinds.get(one, "")):
                below = set(upstream(one))
                folds = enumerate(shared.folds)
                found[one] = [i for i, fold in folds if below & set(fold.aggregates)]
        return found

    def _shares(self, aggregate: Aggregate, keep: float, known: Record) -> tuple[int, ...]:
        """The thresholds of the buckets of a query's groups."""
        name = self.part.graph.users[aggregate][0]
        kind = self.part.kinds[name]
        assert isinstance(kind, Approximate)  # noqa: S101 - it has a floor
        return thresholds(known.sizes.get(name, {}), keep, kind.floor or 1)

    def _since(self, aggregate: Aggregate, known: Record) -> int:
        """The time from which on rows of an aggregate count, after a jump."""
        times = []
        for name in self.part.graph.users[aggregate]:
            target = self.skippable.get(name)
            skipped = [run.last for run in known.decisions.runs(name) if run.skipped]
            if target is None or not skipped:
                return EVER
            begins = window_bounds(max(skipped) + 1, target.window)[0]
            times.append(EVER if begins is None else begins - target.reach)
        return min(times, default=EVER)

    def _droppable(self, state: Decisions) -> Decisions:
        """The decisions, with those of aggregates below that follow from those above."""
        graph = self.part.graph
        label = graph.names
        found = {label[graph.queries[name]]: state.runs(name) for name in self.skippable}
        for aggregate in reversed(self.part.aggregates):  # those above first
            above = self._above[aggregate]
            if above:
                uppers = [(a.query.spec, found.get(label[a], ())) for a in above]
                asked = aggregate in graph.queries.values()
                own = found.get(label[aggregate], ()) if asked else None
                found[label[aggregate]] = droppable_below(aggregate.query.spec, uppers, own)
        return replace(state, dropped=found)

    @cached_property
    def _above(self) -> dict[Aggregate, list[Aggregate]]:
        """Aggregate → those that its answers are windowed by again."""
        aggregates = self.part.aggregates
        return {
            one: [a for a in aggregates if any(base(feed) == one for feed in feeds(a.input))]
            for one in aggregates
        }

    def _by_window(self, aggregate: Aggregate) -> bool:
        return self.part.kinds_of_rows.get(aggregate) == "subset"

    def needed(self, state: Decisions) -> dict[Aggregate, Flags]:
        """Of each aggregate over a stream whose windows may be dropped, what need not come to it.

        Args:
            state: the decisions.
        """
        ones = [a for a in self.part.level_one if self._by_window(a)]
        droppable = self._droppable(state) if ones else state
        return {a: early(droppable, self._level_one([a])) for a in ones}

    def _level_one(self, aggregates: list[Aggregate]) -> list[Target]:
        return [self._targets_at_level_one[a] for a in aggregates]

    @cached_property
    def _targets_at_level_one(self) -> dict[Aggregate, Target]:
        names = self.part.graph.names
        return {a: Target(names[a], a.query.spec, 0) for a in self.part.level_one}


def _stands_on(feeding: tuple[Operator, ...], source: Source) -> bool:
    return any(base(feed) == source for feed in feeding)


def _by_name(
    given: float | Mapping[str, float], names: list[str], what: str
) -> Mapping[str, float]:
    if not isinstance(given, Mapping):
        return dict.fromkeys(names, given)
    for name in given:
        if name not in names:
            kind = "approximate" if what == "keep" else "subset"
            rule = f"must name queries with {kind} answers"
            raise UsageError(complaint(what, rule, name, did_you_mean(name, names)))
    return given
