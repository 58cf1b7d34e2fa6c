"""Tuple at a time: every row waits in queues, and one processor takes turns among the operators.

    arrivals ─► shedder ─► │││ box ─┬─► ││ box ─► delivered
                  ▲                 └─► │ box ─► delivered
                  └── keep ── controller, once a period

Two schedulers are fair. In a round robin each operator that has a row waiting works on one, then it
is the next one's turn; rows of an operator that gets more than its share of them then wait longer
than others. Or the row that arrived first is first, wherever it waits. What a controller decides at
the end of a period is in force in the next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np

from penstock.control.checks import positive
from penstock.control.period import Period, PeriodController
from penstock.simulate.machine import Floats, Machine
from penstock.simulate.network import Boxes
from penstock.simulate.record import Record


def run_tuples(
    network: Boxes,
    arrivals: Floats,
    controller: PeriodController | None,
    *,
    period: float,
    machine: Machine,
    until: float,
    oldest_first: bool = False,
    seed: int = 0,
) -> Record:
    """A run of a network, row by row.

    Args:
        network: what is run.
        arrivals: when rows arrive, in seconds, in order.
        controller: says how much may come in; None for a network that sheds nothing.
        period: seconds from one decision to the next.
        machine: does the work.
        until: when the run ends, in seconds; rows that still wait are not delivered.
        oldest_first: the scheduler; a round robin if not.
        seed: of the coins for shedding and selectivities.
    """
    positive("period", period)
    run = _Run(network, arrivals, controller, period=period, machine=machine, seed=seed)
    return run.run(until, run.oldest if oldest_first else run.turn)


class _Run:
    def __init__(
        self,
        network: Boxes,
        arrivals: Floats,
        controller: PeriodController | None,
        *,
        period: float,
        machine: Machine,
        seed: int,
    ) -> None:
        self.network = network
        self.arrivals = arrivals.tolist()
        self.controller = controller
        self.period = period
        self.machine = machine
        self.rng = np.random.default_rng(seed)
        self.coins = np.random.default_rng([seed, 1]).random(len(self.arrivals)).tolist()
        names = [box.name for box in network.boxes]
        self.queues: list[deque[float]] = [deque() for _ in names]
        self.below = [[names.index(n) for n in network.feeds[name]] for name in names]
        self.coefficients = [network.coefficients[name] for name in names]
        self.next = 0  # arrival
        self.place = 0  # whose turn it is
        self.keep = 1.0
        self.lost = 0
        self.delivered: list[tuple[float, float]] = []
        self.rows_in = self.rows_out = self.offered = self.reported = 0
        self.periods: list[tuple[float, float, float, float]] = []

    def turn(self) -> int | None:
        """The next box in turn that has a row."""
        boxes = len(self.queues)
        for place in range(self.place, self.place + boxes):
            if self.queues[place % boxes]:
                self.place = (place + 1) % boxes
                return place % boxes
        return None

    def oldest(self) -> int | None:
        """The box where the row waits that arrived first; the lowest of several."""
        found, first = None, float("inf")
        for place, queue in enumerate(self.queues):
            if queue and queue[0] <= first:
                found, first = place, queue[0]
        return found

    def run(self, until: float, scheduler: Callable[[], int | None]) -> Record:
        now, ends = 0.0, self.period
        boxes = self.network.boxes
        luck: Iterator[float] = iter(())
        while now < until:
            self._arrive(min(now, ends))
            if now >= ends:
                self._decide(ends)
                ends += self.period
                continue
            place = scheduler()
            if place is None:  # nothing waits: on to whatever comes first
                coming = self.arrivals[self.next] if self.next < len(self.arrivals) else until
                now = min(max(now, coming), ends)
                continue
            box, below = boxes[place], self.below[place]
            arrived = self.queues[place].popleft()
            now = self.machine.end(now, box.cost)
            coin = next(luck, None)
            if coin is None:
                luck = iter(self.rng.random(4096).tolist())
                coin = next(luck)
            copies = int(box.selectivity + coin)
            if not copies:
                self.rows_out += 1
            elif below:
                for child in below:
                    self.queues[child].extend([arrived] * copies)
            else:
                self.rows_out += copies
                self.delivered.extend([(arrived, now - arrived)] * copies)
        return self._record()

    def _arrive(self, now: float) -> None:
        """Rows that have come by now are let in, or shed."""
        while self.next < len(self.arrivals) and self.arrivals[self.next] <= now:
            self.offered += 1
            if self.coins[self.next] < self.keep:
                self.queues[0].append(self.arrivals[self.next])
                self.rows_in += 1
            else:
                self.lost += 1
            self.next += 1

    def _decide(self, at: float) -> None:
        """The end of a period."""
        work = zip(self.queues, self.coefficients, strict=True)
        queued = sum(len(queue) * each for queue, each in work)
        cost = self.coefficients[0]
        recent = [response for _, response in self.delivered[self.reported :]]
        self.reported = len(self.delivered)
        kept, headroom = self.keep, float("nan")
        if self.controller is not None:
            seen = Period(
                seconds=self.period,
                demand=self.offered * cost,
                admitted=self.rows_in * cost,
                queued=queued,
                rows_in=self.rows_in,
                rows_out=self.rows_out,
                response=sum(recent) / len(recent) if recent else None,
                shed=self.keep < 1,
            )
            answer = self.controller.step(seen)
            self.keep, headroom = answer.keep, answer.headroom
        self.periods.append((at, kept, headroom, queued))
        self.rows_in = self.rows_out = self.offered = 0

    def _record(self) -> Record:
        at, keep, headroom, queued = np.array(self.periods).reshape(-1, 4).T
        arrival, response = np.array(self.delivered).reshape(-1, 2).T
        return Record(
            at=at,
            keep=keep,
            headroom=headroom,
            queued=queued,
            arrival=arrival,
            response=response,
            weight=np.ones(arrival.size),
            arrived=self.next,
            lost=self.lost,
        )
