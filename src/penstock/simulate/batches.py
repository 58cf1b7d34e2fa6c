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
    rng = np.random.default_rng(seed)
    ends, total = arrivals.ends, np.concatenate([[0.0], np.cumsum(arrivals.rows)])
    begins, began, taken, number, keep, lost = engine.interval, None, 0, 0, 1.0, 0.0
    periods: list[tuple[float, float, float, float]] = []
    parts: list[tuple[Floats, Floats, Floats]] = []
    while begins < arrivals.seconds:
        until = int(np.searchsorted(ends, begins, side="right"))
        rows = float(total[until] - total[taken])
        if not rows:  # the engine waits for data
            until = int(np.searchsorted(total, total[taken], side="right"))
            if until >= total.size:
                break
            begins = float(ends[until - 1])
            continue
        work = keep * rows * engine.cost + (1 - keep) * rows * engine.dropped
        slow = float(np.exp(rng.normal(0, engine.noise))) if engine.noise else 1.0
        slow *= _THRICE if rng.random() < engine.hiccup else 1.0
        slow *= engine.cold[number] if number < len(engine.cold) else 1.0
        out = machine.end(begins, (engine.fixed + work) * slow)
        arrived = ends[taken:until] - arrivals.slot / 2
        weights = arrivals.rows[taken:until] * keep
        parts.append((arrived, out - arrived, weights))
        lost += (1 - keep) * rows
        kept, headroom = keep, float("nan")
        if controller is not None:
            now = int(np.searchsorted(ends, out, side="right"))
            belief = engine.believed
            answer = controller.step(
                Batch(
                    rows=rows,
                    collected=None if began is None else begins - began,
                    seconds=out - begins,
                    nominal=(engine.fixed + work) * belief,
                    fixed=engine.fixed * belief,
                    cost=engine.cost * belief,
                    dropped=engine.dropped * belief,
                    overhead=engine.overhead,
                    waiting=float(total[now] - total[until]) if engine.tells_waiting else None,
                    response=weighted_quantile(out - arrived, weights, 0.95)
                    if engine.tells_response
                    else None,
                )
            )
            keep, headroom = answer.keep, answer.headroom
        periods.append((out, kept, headroom, work))
        taken, began, number = until, begins, number + 1
        begins = max(out + engine.overhead, begins + engine.interval)
    at, keeps, headrooms, queued = np.array(periods).reshape(-1, 4).T
    arrival, response, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Record(
        at=at,
        keep=keeps,
        headroom=headrooms,
        queued=queued,
        arrival=arrival,
        response=response,
        weight=weight,
        arrived=float(total[taken]),
        lost=lost,
    )
