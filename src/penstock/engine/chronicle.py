"""What happened, batch by batch: Spark's reports and our decisions become statuses.

Spark tells of a batch when it is committed, so the status of a batch comes with the next one, or
when the stream ends.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from penstock.control.prior import taking
from penstock.control.status import DropStatus, Phase, QueryStatus, Status
from penstock.drops.kinds import kind_name
from penstock.drops.plan import Plan
from penstock.engine.backlog import backlog
from penstock.engine.ledger import Ledger
from penstock.engine.part import Part
from penstock.engine.pulse import Beat, Pulse, ran, response
from penstock.engine.reading import Seen
from penstock.engine.regulation import Regulation
from penstock.engine.shed_accounts import SHED_ACCOUNTS, ShedAccounts, reported
from penstock.engine.shedder import Shedder
from penstock.engine.totals import UNTOLD, Kept, Totals
from penstock.planning.regulator import Decision

KEPT = 5_000
"""Statuses that are kept."""

_RECENT = 20
"""Reports in which it is looked up what a batch has dropped."""

_PATIENCE = 3
"""Batches that may wait for it to be told."""

WARM_UP = 3
"""Batches in which nothing is learnt."""


@dataclass
class Chronicle:
    """The statuses of a part of a network.

    Args:
        part: what runs.
        pulse: its clock.
        shedder: what drops; None if nothing may be.
        regulation: what decides; None if no latency was asked for.
        ledger: of its windows.
        checkpoint: where totals may be kept.
        statuses: of its batches.
        totals: query → what became of its rows since the start.
    """

    part: Part
    pulse: Pulse
    shedder: Shedder | None = None
    regulation: Regulation | None = None
    ledger: Ledger | None = None
    checkpoint: Totals | None = None
    statuses: deque[Status] = field(default_factory=lambda: deque(maxlen=KEPT))
    totals: dict[str, Counter[str]] = field(default_factory=dict)
    _recent: deque[Mapping[str, Any]] = field(default_factory=lambda: deque(maxlen=_RECENT))
    _waiting: deque[Mapping[str, Any]] = field(default_factory=deque)
    _last: Beat | None = None
    _seen: int = 0
    _told: int = 0
    _kept: Totals | None = None
    _before: int = -1
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def newest(self) -> int | None:
        """The last batch that Spark has told of."""
        return self._recent[-1]["batchId"] if self._recent else None

    @property
    def _last_told(self) -> int:
        """The last batch that is entered, or waits to be; -1 if there is none."""
        return max(self._before, -1 if self.newest is None else self.newest)

    def go_on(self) -> None:
        """Goes on with the totals of the checkpoint, and keeps them there from now on."""
        with self._lock:
            self._kept = self.checkpoint
            known = self._kept.read() if self._kept is not None else None
            if self._kept is None or known is None:
                return
            self._before = known.newest
            for name, counts in known.totals.items():
                self.totals.setdefault(name, Counter()).update(counts)
            if self.shedder is not None:
                self.shedder.dropping.update(known.dropping)
            self._recent.extendleft(reversed(known.waiting))
            self._waiting.extendleft(reversed(known.waiting))
            missed = self._kept.missed(known.newest, self.part.graph.sources)
            for name, ways in self.part.ways.items():
                records = sum(missed[source.name] for source, _ in ways)
                if records:
                    self.totals.setdefault(name, Counter())[UNTOLD] += records

    def take(self, reports: Sequence[Mapping[str, Any]], *, ended: bool = False) -> None:
        """Enters the batches that Spark has told of; those that are known stay as they are.

        Args:
            reports: oldest first.
            ended: whether no more will come.
        """
        with self._lock:
            some = False
            for report in reports:
                if report["batchId"] <= self._last_told or not ran(report["durationMs"]):
                    continue
                self._recent.append(report)
                self._waiting.append(report)
                some = True
            self._enter(ended=False)
            if some and self._kept is not None:
                self._kept.write(self._to_keep())
            # Who comes back may still hear of what waits now.
            if ended:
                self._enter(ended=True)

    def _to_keep(self) -> Kept:
        dropping = self.shedder.dropping if self.shedder is not None else {}
        waiting = [dict(report) for report in self._waiting]
        some = {b: dropping[b] for b in (one["batchId"] for one in waiting) if b in dropping}
        return Kept(self._last_told, self.totals, waiting, some)

    def _enter(self, *, ended: bool) -> None:
        """What a batch has dropped may be told with the next one: it is waited for."""
        books = None
        if self.shedder is not None and self._waiting:
            books = ShedAccounts(self.part, list(self._recent), self.shedder.dropping)
        told = books.told() if books is not None else set[int]()
        while self._waiting:
            report = self._waiting[0]
            late = len(self._waiting) > _PATIENCE or ended
            if books is not None and report["batchId"] not in told and not late:
                break
            self._waiting.popleft()
            known = books if report["batchId"] in told else None
            accounts = {n: self._account(n, report, known) for n in self.part.graph.queries}
            if report["batchId"] <= self._before:
                continue  # of another run: it tells nothing of how this one does
            beat = Beat.of(report)
            self._seen += 1
            self.statuses.append(self._status(beat, report, accounts, known))
            self._last = beat

    def _account(
        self, name: str, report: Mapping[str, Any], books: ShedAccounts | None
    ) -> dict[str, int]:
        """What became of a query's rows in a batch, added to what did before."""
        found = reported(self.part, name, report)
        if books is not None:
            found |= books.of_batch(name, report)
        elif self.shedder is not None:
            found |= dict.fromkeys(SHED_ACCOUNTS, 0)
            if self._kept is not None:
                rows = ShedAccounts(self.part, [report], {}).of_batch(name, report)["rows_in"]
                found[UNTOLD] = rows
        self.totals.setdefault(name, Counter()).update(found)
        return found

    def _status(
        self,
        beat: Beat,
        report: Mapping[str, Any],
        accounts: Mapping[str, Mapping[str, int]],
        books: ShedAccounts | None,
    ) -> Status:
        part, last = self.part, self._last
        rows, seconds = round(sum(part.rows_read(report).values())), beat.ended - beat.began
        collected = self.pulse.collecting(beat.began, last)
        span = beat.began - last.began if last is not None else None
        arriving = rows / span if span else None
        shed = sum(books.gone(report, s) for s in part.shared.rows) if books is not None else 0
        decision = self.regulation.decisions.get(beat.batch) if self.regulation else None
        admitted = decision.admitted if decision is not None else None
        waiting = backlog(report, part.graph.sources)
        waits = sum(waiting.values()) if waiting else None
        waited = (waits or 0.0) / arriving if arriving else 0.0
        times = [
            response(share, beat.began, collected, beat.ended, waited) if rows else None
            for share in (0.95, 0.5)
            if collected is not None
        ] or [None, None]
        demand = admitted.overload if admitted is not None else None
        return Seen(
            at=beat.ended,
            batch=beat.batch,
            seconds=seconds,
            rows=rows,
            shed=shed,
            arriving=arriving,
            taking=(rows - shed) / max(seconds, span or 0.0, 1e-3),
            capacity=arriving / demand if arriving and demand else None,
            demand=demand,
            backlog=waits,
            target=self.regulation.regulator.target if self.regulation is not None else None,
            response=times[0],
            median=times[1],
            keep=admitted.keep if admitted is not None else 1.0,
            phase=self._phase(),
            reason=admitted.reason if admitted is not None else "",
            drops=self._drops(decision),
            queries=tuple(self._query(name, accounts[name], decision) for name in accounts),
            problems=self._problems(),
        )

    def _phase(self) -> Phase:
        if self.shedder is None or self.shedder.mode == "off":
            return "off"
        if self.shedder.mode == "monitor":
            return "monitor"
        if self._plan != Plan():
            return "shedding"
        return "warm-up" if self.regulation is not None and self._seen <= WARM_UP else "exact"

    @property
    def _plan(self) -> Plan:
        return self.shedder.plan if self.shedder is not None else Plan()

    def _drops(self, decision: Decision | None) -> tuple[DropStatus, ...]:
        plan = self._plan
        planned = decision.planned if decision is not None else None
        reasons = planned.reasons if planned is not None else {}
        users = self.part.graph
        below = {users.names[op]: users.users[op] for op in users.operators}
        below |= {taking(source.name): users.users[source] for source in users.sources}
        random = [
            DropStatus(
                after=drop.arc.after,
                before=drop.arc.before,
                keep=drop.keep,
                queries=tuple(below.get(drop.arc.before, (drop.arc.before,))),
                reason=reasons.get(drop.arc, ""),
            )
            for drop in plan.random
        ]
        windows = [
            DropStatus(
                after=drop.arc.after,
                before=drop.arc.before,
                drop=drop.p,
                queries=drop.queries,
                reason=reasons.get(drop.arc, ""),
            )
            for drop in plan.windows
        ]
        return (*random, *windows)

    def _query(
        self, name: str, account: Mapping[str, int], decision: Decision | None
    ) -> QueryStatus:
        kind = cast(
            'Literal["exact", "approximate", "subset"]', kind_name(self.part.kinds.get(name))
        )
        plan = self._plan
        fates = (self.ledger.fates.get(name) if self.ledger is not None else None) or Counter()
        outcome = None
        if decision is not None and decision.planned is not None:
            outcome = decision.planned.outcomes.get(name)
        return QueryStatus(
            name=name,
            kind=kind,
            rows_in=account.get("rows_in", 0),
            shed=account.get("shed_at_stream", 0) + account.get("shed_on_the_way", 0),
            taken=account.get("taken", 0),
            keep=self.shedder.keep_of(name) if self.shedder is not None else 1.0,
            drop=max(
                [d.p for d in plan.windows if name in d.queries] + [1.0 * (name in plan.closed)]
            ),
            error=outcome.error if outcome is not None else None,
            delivered=fates.get("delivered", 0) + fates.get("partly", 0),
            dropped=sum(fates.get(fate, 0) for fate in ("dropped", "revoked", "skipped", "lost")),
        )

    def _problems(self) -> tuple[str, ...]:
        found: list[str] = []
        if self.shedder is not None:
            found += self.shedder.problems[self._told :]
            self._told = len(self.shedder.problems)
        if self.regulation is not None:
            found += self.regulation.problems
            self.regulation.problems.clear()
        return tuple(found)
