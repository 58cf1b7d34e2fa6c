"""The control point: at the end of a batch it is decided what the next one drops.

progress of N-1 ─► statistics ─┐
offsets of N, the clock ───────┼─► regulator ─► plan ─► record of N+1
                               │
whatever fails here, the stream goes on with the last plan
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from penstock.drops.plan import Arc, Plan, RandomDrop
from penstock.drops.standing import Standing
from penstock.engine.backlog import rows_of_batch
from penstock.engine.measure import Measure
from penstock.engine.pulse import Beat, Pulse, response
from penstock.engine.shedder import Shedder
from penstock.network.operators import inputs
from penstock.planning.reach import Came, Reach
from penstock.planning.regulator import Decision, Ended, Regulator
from penstock.planning.sampling import LEAST
from penstock.windows.durations import SECOND

_log = logging.getLogger(__name__)

_CHOSEN = 64
"""Queries among which it is chosen whose windows are kept."""

_KEPT = 200
"""Decisions that are remembered until Spark has told of their batch."""


@dataclass
class Regulation:
    """Regulates a part of a network while it runs.

    Args:
        regulator: decides.
        shedder: writes down what is decided.
        measure: knows what was learnt.
        pulse: the clock.
        decisions: batch → what was decided at its end.
        problems: since somebody last asked.
    """

    regulator: Regulator
    shedder: Shedder
    measure: Measure
    pulse: Pulse
    decisions: dict[int, Decision] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    _seen: tuple[Beat, dict[str, float]] | None = None
    _rates: dict[str, float] = field(default_factory=dict)
    _paced: int = -1
    _reach: Reach = field(default_factory=Reach)
    _newest: int | None = None

    def decide(self, batch: int) -> None:
        """Says what is dropped from the next batch on.

        Args:
            batch: the one that is ending.
        """
        if self.shedder.mode == "off":
            return
        try:
            ended = self._ended(batch)
            if ended is None:
                return
            decision = self.regulator.step(ended, self.measure.statistics.now)
            self.shedder.ask(self._plan(decision), self._reach.ahead(ended.unknown))
        except Exception as error:  # noqa: BLE001 - a stream is not stopped by its controller
            _log.exception("the controller failed at batch %s: the last plan stays", batch)
            self.problems.append(
                f"the controller failed at batch {batch}, the last plan stays: {error}"
            )
            return
        self.problems += [note for note in decision.notes if note not in self.problems]
        self.decisions[batch] = decision
        self.decisions.pop(batch - _KEPT, None)
        _log.info("batch %s: %s", batch, decision.admitted.reason)

    def _ended(self, batch: int) -> Ended | None:
        """What is known of the batch; None if it brought nothing, or is the first."""
        last = Beat.of(self.measure.last) if self.measure.last is not None else None
        began, now = self.pulse.began(last), self.pulse.clock()
        self._note_rates(last)
        collected = self.pulse.collecting(began, last)
        overhead = self.pulse.overhead(last)
        # What follows from here on, the decision itself included, is part of the overhead.
        self.pulse.note_control(batch)
        rows = rows_of_batch(self.shedder.checkpoint, batch, self.measure.part.graph.sources)
        if rows is None and last is not None:
            rows = self._expected(began - last.began)
        if not rows or not any(rows.values()) or last is None:
            return None
        took = now - began
        return Ended(
            rows=rows,
            # The rate is that of the whole time since the last look, also if rows came at its end.
            collected=began - last.began,
            seconds=took,
            overhead=overhead,
            response=response(0.95, began, collected or 0.0, now + overhead, 0.0),
            dropped=self.shedder.mode == "on",
            pace=self._pace(batch, overhead),
            standings=self._standings(),
        )

    def _standings(self) -> dict[str, Standing]:
        """Of the queries whose windows are all dropped or all kept for now.

        Where answers win over the target and say which share of windows may be lost, that is a
        share in the long run, and coins see to it.
        """
        limits = self.regulator.limits
        if limits.wins == "answers" and limits.max_loss is not None:
            return {}
        # Of very many queries, coins keep about as many as they should at any moment.
        return self.shedder.standings() if len(self.shedder.targets) <= _CHOSEN else {}

    def _pace(self, batch: int, overhead: float) -> float | None:
        """Seconds of work done in a second of the last batch of which it is known what was dropped.

        Windows that were dropped stay so, and queries come and go between two plans: a plan does
        not tell what the batch that is ending had to do, nor does the batch before it. And it was
        made with the costs that were known then. So what a batch has done, by what is known now, is
        held against the seconds that the same one took.

        Args:
            batch: the one that is ending; if it drops nothing, its own seconds say all.
            overhead: seconds between the control points of two batches that belong to neither.
        """
        shedder = self.shedder
        if shedder.mode != "on" or batch not in shedder.dropping:
            return None
        # What was dropped is told when the watermark has moved; until then nothing is known.
        told = (seen for seen in reversed(self.measure.observations) if seen.operators)
        seen = next(told, None)
        if seen is None or seen.batch <= self._paced:
            return self.regulator.headroom
        self._paced = seen.batch
        rows = {name: flow.rows_in for name, flow in seen.operators.items()}
        took = max(seen.seconds - overhead, seen.seconds / 2)
        done = self.measure.statistics.now.costs.predict(rows)
        return done / took if took > 0 and done > 0 else self.regulator.headroom

    def _note_rates(self, last: Beat | None) -> None:
        """The rows that the last batch took, in a second of the time in which they came."""
        if last is None or self.measure.last is None:
            return
        rows = self.measure.rows(self.measure.last)
        if self._seen is not None and last.began > self._seen[0].began:
            seconds = last.began - self._seen[0].began
            self._rates = {name: count / seconds for name, count in rows.items()}
            self._note_reach(Came(sum(rows.values()), seconds))
        self._seen = last, rows

    def _note_reach(self, came: Came) -> None:
        """How far the event times of the last batch went."""
        before, self._newest = self._newest, self.measure.newest
        if before is not None and self._newest is not None:
            self._reach.note(came, (self._newest - before) / SECOND)

    def _expected(self, seconds: float) -> dict[str, float]:
        """Where offsets do not tell how many rows a batch has, as many as the one before it had."""
        last = self._seen[1] if self._seen is not None else {}
        return {
            name: self._rates[name] * seconds if name in self._rates else rows
            for name, rows in last.items()
        }

    def _plan(self, decision: Decision) -> Plan:
        if decision.planned is None:
            return Plan()
        plan, graph = decision.planned.plan, self.measure.part.graph
        # A query with approximate answers has no windows to drop: next to nothing is kept for it.
        sampled = [name for name in plan.closed if name not in self.shedder.targets]
        least = [
            RandomDrop(Arc(graph.names[inputs(graph.queries[name])[0]], name), LEAST)
            for name in sampled
        ]
        arcs = {drop.arc for drop in least}
        return Plan(
            (*(drop for drop in plan.random if drop.arc not in arcs), *least),
            plan.windows,
            tuple(name for name in plan.closed if name in self.shedder.targets),
        )
