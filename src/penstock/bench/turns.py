"""Streams take turns, batch by batch: what slows the machine down for a while slows all of them.

    stream 1   ─┤ turn ├─ waits ───────────────┤ turn ├─
    stream 2   ─ waits ┤ turn ├─ waits ─┤ turn ├─
                round 1           │     round 2

A stream waits where its answers are about to be computed. Its turn is all that it does from there
to the same place of its next batch: rows, answers, books and the commit, and what Spark plans for
the batch that follows. In each round every stream has one turn, in an order drawn anew, so that
none always comes after the same other one and pays for what that has left behind.

On a machine that others work on too, seconds by the clock are theirs as well. So the seconds are
also told that the processors have worked for these processes: those are nearly free of the others.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame

from penstock.engine.network_run import NetworkRun

Sink = Callable[[DataFrame, int], None]
Start = Callable[[str, Sink], NetworkRun]
"""Starts a stream with a name of its own and a sink; it has more batches than there are rounds."""

_PATIENCE = 300.0
"""Seconds after which a stream that waits for its turn takes another one for dead."""
_TICKS = os.sysconf("SC_CLK_TCK")
_DRAWN = 2000
_SURE = 0.95


def look(batch: DataFrame, _: int) -> None:
    """Computes the answers, and keeps none."""
    batch.write.format("noop").mode("overwrite").save()


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of a stream.

    Args:
        seconds: by the clock.
        worked: seconds of processors, of this process and all that it has started.
    """

    seconds: float
    worked: float


def taking_turns(starts: Mapping[str, Start], rounds: int) -> dict[str, list[Turn]]:
    """Stream → its turns.

    Args:
        starts: the streams, by name.
        rounds: how many turns each has.
    """
    turns = _Turns(list(starts), rounds)
    runs = [start(name, turns.sink(name)) for name, start in starts.items()]
    for run in runs:
        run.wait()
    return turns.taken


def worked() -> float:
    """Seconds that processors have worked for this process and those under it; 0 if unknown."""
    ticks, parents = dict[int, int](), dict[int, int]()
    for entry in Path("/proc").glob("[0-9]*/stat"):  # nothing where there is no such folder
        with suppress(OSError):  # it has just ended
            values = entry.read_text().rpartition(")")[2].split()
            parents[int(entry.parent.name)] = int(values[1])
            ticks[int(entry.parent.name)] = int(values[11]) + int(values[12])
    mine = {os.getpid()}
    for _ in parents:  # those of a process, then those of these, until there are no more
        more = {pid for pid, parent in parents.items() if parent in mine} - mine
        if not more:
            break
        mine |= more
    return sum(ticks.get(pid, 0) for pid in mine) / _TICKS


@dataclass
class _Turns:
    names: Sequence[str]
    rounds: int
    taken: dict[str, list[Turn]] = field(init=False)
    _order: list[str] = field(default_factory=list)
    _done: int = 0
    _began: dict[str, Turn] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self.taken = {name: [] for name in self.names}
        draw = random.Random(0)  # noqa: S311 - an order, not a secret
        for _ in range(self.rounds):
            self._order += draw.sample(self.names, len(self.names))

    def sink(self, name: str) -> Sink:
        """What a stream hands its answers to."""

        def wait_and_look(batch: DataFrame, number: int) -> None:
            self._next(name)
            look(batch, number)

        return wait_and_look

    def _next(self, name: str) -> None:
        """The turn of a stream ends here, and it waits for the next one."""
        with self._changed:
            if name in self._began and self._done < len(self._order):
                now, began = _now(), self._began[name]
                turn = Turn(now.seconds - began.seconds, now.worked - began.worked)
                self.taken[name].append(turn)
                self._done += 1
                self._changed.notify_all()
            if not self._changed.wait_for(lambda: self._is_next(name), _PATIENCE):
                self._done = len(self._order)  # so that all come to their end, and say why
                self._changed.notify_all()
            self._began[name] = _now()

    def _is_next(self, name: str) -> bool:
        return self._done >= len(self._order) or self._order[self._done] == name


def _now() -> Turn:
    return Turn(time.perf_counter(), worked())


@dataclass(frozen=True, slots=True)
class Ratio:
    """How the turns of some streams compare with those of others.

    Args:
        value: the quotient of the medians.
        low: the exact one is above this, and
        high: below this, in 95 of 100 cases.
    """

    value: float
    low: float
    high: float

    @property
    def interval(self) -> list[float]:
        """Rounded."""
        return [round(self.low, 3), round(self.high, 3)]


def ratio(above: Sequence[Sequence[float]], below: Sequence[Sequence[float]]) -> Ratio:
    """The quotient of two medians, and how sure it is: rounds are drawn again, with replacement.

    Turns of one round stay together, for what slowed one of them down slowed them all.

    Args:
        above: of each stream, the seconds of its turns, round by round.
        below: of the others.

    >>> ratio([[1.0, 1.0, 1.0]], [[2.0, 2.0, 2.0]]).value
    0.5
    """
    a, b = np.array(above), np.array(below)
    drawn = np.random.default_rng(0).integers(0, a.shape[1], (_DRAWN, a.shape[1]))
    tops = np.median(a[:, drawn].transpose(1, 0, 2).reshape(_DRAWN, -1), axis=1)
    bottoms = np.median(b[:, drawn].transpose(1, 0, 2).reshape(_DRAWN, -1), axis=1)
    low, high = np.quantile(tops / bottoms, [(1 - _SURE) / 2, (1 + _SURE) / 2])
    return Ratio(float(np.median(a) / np.median(b)), float(low), float(high))
