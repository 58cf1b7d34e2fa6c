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
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

from penstock.drops.advance import advance
from penstock.drops.arrays import Flags
from penstock.drops.decisions import Decisions
from penstock.drops.floors import Buckets
from penstock.drops.in_force import Span
from penstock.drops.orders import Orders
from penstock.drops.plan import Plan
from penstock.drops.skip import skip
from penstock.drops.standing import SPAN, Standing, standing
from penstock.drops.targets import Target
from penstock.drops.upstream import both, missing
from penstock.engine.backlog import rows_of_batch
from penstock.engine.files import Folder
from penstock.engine.ordering import Ordering
from penstock.engine.orders import FOLDER, orders_of
from penstock.engine.part import Part
from penstock.engine.schema import own_watermark
from penstock.engine.shed_checks import check_strides, without_identity
from penstock.engine.shed_record import Mode, Record
from penstock.engine.tally import ONE_IN
from penstock.engine.watermark import watermark_in
from penstock.errors import UsageError, complaint, did_you_mean
from penstock.network.operators import Aggregate, depth, upstream
from penstock.windows.durations import SECOND

_log = logging.getLogger(__name__)

_KEPT = 100
"""Records that are kept."""

LARGE = 200 * ONE_IN
"""Rows of a batch, from which on enough are in the sample to tell how far the stream is."""

