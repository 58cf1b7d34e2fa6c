"""Micro-batches in virtual time: what is decided during one batch is in force in the next.

    begins N         answers out, decided          begins N+1
    ├────────────────────────────┼─────────────────┼─────────
       fixed + cost of rows          overhead

A batch takes the rows that arrived until it began. Their response time ends when its answers are
out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from penstock.control.admitted import Admitted
from penstock.control.batch import Batch
from penstock.control.checks import amount, positive
from penstock.simulate.arrivals import Arrivals
from penstock.simulate.machine import Floats, Machine
from penstock.simulate.record import Record, weighted_quantile


class BatchController(Protocol):
    """How much the next batch may bring."""

    def step(self, batch: Batch) -> Admitted:
        """The answer to a batch that has just ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What batches cost, in seconds of work.

    Args:
        fixed: of a batch.
        cost: of a row that is kept.
        dropped: of a row that is dropped.
        overhead: seconds from the answers of a batch to the beginning of the next.
        interval: of the trigger, in seconds.
        noise: how much the duration of a batch is off, relative (one standard deviation).
        cold: how many times longer the first batches take, one by one.
        hiccup: the probability that a batch takes three times as long.
        believed: what a controller is told of the costs, as a multiple of the truth.
        tells_waiting: whether a controller is told how many rows wait.
        tells_response: whether it is told the response times.
    """

    fixed: float
    cost: float
    dropped: float = 0.0
    overhead: float = 0.0
    interval: float = 0.0
    noise: float = 0.0
    cold: tuple[float, ...] = ()
    hiccup: float = 0.0
    believed: float = 1.0
    tells_waiting: bool = False
    tells_response: bool = True

    def __post_init__(self) -> None:
        for name in ("fixed", "dropped", "overhead", "interval", "noise", "hiccup"):
            amount(name, getattr(self, name))
        positive("cost", self.cost)
        positive("believed", self.believed)

    def capacity(self, target: float, speed: float = 1.0, q: float = 0.95) -> float:
        """Rows per second that can be kept up with if the q-quantile is to meet the target.

        Args:
            target: in seconds.
            speed: of the machine.
            q: the quantile.
        """
        best = max(self.overhead, (target - q * self.overhead) / (1 + q))
        period = max(self.interval, best + self.overhead)
        if period == self.interval:
            best = target - q * self.interval
        return max(0.0, speed * best - self.fixed) / (self.cost * period)


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
