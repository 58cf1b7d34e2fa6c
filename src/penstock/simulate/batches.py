"""Micro-batches in virtual time: what is decided during one batch is in force in the next.

    begins N         answers out, decided          begins N+1
    ├────────────────────────────┼─────────────────┼─────────
       fixed + cost of rows          overhead

A batch takes the rows that arrived until it began. Their response time ends when its answers are
out.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from penstock.control.admitted import Admitted
from penstock.control.batch import Batch
from penstock.simulate.arrivals import Arrivals
from penstock.simulate.engine import Engine
from penstock.simulate.machine import Floats, Machine
from penstock.simulate.record import Record, weighted_quantile


class BatchController(Protocol):
    """How much the next batch may bring."""

    def step(self, batch: Batch) -> Admitted:
        """The answer to a batch that has just ended."""


_THRICE = 3.0


def run_batches(
    engine: Engine,
    arrivals: Arrivals,
    controller: BatchController | None,
    *,
    machine: Machine,
    seed: int = 0,
) -> Record:
    """A run in micro-batches.

    Args:
        engine: what they cost.
        arrivals: of the stream.
        controller: says how much may come in; None if nothing is shed.
        machine: does the work.
        seed: of the noise.
    """
    return _Run(engine, arrivals, controller, machine=machine, seed=seed).run()


class _Run:
    def __init__(
        self,
        engine: Engine,
        arrivals: Arrivals,
        controller: BatchController | None,
        *,
        machine: Machine,
        seed: int,
    ) -> None:
        self.engine = engine
        self.arrivals = arrivals
        self.controller = controller
        self.machine = machine
        self.rng = np.random.default_rng(seed)
        self.ends = arrivals.ends
        self.total = np.concatenate([[0.0], np.cumsum(arrivals.rows)])
        self.taken = 0  # slots
        self.keep = 1.0
        self.lost = 0.0
        self.periods: list[tuple[float, float, float, float]] = []
        self.delivered: list[tuple[Floats, Floats, Floats]] = []

    def run(self) -> Record:
        begins, began = self.engine.interval, None
        while begins < self.arrivals.seconds:
            until = self._arrived(begins)
            if self.total[until] == self.total[self.taken]:  # the engine waits for data
                until = int(np.searchsorted(self.total, self.total[self.taken], side="right"))
                if until >= self.total.size:
                    break
                begins = float(self.ends[until - 1])
                continue
            out = self._batch(begins, None if began is None else begins - began, until)
            began = begins
            begins = max(out + self.engine.overhead, begins + self.engine.interval)
        return self._record()

    def _arrived(self, at: float) -> int:
        """The slots that are over by then."""
        return int(np.searchsorted(self.ends, at, side="right"))

    def _batch(self, begins: float, collected: float | None, until: int) -> float:
        """A batch that takes the slots up to one; when its answers are out."""
        engine, keep = self.engine, self.keep
        rows = float(self.total[until] - self.total[self.taken])
        work = rows * (keep * engine.cost + (1 - keep) * engine.dropped)
        nominal = engine.fixed + work
        out = self.machine.end(begins, nominal * self._slowness())
        came = slice(self.taken, until)
        response = out - (self.ends[came] - self.arrivals.slot / 2)
        weight = self.arrivals.rows[came] * keep
        self.delivered.append((out - response, response, weight))
        self.lost += (1 - keep) * rows
        self.taken = until
        headroom = float("nan")
        if self.controller is not None:
            waiting = float(self.total[self._arrived(out)] - self.total[until])
            told, believed = weighted_quantile(response, weight, 0.95), engine.believed
            answer = self.controller.step(
                Batch(
                    rows=rows,
                    collected=collected,
                    seconds=out - begins,
                    nominal=nominal * believed,
                    fixed=engine.fixed * believed,
                    cost=engine.cost * believed,
                    dropped=engine.dropped * believed,
                    overhead=engine.overhead,
                    waiting=waiting if engine.tells_waiting else None,
                    response=told if engine.tells_response else None,
                )
            )
            self.keep, headroom = answer.keep, answer.headroom
        self.periods.append((out, keep, headroom, work))
        return out

    def _slowness(self) -> float:
        """How many times longer than it should a batch takes."""
        number, engine = len(self.periods), self.engine
        slow = engine.cold[number] if number < len(engine.cold) else 1.0
        if engine.noise:
            slow *= float(np.exp(self.rng.normal(0, engine.noise)))
        return slow * (_THRICE if self.rng.random() < engine.hiccup else 1.0)

    def _record(self) -> Record:
        at, keep, headroom, queued = np.array(self.periods).reshape(-1, 4).T
        arrival, response, weight = map(np.concatenate, zip(*self.delivered, strict=True))
        return Record(
            at=at,
            keep=keep,
            headroom=headroom,
            queued=queued,
            arrival=arrival,
            response=response,
            weight=weight,
            arrived=float(self.total[self.taken]),
            lost=self.lost,
        )