_AHEAD = 4.0
"""Windows are decided so many times as far ahead as a batch has gone, if nobody knows better."""


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
        kept: batch that asks rows what they are before it takes them in → of each aggregate, the
            share of its rows that it keeps, or the times whose rows it does not.
        floor: what is dropped at least, whatever else is asked; as a plan of many nodes wants it.
        upstream: the windows that nodes upstream have dropped, by query; None if there are none.
        before: called at the end of each batch, before it is written what the next one drops; None
            for nothing.
    """

    part: Part
    checkpoint: str
    plan: Plan = field(default_factory=Plan)
    mode: Mode = "on"
    seed: int = 0
    state: Decisions = field(default_factory=Decisions)
    problems: list[str] = field(default_factory=list)
    dropping: dict[int, tuple[bool, ...]] = field(default_factory=dict)
    kept: dict[int, dict[Aggregate, float | Flags]] = field(default_factory=dict)
    floor: Plan = field(default_factory=Plan)
    upstream: Callable[[], Mapping[str, Iterable[tuple[int, int]]]] | None = None
    before: Callable[[int], None] | None = None
    _would: Decisions | None = None
    _newest: int | None = None
    _span: int = 0
    _skip: int | None = None
    _reaches: float | None = None
    _lost: int | None = None
    _large: bool = False
    _sizes: dict[str, Buckets] = field(default_factory=dict)
    _in_force: tuple[tuple[Span, ...], ...] = ()
    _written: tuple[int, bytes] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def _folder(self) -> Folder:
        return Folder(self.checkpoint, FOLDER)

    def begin(self) -> None:
        """Goes on where the checkpoint ends; the next batch gets its record, unless it has it."""
        for problem in without_identity(self.part):
            self._tell(problem)
        done = [int(n) for n in Folder(self.checkpoint, "commits").names() if n.isdigit()]
        following = max(done, default=-1) + 1
        # What a batch further back had dropped is not all that was: rows may have gone since.
        found = [self._read(number) for number in (following, following - 1)]
        last = next((record for record in found if record is not None), Record())
        self.state, self._would = last.decisions, last.would
        self._newest, self._span, self._lost = last.newest, last.span, last.lost
        self._large, self._in_force = last.large, last.in_force
        self._sizes = dict(last.sizes)
        check_strides(self.state, self.targets)
        lost = bool(done) and found == [None, None]
        if lost:
            self._lost = following
            self._tell(
                f"no plan of {self.checkpoint} can be read: windows that are open now are "
                "not delivered"
            )
        if found[0] is not None:
            self._note(orders_of(self._folder.read(str(following)), following))
            return
        damaged = self._had_record(following)
        if damaged and not lost:
            self._tell(f"the plan of batch {following} cannot be read: nothing is dropped in it")
        self._write(following, harmless=damaged)

    def _had_record(self, batch: int) -> bool:
        """Whether a batch was decided before, be it that nothing is left of what was.

        One that has begun had its record by then. One that has not may have none yet: then it is
        decided as any other.
        """
        begun = Folder(self.checkpoint, "offsets")
        return any(str(batch) in folder.names() for folder in (self._folder, begun))

    def follow(self, batch: int, newest: int | None, rows: float | None = None) -> None:
        """Writes what the next batch shall do.

        Args:
            batch: the one that is ending.
            newest: the largest event time that this process has seen, in microseconds, if any.
            rows: of the last batch that this process has seen, if any.
        """
        if self.before is not None:
            self.before(batch)
        if not self._is_whole(batch):
            for notes in (self.dropping, self.kept):
                notes.pop(batch, None)
            self._tell(f"the plan of batch {batch} cannot be read: nothing was dropped in it")
        try:
            self._write(batch + 1, newest, rows)
        except (UsageError, OSError) as error:
            self._tell(
                f"the plan of batch {batch + 1} cannot be written, it drops nothing: {error}"
            )

    def ask(self, plan: Plan, reach: float | None = None) -> None:
        """Takes another plan, for the next batch that is not decided yet.

        Args:
            plan: what to drop.
            reach: how far the rows of that batch go beyond the newest that is known of, in seconds
                of event time; None if nobody knows.
        """
        for drop in plan.windows:
            for name in drop.queries:
                _known(name, self.targets, "the window drop")
        for name in plan.closed:
            _known(name, self.targets, "closed")
        with self._lock:
            self.plan, self._reaches = plan, reach

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

    @cached_property
    def ordering(self) -> Ordering:
        """Makes orders of what is decided."""
        return Ordering(self.part)

    @property
    def targets(self) -> dict[str, Target]:
        """The queries whose windows may be dropped."""
        return self.ordering.targets

    @property
    def skippable(self) -> dict[str, Target]:
        """The queries that may lose rows."""
        return self.ordering.skippable

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

    def _write(
        self,
        batch: int,
        seen: int | None = None,
        rows: float | None = None,
        *,
        harmless: bool = False,
    ) -> None:
        with self._lock:
            plan, mode, until = both(self.plan, self.floor), self.mode, self._skip
        if harmless:
            plan = Plan()
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
        known = Record(
            self.state,
            self._would,
            self._newest,
            self._span,
            self._lost,
            self._sizes,
            self._large,
            self._in_force,
        )
        orders = self.ordering.orders(batch, plan, mode, known, mark=mark or None, seen=seen)
        if harmless:
            # Windows that were given up before would go on to lose rows.
            orders = orders.harmless(batch)
        self._in_force = orders.in_force
        record = known.sealed(orders, plan=plan.values(), mode=mode)
        self._folder.write(str(batch), record)
        self._written = batch, record
        self._note(orders)
        self._folder.remove(str(batch - _KEPT))

    def _note(self, orders: Orders) -> None:
        if orders.drops:
            self.dropping[orders.batch] = orders.at_streams
        if orders.early:
            folds = zip(self.part.shared.folds, orders.folds, strict=True)
            needed = self.ordering.needed(self.state)
            self.kept[orders.batch] = {
                aggregate: needed.get(aggregate, order.keep)
                for fold, order in folds
                for aggregate in fold.aggregates
                if aggregate in self.part.asking
            }
        for notes in (self.dropping, self.kept):
            notes.pop(orders.batch - _KEPT, None)

    @property
    def _ahead(self) -> int:
        """How far beyond the newest row windows are decided, in microseconds."""
        if not self._span:
            # It is not known how far a batch goes: as many windows as may be missing.
            targets = self.targets.values()
            return max((min(t.max_gap, SPAN) * t.window.slide for t in targets), default=1) or 1
        reaches = _AHEAD * self._span if self._reaches is None else self._reaches * SECOND
        return max(round(reaches), 1)

    def standings(self) -> dict[str, Standing]:
        """How the queries stand whose windows may be dropped.

        None where groups drop windows of their own: of those there is a share at every moment.
        """
        newest, state = self._newest, self._would or self.state
        if newest is None or any(target.per_group for target in self.targets.values()):
            return {}
        # How far windows are decided before it is known how far a batch goes says nothing here.
        ahead = self._ahead if self._span else 1
        return {
            name: standing(state, target, newest=newest, until=newest + ahead)
            for name, target in self.targets.items()
        }

    def _advanced(self, state: Decisions, plan: Plan, batch: int, mark: int | None) -> Decisions:
        return advance(
            state,
            plan,
            self.skippable,
            seed=self.seed,
            watermark=mark or None,
            newest=self._newest,
            ahead=self._ahead,
            by=batch,
        )

    def see(self, sizes: Mapping[str, Buckets]) -> None:
        """Takes what the groups of the answers of a batch have, where there were any."""
        self._sizes = {**self._sizes, **{name: some for name, some in sizes.items() if some}}

    def keep_of(self, name: str) -> float:
        """The share of a query's rows that is kept from the next batch on."""
        with self._lock:
            plan = self.plan
        ones = [a for a in upstream(self.part.graph.queries[name]) if isinstance(a, Aggregate)]
        return min((self.ordering.keep(a, plan) for a in ones if depth(a) == 1), default=1.0)

    def record_of(self, batch: int) -> Record | None:
        """What had been decided for a batch; None if its record cannot be read."""
        return self._read(batch)

    def _is_whole(self, batch: int) -> bool:
        """Whether the record of a batch can be read; what is as it was written need not be."""
        with suppress(UsageError, OSError):
            if (batch, self._folder.read(str(batch))) == self._written:
                return True
        return self._read(batch) is not None

    def _read(self, batch: int) -> Record | None:
        return Record.read(self._folder, batch)

    def _tell(self, problem: str) -> None:
        self.problems.append(problem)
        _log.warning(problem)


def _known(name: str, known: Mapping[str, object], what: str) -> None:
    if name not in known:
        rule = "must name queries with subset answers"
        raise UsageError(complaint(what, rule, name, did_you_mean(name, known)))
