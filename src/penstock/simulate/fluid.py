"""A thousand operators for an hour: rows are a fluid, and time goes by control periods.

In a round robin each operator that has rows waiting gets as many turns as any other. So in a slot
of time each works on all that it has, or on `turns` rows, whichever is less; and `turns` is what
the machine's time is enough for. Rows go down the whole network within a slot if nothing holds
them up.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from penstock.control.period import Period, PeriodController
from penstock.simulate.arrivals import Arrivals
from penstock.simulate.machine import Floats, Machine
from penstock.simulate.network import Boxes
from penstock.simulate.record import Record

_CLOSE = 1e-4  # of the time of a slot
_TRIES = 60
_NONE = 1e-12  # seconds of work that are as good as none


class Fluid:
    """The queues of a network.

    Args:
        network: what is run.
    """

    def __init__(self, network: Boxes) -> None:
        place = {box.name: i for i, box in enumerate(network.boxes)}
        nothing = len(place)  # an operator of which nothing comes
        level = np.zeros(nothing, dtype=np.int64)
        for box in network.boxes:
            if box.above:
                level[place[box.name]] = 1 + max(level[place[name]] for name in box.above)
        most = max(1, *(len(box.above) for box in network.boxes))
        parents = np.full((nothing, most), nothing)
        for i, box in enumerate(network.boxes):
            parents[i, : len(box.above)] = [place[name] for name in box.above]
        self._levels: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = [
            (at, parents[at]) for at in (np.flatnonzero(level == n) for n in range(level.max() + 1))
        ]
        self._cost = np.array([box.cost for box in network.boxes])
        self._selectivity = np.array([box.selectivity for box in network.boxes])
        self._delivers = np.array([not network.feeds[box.name] for box in network.boxes])
        self._copies = np.array([len(network.feeds[box.name]) for box in network.boxes])
        self._coefficient = np.array([network.coefficients[box.name] for box in network.boxes])
        self._turns = 1.0
        self.waiting = np.zeros(nothing)
        self.rows_out = 0.0

    @property
    def queued(self) -> float:
        """Seconds of work that wait, over every queue."""
        return float(self.waiting @ self._coefficient)

    def work(self, rows: float, seconds: float) -> None:
        """A slot of time.

        Args:
            rows: that come in.
            seconds: of work that the machine can do.
        """
        had = self.waiting.copy()
        had[0] += rows
        done, came = self._sweep(had, float("inf"))
        if done @ self._cost > seconds:
            done, came = self._fitting(had, seconds)
        self.waiting = np.maximum(0.0, had + came - done)
        out = done * self._selectivity
        discarded = np.maximum(0.0, done - out)
        self.rows_out += float(discarded.sum() + out[self._delivers].sum())

    def _sweep(self, had: Floats, turns: float) -> tuple[Floats, Floats]:
        """Rows that each works on and rows that come to it, if each has so many turns."""
        done = np.zeros(had.size)
        out = np.zeros(had.size + 1)
        came = np.zeros(had.size)
        for at, parents in self._levels:
            came[at] = out[parents].sum(axis=1)
            done[at] = np.minimum(had[at] + came[at], turns)
            out[at] = done[at] * self._selectivity[at]
        return done, came

    def _fitting(self, had: Floats, seconds: float) -> tuple[Floats, Floats]:
        """The turns for which the time is just enough; it rises with them, ever more slowly."""

        def over(turns: float) -> float:
            return float(self._sweep(had, turns)[0] @ self._cost) - seconds

        self._turns = _root(over, self._turns, _CLOSE * seconds)
        return self._sweep(had, self._turns)


def _root(rising: Callable[[float], float], guess: float, close: float) -> float:
    """Where a function crosses 0 that rises from below 0 at 0; from below, by at most `close`."""
    low, below = 0.0, rising(0.0)
    high, above = guess, rising(guess)
    while above < 0:
        low, below = high, above
        high *= 2
        above = rising(high)
    side = 0
    for _ in range(_TRIES):
        # The false position; an end that stays twice counts half (the Illinois method).
        middle = (low * above - high * below) / (above - below)
        value = rising(middle)
        if abs(value) <= close:
            return middle
        if value < 0:
            low, below, above, side = middle, value, above / 2 if side < 0 else above, -1
        else:
            high, above, below, side = middle, value, below / 2 if side > 0 else below, 1
    return low


def run_fluid(
    network: Boxes,
    arrivals: Arrivals,
    controller: PeriodController | None,
    *,
    machine: Machine,
    every: int = 1,
) -> Record:
    """A run of a large network; the response time is how long the work before a row takes.

    Args:
        network: what is run.
        arrivals: of the stream, in slots of time.
        controller: says how much may come in; None for a network that sheds nothing.
        machine: does the work.
        every: slots from one decision to the next.
    """
    fluid, cost = Fluid(network), network.cost
    ends = arrivals.ends
    room = np.diff(machine.capacity(np.concatenate([[0.0], ends])))
    let_in, done = np.zeros(ends.size + 1), np.zeros(ends.size + 1)
    keep, lost, periods = 1.0, 0.0, []
    for slot, (rows, seconds) in enumerate(zip(arrivals.rows.tolist(), room.tolist(), strict=True)):
        fluid.work(keep * rows, seconds)
        lost += (1 - keep) * rows
        let_in[slot + 1] = let_in[slot] + keep * rows * cost
        queued = fluid.queued
        done[slot + 1] = max(done[slot], let_in[slot + 1] - queued)
        if (slot + 1) % every:
            continue
        kept, headroom = keep, float("nan")
        if controller is not None:
            since = slot + 1 - every
            came = float(arrivals.rows[since : slot + 1].sum())
            seen = Period(
                seconds=every * arrivals.slot,
                demand=came * cost,
                admitted=let_in[slot + 1] - let_in[since],
                queued=queued,
                rows_in=came * keep,
                rows_out=fluid.rows_out,
                response=_response(let_in, done[slot + 1], slot + 1, arrivals.slot),
                shed=keep < 1,
            )
            answer = controller.step(seen)
            keep, headroom = answer.keep, answer.headroom
        fluid.rows_out = 0.0
        periods.append((ends[slot], kept, headroom, queued))
    at, kept_then, headrooms, queues = np.array(periods).reshape(-1, 4).T
    finished = np.interp(let_in[1:], _rising(done), np.concatenate([[0.0], ends]), right=np.inf)
    in_time = np.isfinite(finished)
    return Record(
        at=at,
        keep=kept_then,
        headroom=headrooms,
        queued=queues,
        arrival=ends[in_time],
        response=np.maximum(0.0, finished - ends)[in_time],
        weight=np.diff(let_in)[in_time] / cost,
        arrived=float(arrivals.rows.sum()),
        lost=lost,
    )


def _rising(values: Floats) -> Floats:
    """The same, but for a hair: so that the time when a value was reached is the first one."""
    found: Floats = values + _NONE * np.arange(values.size)
    return found


def _response(let_in: Floats, done: float, now: int, slot: float) -> float:
    """How long ago the row arrived that is done now, in seconds."""
    arrived = int(np.searchsorted(let_in[: now + 1], done, side="left"))
    return max(0.0, (now - arrived) * slot)
