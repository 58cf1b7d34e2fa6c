"""When the rows of a recording are due, by a clock that is given.

A recording has steps (rows, or slots of time). It began to play at some moment of the clock, and a
step that is t µs into the recording is due t / speed later:

    clock      began ────────── began + t / speed ───────────►
    recording    0 ─────────────────── t ────────────────────►

Where a stream is stopped its recording stops too, and goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Clock = Callable[[], int]
"""Gives the time in microseconds since the epoch."""


def wall_clock() -> int:
    """The time of the computer, in microseconds since the epoch."""
    return time.time_ns() // 1_000


class Timeline(Protocol):
    """The steps of a recording in time."""

    @property
    def steps(self) -> int | None:
        """How many there are; None if it never ends."""
        ...

    def due(self, elapsed: int) -> int:
        """How many steps are due when so many µs of the recording have been played."""
        ...

    def within(self, start: int, end: int, rows: int) -> int:
        """How far from start towards end there are at most so many rows; at least one step."""
        ...


@dataclass(frozen=True, slots=True)
class Position:
    """How far a recording has been read.

    Args:
        step: the next one.
        began: when its time 0 was due, in µs of the clock; moved on where it was stopped.
        seen: when this was decided, in µs of the clock.
    """

    step: int
    began: int
    seen: int

    def offset(self) -> dict[str, int]:
        """As Spark keeps it in a checkpoint."""
        return asdict(self)


class Player:
    """Plays a recording by a clock.

    Args:
        timeline: its steps.
        speed: how many times its own pace; None for all at once.
        clock: the time in microseconds.
    """

    def __init__(self, timeline: Timeline, speed: float | None, clock: Clock) -> None:
        self._timeline = timeline
        self._speed = speed
        self._clock = clock
        self._began: int | None = None
        self._resumed: Position | None = None
        self._until: int | None = None
        self._only_due_now = False

    def begin(self) -> Position:
        """The start of the recording, which is now; Spark may ask for it more than once."""
        if self._began is None:
            self._began = self._clock()
        return Position(0, self._began, self._began)

    def only_what_is_due_now(self) -> None:
        """From the next look on nothing more becomes due."""
        self._only_due_now = True

    def look(self, start: Position, most: int | None = None) -> Position:
        """How far the recording can be read now.

        Args:
            start: how far it has been read.
            most: rows to go at most; at least one step is gone all the same.
        """
        now = self._clock()
        if self._began is None or (start.began != self._began and start != self._resumed):
            # Read by an earlier life of this stream: the time since then was not played.
            self._began, self._resumed = start.began + (now - start.seen), start
        step = self._due(now)
        if self._only_due_now:
            self._until = step if self._until is None else self._until
            step = self._until
        if step <= start.step:
            return start
        if most is not None:
            step = self._timeline.within(start.step, step, most)
        return Position(step, self._began, now)

    def newest(self) -> Position | None:
        """How far it could be read if there were no limit: the difference is the backlog."""
        if self._began is None:
            return None
        now = self._clock()
        return Position(self._due(now), self._began, now)

    def _due(self, now: int) -> int:
        steps = self._timeline.steps
        if self._speed is None:
            if steps is None:
                raise ValueError("a recording without an end cannot be played all at once")
            return steps
        elapsed = int((now - (self._began or 0)) * self._speed)
        due = self._timeline.due(elapsed)
        return due if steps is None else min(due, steps)


def scheduled(times: NDArray[np.int64], began: int, speed: float | None) -> NDArray[np.int64]:
    """When rows were due, in µs of the clock.

    Args:
        times: of the recording, in µs from its start.
        began: when its time 0 was due, in µs of the clock.
        speed: how many times its own pace; None if all was due at the start.

    >>> scheduled(np.array([0, 500_000, 1_000_000]), 7, 2.0).tolist()
    [7, 250007, 500007]
    """
    if speed is None:
        return np.full(len(times), began, dtype=np.int64)
    return began + np.rint(times / speed).astype(np.int64)
