"""A running network is looked at until its time is over, it ends, it fails, or Ctrl-C comes."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Literal, Protocol

from penstock.errors import PenstockError
from penstock.view.live import View
from penstock.view.scene import Scene
from penstock.view.terminal import Moment

POLL, DRAWN = 0.25, 1.0
"""Seconds after which it is asked whether the run is over, and after which it is shown again."""

Ended = Literal["its time was over", "the stream ended", "interrupted", "failed"]


class Running(Protocol):
    """What is asked of a running network."""

    def scene(self) -> Scene:
        """All that is shown of it."""
        ...

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for its end; raises what has failed."""
        ...

    def stop(self) -> None:
        """Stops it."""
        ...


@dataclass(frozen=True, slots=True)
class Watched:
    """A run that is over.

    Args:
        scene: all of it.
        ended: how it ended.
        failure: what has failed.
    """

    scene: Scene
    ended: Ended
    failure: PenstockError | None = None


def watched(
    run: Running,
    view: View,
    seconds: float | None,
    clock: Callable[[], float] = time.monotonic,
) -> Watched:
    """Shows a run until it is over, and stops it.

    Args:
        run: a network that has started.
        view: where it is shown.
        seconds: how long it runs; None for no end.
        clock: in seconds.
    """
    began = shown = clock()
    ended: Ended | None = None
    failure: PenstockError | None = None
    with interrupts() as came, view.open():
        while ended is None:
            # A long run has much to draw: the stream needs the machine more than its view does.
            if (now := clock()) - shown >= DRAWN:
                view.show(run.scene(), Moment(now - began, seconds))
                shown = now
            try:
                over = run.wait(POLL)
            except PenstockError as error:
                ended, failure = "failed", error
                break
            if came.is_set():
                ended = "interrupted"
            elif over:
                ended = "the stream ended"
            elif seconds is not None and clock() - began >= seconds:
                ended = "its time was over"
        run.stop()
        scene = run.scene()
        view.show(scene, Moment(clock() - began, seconds))
    return Watched(scene, ended, failure)


@contextmanager
def interrupts() -> Iterator[threading.Event]:
    """The first Ctrl-C, or request to end, is noted; the second one interrupts as usual."""
    came = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        if came.is_set():
            signal.default_int_handler(number, frame)
        came.set()

    usual = {one: signal.signal(one, note) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for one, handler in usual.items():
            signal.signal(one, handler)
