"""Before each batch it is written down what the batch shall drop; the batch reads it, and no more.

    batch N ─► answers ─► sink ─► plan, decisions, orders ─► commit ─► batch N + 1
                                  of batch N + 1: penstock/plans/N+1

A record is written once and kept, so a batch that is run again does what it did the first time.
What is decided next follows from that record and from Spark's offsets alone, and not from what this
process has seen: after a crash the stream goes on as if there had been none.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from penstock.control.prior import taking
from penstock.drops.advance import advance
from penstock.drops.arrays import Flags, early
from penstock.drops.decisions import Decisions
from penstock.drops.floors import Buckets, from_json, thresholds, to_json
from penstock.drops.group_orders import group_order
from penstock.drops.in_force import Span, noted
from penstock.drops.kinds import FLOORED, PER_GROUP, Approximate, Subset, is_per_group, is_sampled
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
from penstock.drops.sealed import seal, unseal
from penstock.drops.skip import skip
from penstock.drops.targets import Target
from penstock.drops.upstream import both, missing
from penstock.engine.backlog import rows_of_batch
from penstock.engine.files import Folder
from penstock.engine.orders import FOLDER, KIND, VERSION, orders_of
from penstock.engine.part import Part
from penstock.engine.schema import own_watermark
from penstock.engine.tally import ONE_IN
from penstock.engine.watermark import watermark_in
from penstock.errors import RecordDamaged, UsageError, complaint, did_you_mean
from penstock.network.operators import Aggregate, Source, base, depth, feeds, inputs, upstream
from penstock.windows import window_bounds

_log = logging.getLogger(__name__)

Mode = Literal["off", "monitor", "on"]
MODES: tuple[Mode, ...] = ("off", "monitor", "on")

_KEPT = 100
"""Records that are kept."""

LARGE = 200 * ONE_IN
"""Rows of a batch, from which on enough are in the sample to tell how far the stream is."""

_AHEAD = 4
"""Windows are decided so many times as far ahead as a batch has gone."""


@dataclass(frozen=True, slots=True)
class _Record:
    """What decisions go on from.

    Args:
        decisions: for the batch.
        would: what would have been decided, where rows are only counted.
        newest: how far the stream was, in microseconds.
        span: how far a batch goes, in microseconds.
        lost: the batch from which on it is not known what was dropped before; None as a rule.
        sizes: of queries with a floor, what their groups had in the last windows.
        large: whether it was expected to be a large batch.
        in_force: of each aggregate, which windows may have lost rows at random.
    """

    decisions: Decisions = field(default_factory=Decisions)
    would: Decisions | None = None
    newest: int | None = None
    span: int = 0
    lost: int | None = None
    sizes: Mapping[str, Buckets] = field(default_factory=dict)
    large: bool = False
    in_force: tuple[tuple[Span, ...], ...] = ()


@dataclass
class Shedder:
    """What is dropped of a part of a network, from batch to batch.

    Args:
        part: what runs.
        checkpoint: its checkpointLocation.
        plan: what to drop, from the next batch on.
        mode: whether rows are dropped, or only counted as if, or neither.
        seed: of all coins.
        dropping: batch that may drop rows → of each stream, whether rows are dropped there.
        floor: what is dropped at least, whatever else is asked; as a plan of many nodes wants it.
        upstream: the windows that nodes upstream have dropped, by query; None if there are none.
    """

    part: Part
    checkpoint: str
    plan: Plan = field(default_factory=Plan)
    mode: Mode = "on"
    seed: int = 0
    state: Decisions = field(default_factory=Decisions)
    problems: list[str] = field(default_factory=list)
    dropping: dict[int, tuple[bool, ...]] = field(default_factory=dict)
    floor: Plan = field(default_factory=Plan)
    upstream: Callable[[], Mapping[str, Iterable[tuple[int, int]]]] | None = None
    _would: Decisions | None = None
    _newest: int | None = None
    _span: int = 0
    _skip: int | None = None
    _lost: int | None = None
    _large: bool = False
    _sizes: dict[str, Buckets] = field(default_factory=dict)
    _in_force: tuple[tuple[Span, ...], ...] = ()
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def _folder(self) -> Folder:
        return Folder(self.checkpoint, FOLDER)

    def _check_identity(self) -> None:
        """Without an identity equal rows have one random number, and bounds do not hold."""
        for source in self.part.shared.rows:
            if not source.identity and self.part.shared.approximates:
                self._tell(
                    f"stream {source.name} does not say what tells its rows apart: equal rows are "
                    "dropped together, and bounds may be too narrow; give it identity="
                )

    def begin(self) -> None:
        """Goes on where the checkpoint ends; the next batch gets its record, unless it has it."""
        self._check_identity()
        done = [int(n) for n in Folder(self.checkpoint, "commits").names() if n.isdigit()]
        following = max(done, default=-1) + 1
        # What a batch further back had dropped is not all that was: rows may have gone since.
        found = [self._read(number) for number in (following, following - 1)]
        last = next((record for record in found if record is not None), _Record())
        self.state, self._would = last.decisions, last.would
        self._newest, self._span, self._lost = last.newest, last.span, last.lost
        self._large, self._in_force = last.large, last.in_force
        self._sizes = dict(last.sizes)
        self._check_strides()
        if done and found == [None, None]:
            self._lost = following
            self._tell(
                f"no plan of {self.checkpoint} can be read: windows that are open now are "
                "not delivered"
            )
        if found[0] is None:
            self._write(following)
        else:
            self._note(orders_of(self._folder.read(str(following))))

    def _check_strides(self) -> None:
        """Windows that are dropped per group belong to batches of max_gap + 1."""
        for name, target in self.targets.items():
            before = {level.stride - 1 for level in self.state.levels.get(name, ())}
            if before - {target.max_gap}:
                rule = f"must stay {before.pop()} while windows are dropped per group"
                hint = "run with drop=0 until the open windows have closed, and change it then"
                raise UsageError(complaint(f"max_gap of {name}", rule, target.max_gap, hint))

    def follow(self, batch: int, newest: int | None, rows: float | None = None) -> None:
        """Writes what the next batch shall do.

        Args:
            batch: the one that is ending.
            newest: the largest event time that this process has seen, in microseconds, if any.
            rows: of the last batch that this process has seen, if any.
        """
        if self._read(batch) is None:
            self.dropping.pop(batch, None)
            self._tell(f"the plan of batch {batch} cannot be read: nothing was dropped in it")
        try:
            self._write(batch + 1, newest, rows)
        except (UsageError, OSError) as error:
            self._tell(
                f"the plan of batch {batch + 1} cannot be written, it drops nothing: {error}"
            )

    def ask(self, plan: Plan) -> None:
        """Takes another plan, for the next batch that is not decided yet."""
        for drop in plan.windows:
            for name in drop.queries:
                _known(name, self.targets, "the window drop")
        for name in plan.closed:
            _known(name, self.targets, "closed")
        with self._lock:
            self.plan = plan

    def skip_to(self, time: int) -> None:
        """Gives up all windows that begin before a time, from the next batch on.

        Args:
            time: of events, in microseconds.
        """
        queries = self.part.graph.queries
        if exact := [name for name in queries if name not in self.skippable]:
            hint = "subset(max_gap=…) or approximate() allow it"
            rule = "needs queries that may lose windows"
            raise UsageError(complaint("skip_to()", rule, exact, hint))
        if self.mode != "on":
            raise UsageError(complaint("skip_to()", "needs mode 'on'", self.mode))
        with self._lock:
            self._skip = time

    @property
    def targets(self) -> dict[str, Target]:
        """The queries whose windows may be dropped."""
        kinds = self.part.kinds
        return {n: one for n, one in self.skippable.items() if isinstance(kinds[n], Subset)}

    @property
    def skippable(self) -> dict[str, Target]:
        """The queries that may lose rows; of approximate ones a window is only lost by a jump."""
        found = {}
        for name, node in self.part.graph.queries.items():
            kind = self.part.kinds.get(name)
            if kind is not None and isinstance(node, Aggregate):
                gap = kind.max_gap if isinstance(kind, Subset) else 0
                found[name] = Target(name, node.query.spec, gap, is_per_group(kind))
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

    @cached_property
    def _slack(self) -> int:
        """How far the watermark stays behind the newest row, in microseconds."""
        rows = self.part.shared.rows.items()
        found = [s.slack or own_watermark(frame, s.event_time or "") or 0 for s, frame in rows]
        return max(found, default=0)

    def _reach(self, mark: int | None) -> None:
        """Notes how far the stream is: by its watermark, which is the same in a replay."""
        if mark:
            newest = mark + self._slack
            if self._newest is not None:
                self._span = max(newest - self._newest, self._span // 2)
            self._newest = max(newest, self._newest or newest)

    def _is_large(self, batch: int, seen: float | None) -> bool:
        """Whether the batch after this one is expected to be large; as the last one, if unknown."""
        told = rows_of_batch(self.checkpoint, batch, self.part.graph.sources)
        rows = seen if told is None else sum(told.values())
        return self._large if rows is None else rows >= LARGE

    def _write(self, batch: int, seen: int | None = None, rows: float | None = None) -> None:
        with self._lock:
            plan, mode, until = both(self.plan, self.floor), self.mode, self._skip
        entry = Folder(self.checkpoint, "offsets")
        last = str(batch - 1)
        mark = watermark_in(entry.read(last)) if last in entry.names() else None
        self._reach(mark)
        self._large = self._is_large(batch - 1, rows)
        # What was dropped while rows were dropped stays so, whatever the mode is now.
        self.state = self._advanced(self.state, plan if mode == "on" else Plan(), batch, mark)
        if self.upstream is not None:
            told, newest = self.upstream(), self._newest
            self.state = missing(self.state, self.targets, told, newest=newest, by=batch)
        if until is not None:
            targets, newest = self.skippable, self._newest
            self.state = skip(self.state, targets, until=until, newest=newest, by=batch)
            if newest is not None and newest >= until:
                self._skip = None
        would = None
        if mode == "monitor":
            would = self._advanced(self._would or self.state, plan, batch, mark)
        self._would = would
        # The watermark knows of the last batch that may have dropped by a lost record, and of the
        # one after it, which dropped nothing: what was dropped before the watermark was earlier.
        if self._lost is not None and batch > self._lost + 1 and self._newest is not None:
            # Spark tells times in whole milliseconds, rounded down.
            self.state = replace(self.state, suppress_until=max(self._newest, seen or 0) + 1000)
            self._lost = None
        orders = self._orders(batch, plan, mode)
        self._in_force = self._noted(orders, mark or None, seen)
        orders = replace(orders, in_force=self._in_force)
        values = {
            "plan": plan.values(),
            "mode": mode,
            "decisions": self.state.to_json(),
            "orders": orders.to_json(),
            "newest": self._newest,
            "span": self._span,
            "would": None if would is None else would.to_json(),
            "lost": self._lost,
            "sizes": to_json(self._sizes),
        }
        self._folder.write(str(batch), seal(KIND, VERSION, values).encode())
        self._note(orders)
        self._folder.remove(str(batch - _KEPT))

    def _note(self, orders: Orders) -> None:
        if orders.drops:
            self.dropping[orders.batch] = tuple(order.drops for order in orders.streams)
        self.dropping.pop(orders.batch - _KEPT, None)

    def _advanced(self, state: Decisions, plan: Plan, batch: int, mark: int | None) -> Decisions:
        return advance(
            state,
            plan,
            self.skippable,
            seed=self.seed,
            watermark=mark or None,
            newest=self._newest,
            ahead=max(_AHEAD * self._span, 1),
            by=batch,
        )

    def _orders(self, batch: int, plan: Plan, mode: Mode) -> Orders:
        shared, number = self.part.shared, self.part.shared.number
        if self._lost is not None:
            assert shared.places is not None  # noqa: S101 - rows may be dropped
            return suppress_all(batch, *shared.places)
        if mode == "off":
            plan = Plan()
        needs = self._droppable(self._would or self.state)

        def flags_of(those: list[Target]) -> Flags:
            return early(needs, those) if those else NOTHING

        folds: list[Order] = []
        floors: list[tuple[int, ...]] = []
        for fold in shared.folds:
            if is_sampled(fold.kind):
                keep = max(self._keep(a, plan) for a in fold.aggregates)
                order = at_random(keep, min(map(self._since, fold.aggregates)))
                if fold.kind == FLOORED:
                    shares = self._shares(fold.aggregates[0], keep)
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
        windows = [NOTHING] * (len(shared.aggregates) + 1)
        for name, target in self.skippable.items():
            node = self.part.graph.queries[name]
            assert isinstance(node, Aggregate)  # noqa: S101 - it is a target
            windows[number[node]] = undelivered(self.state, target)
        wanted, names = self._would or self.state, self.part.graph.users
        groups = (
            group_order(self.skippable[names[fold.aggregates[0]][0]], wanted, self.state)
            for fold in shared.folds
            if fold.kind == PER_GROUP
        )
        places = tuple(streams), tuple(folds), tuple(windows)
        made = Orders(batch, *places, groups=tuple(groups), floors=tuple(floors))
        return replace(made, counts_only=mode == "monitor", large=self._large)

    def _noted(
        self, orders: Orders, mark: int | None, seen: int | None
    ) -> tuple[tuple[Span, ...], ...]:
        """Which windows may have lost rows at random by the end of the batch."""
        shared, newest = self.part.shared, self._newest
        if newest is not None and any(source.progress is not None for source in shared.rows):
            newest = max(newest, seen or newest)  # what rows promise says little of the newest
        before = self._in_force or ((),) * (len(shared.aggregates) + 1)
        found: list[tuple[Span, ...]] = [()] * len(before)
        for fold, order in zip(shared.folds, orders.folds, strict=True):
            # What a floor keeps of a group is known by group only.
            for one in fold.aggregates if is_sampled(fold.kind) and fold.kind != FLOORED else ():
                number, spec = shared.number[one], one.query.spec
                found[number] = noted(
                    before[number],
                    batch=orders.batch,
                    keep=1.0 if orders.counts_only else order.keep,
                    mark=mark,
                    newest=newest,
                    length=spec.range or spec.period,
                )
        return tuple(found)

    def _shares(self, aggregate: Aggregate, keep: float) -> tuple[int, ...]:
        """The thresholds of the buckets of a query's groups."""
        name = self.part.graph.users[aggregate][0]
        kind = self.part.kinds[name]
        assert isinstance(kind, Approximate)  # noqa: S101 - it has a floor
        return thresholds(self._sizes.get(name, {}), keep, kind.floor or 1)

    def see(self, sizes: Mapping[str, Buckets]) -> None:
        """Takes what the groups of the answers of a batch have, where there were any."""
        self._sizes = {**self._sizes, **{name: some for name, some in sizes.items() if some}}

    def _since(self, aggregate: Aggregate) -> int:
        """The time from which on rows of an aggregate count, after a jump."""
        times = []
        for name in self.part.graph.users[aggregate]:
            target = self.skippable.get(name)
            skipped = [run.last for run in self.state.runs(name) if run.skipped]
            if target is None or not skipped:
                return EVER
            begins = window_bounds(max(skipped) + 1, target.window)[0]
            times.append(EVER if begins is None else begins)
        return min(times, default=EVER)

    def _keep(self, aggregate: Aggregate, plan: Plan) -> float:
        """The share of rows that the least thinned query of an aggregate keeps."""
        graph = self.part.graph
        shares = []
        for name in graph.users[aggregate]:
            node = graph.queries[name]
            path = {name, *(graph.names[one] for one in upstream(node))}
            path |= {taking(one.name) for one in upstream(node) if isinstance(one, Source)}
            on = [d.keep for d in plan.random if d.arc.after in path and d.arc.before in path]
            shares.append(min(on, default=1.0))
        return max(shares)

    def keep_of(self, name: str) -> float:
        """The share of a query's rows that is kept from the next batch on."""
        with self._lock:
            plan = self.plan
        ones = [a for a in upstream(self.part.graph.queries[name]) if isinstance(a, Aggregate)]
        return min((self._keep(a, plan) for a in ones if depth(a) == 1), default=1.0)

    def _droppable(self, state: Decisions) -> Decisions:
        """The decisions, with those of aggregates below that follow from those above."""
        graph = self.part.graph
        label = graph.names
        found = {label[graph.queries[name]]: state.runs(name) for name in self.skippable}
        for aggregate in reversed(self.part.aggregates):  # those above first
            above = [
                a
                for a in self.part.aggregates
                if any(base(feed) == aggregate for feed in feeds(a.input))
            ]
            if above:
                uppers = [(a.query.spec, found.get(label[a], ())) for a in above]
                asked = aggregate in graph.queries.values()
                own = found.get(label[aggregate], ()) if asked else None
                found[label[aggregate]] = droppable_below(aggregate.query.spec, uppers, own)
        return replace(state, dropped=found)

    def _level_one(self, aggregates: list[Aggregate]) -> list[Target]:
        names = self.part.graph.names
        return [Target(names[a], a.query.spec, 0) for a in aggregates if depth(a) == 1]

    def decisions_of(self, batch: int) -> Decisions | None:
        """What had been decided for a batch; None if its record cannot be read."""
        record = self._read(batch)
        return None if record is None else record.decisions

    def _read(self, batch: int) -> _Record | None:
        try:
            values: dict[str, Any] = unseal(KIND, VERSION, self._folder.read(str(batch)))
            orders = Orders.from_json(values["orders"])
            would = values.get("would")
            return _Record(
                Decisions.from_json(values["decisions"]),
                None if would is None else Decisions.from_json(would),
                values.get("newest"),
                values.get("span", 0),
                values.get("lost"),
                from_json(values.get("sizes", {})),
                orders.large,
                orders.in_force,
            )
        except (RecordDamaged, OSError, LookupError, TypeError, ValueError):
            return None

    def _tell(self, problem: str) -> None:
        self.problems.append(problem)
        _log.warning(problem)


def _stands_on(feeding: tuple[Any, ...], source: Source) -> bool:
    return any(base(feed) == source for feed in feeding)


def _known(name: str, known: Mapping[str, object], what: str) -> None:
    if name not in known:
        rule = "must name queries with subset answers"
        raise UsageError(complaint(what, rule, name, did_you_mean(name, known)))


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
