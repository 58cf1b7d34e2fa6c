"""The least loss that holds a target: what nobody could undercut who knew everything beforehand."""

from __future__ import annotations

import numpy as np

from penstock.simulate.arrivals import Arrivals
from penstock.simulate.engine import Engine
from penstock.simulate.machine import Machine

_STEPS = 50  # in the target


def least_loss(arrivals: Arrivals, cost: float, machine: Machine, target: float) -> float:
    """The share of rows that must be lost, row by row, for none to take longer than the target.

    A row that arrives at t is done by t + target only if what waits before it fits into what the
    machine does until then. So the queue is a basin of that size, and what runs over is lost.

    Args:
        arrivals: of the stream.
        cost: seconds of work for a row.
        machine: does the work.
        target: in seconds.
    """
    ends = arrivals.ends
    done = np.diff(machine.capacity(np.concatenate([[0.0], ends])))
    basin = machine.capacity(ends + target) - machine.capacity(ends)
    queue = lost = 0.0
    for work, room, most in zip(
        (arrivals.rows * cost).tolist(), done.tolist(), basin.tolist(), strict=True
    ):
        queue = max(0.0, queue + work - room)
        if queue > most:
            lost += queue - most
            queue = most
    total = float(arrivals.rows.sum()) * cost
    return lost / total if total else 0.0


def least_loss_steady(load: float, dropped: float) -> float:
    """The share that must be lost when the load is so many times the capacity, for ever.

    Args:
        load: rows that arrive, in multiples of those that can be kept up with.
        dropped: what a dropped row costs, as a share of what a kept one costs.

    >>> least_loss_steady(2.0, 0.0), least_loss_steady(0.8, 0.1)
    (0.5, 0.0)
    """
    return min(1.0, max(0.0, 1 - (1 / load - dropped) / (1 - dropped)))


def least_loss_in_batches(
    engine: Engine, arrivals: Arrivals, target: float, q: float = 0.95
) -> float:
    """The share that must be lost in micro-batches, for the q-quantile of each to meet the target.

    When a batch begins, only the time and how long rows were collected matter for what follows. So
    the best durations are found from the end backwards, in steps of a fiftieth of the target.

    Args:
        engine: what batches cost; the machine is at its full speed.
        arrivals: of the stream.
        target: in seconds.
        q: the quantile.
    """
    step = target / _STEPS
    times = np.arange(int(arrivals.seconds / step) + 1) * step
    total = np.interp(times, np.append(0.0, arrivals.ends), np.append(0.0, arrivals.rows.cumsum()))
    longest = 2 * _STEPS
    lengths = np.arange(1, longest + 1)
    in_time = q * lengths[:, None] + lengths[None, :] <= _STEPS
    kept = np.zeros((times.size + longest + 1, longest + 1))  # from a time on, by the collecting
    for now in range(times.size - 1, 0, -1):
        rows = total[now] - total[np.maximum(0, now - lengths)]
        spare = lengths[None, :] * step - engine.fixed - rows[:, None] * engine.dropped
        keeps = np.minimum(rows[:, None], spare / (engine.cost - engine.dropped))
        after = keeps + kept[now + lengths, lengths][None, :]
        possible = np.where(in_time & (spare >= 0), after, -np.inf).max(axis=1)
        # What cannot be in time any more is read and dropped, however long that takes.
        reading = np.ceil((engine.fixed + rows * engine.dropped) / step).astype(np.int64)
        reading = np.clip(reading, 1, longest)
        kept[now, 1:] = np.where(np.isfinite(possible), possible, kept[now + reading, reading])
    return 1 - float(kept[1, 1]) / float(total[-1])
