"""A thousand operators for an hour: rows are a fluid, and time goes by control periods.

In a round robin each operator that has rows waiting gets as many turns as any other. So in a slot
of time each works on all that it has, or on `turns` rows, whichever is less; and `turns` is what
the machine's time is enough for. Rows go down the whole network within a slot if nothing holds
them up.
"""

from __future__ import annotations

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
        level: dict[str, int] = {}
        for box in network.boxes:
            level[box.name] = 1 + max((level[name] for name in box.above), default=-1)
        boxes = sorted(network.boxes, key=lambda box: level[box.name])
        place = {box.name: i for i, box in enumerate(boxes)}
        # Every box has as many boxes above it as any; where it has less, the last place is nobody.
        most = max(1, *(len(box.above) for box in boxes))
        parents = np.full((len(boxes), most), len(boxes))
        for i, box in enumerate(boxes):
            parents[i, : len(box.above)] = [place[name] for name in box.above]
        ends = np.cumsum(np.bincount([level[box.name] for box in boxes])).tolist()
        self._levels: list[tuple[slice, NDArray[np.int64]]] = [
            (slice(start, end), parents[start:end])
            for start, end in zip([0, *ends], ends, strict=False)
        ]
        self._cost = np.array([box.cost for box in boxes])
        self._selectivity = np.array([box.selectivity for box in boxes])
        self._delivers = np.array([not network.feeds[box.name] for box in boxes])
        self._coefficient = np.array([network.coefficients[box.name] for box in boxes])
        self._turns = 1.0
        self.waiting = np.zeros(len(boxes))
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
        """As many turns as the time is just enough for: what they take rises with them."""
        low, below = 0.0, -seconds
        high, above, side = float("inf"), 0.0, 0
        turns = self._turns
        for _ in range(_TRIES):
            found = self._sweep(had, turns)
            over = float(found[0] @ self._cost) - seconds
            if abs(over) <= _CLOSE * seconds:
                break
            if over < 0:
                low, below, above, side = turns, over, above / 2 if side < 0 else above, -1
            else:
                high, above, below, side = turns, over, below / 2 if side > 0 else below, 1
            # The false position; an end that stays twice counts half (the Illinois method).
            turns = (
                2 * low if high == float("inf") else (low * above - high * below) / (above - below)
            )
        self._turns = turns
        return found


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
