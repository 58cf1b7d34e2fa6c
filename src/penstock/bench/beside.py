"""Other work takes a core for a while: when is the target held again, and what is lost then?

other work           ┌─────────────────┐
                ─────┘                 └────────────────
late batches         │▒▒▒│ held again      held
shed            before   │  during     │  …   after
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.control.status import Status

TOLERATED = 1.1
"""A batch is held that took no more than this, in multiples of the target."""
_IN_A_ROW = 2
_FIRST = -20  # the highest priority


@contextlib.contextmanager
def other_work() -> Iterator[subprocess.Popen[bytes]]:
    """A process that keeps a core busy, one of those that this one may use."""
    core = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        if core is not None:
            os.sched_setaffinity(busy.pid, {core})
        with contextlib.suppress(PermissionError):  # then it has to share the core
            os.setpriority(os.PRIO_PROCESS, busy.pid, _FIRST)
        yield busy
    finally:
        busy.kill()
        busy.wait()


@dataclass(frozen=True, slots=True)
class Beside:
    """What became of a run while there was other work.

    Args:
        history: of the run.
        since: when it began to count, in seconds since the epoch.
        begins: when the other work began.
        ends: when it ended.
    """

    history: Sequence[Status]
    since: float
    begins: float
    ends: float

    def late_batches(self) -> int:
        """Batches that ended during other work before the target was held in two in a row.

        All of them if it never was.
        """
        held = [_is_held(one) for one in self._between(self.begins, self.ends)]
        for i in range(len(held)):
            if all(held[i : i + _IN_A_ROW]):
                return i
        return len(held)

    def shed(self, since: float, until: float) -> float:
        """The share of rows that no query got."""
        some = self._between(since, until)
        rows = sum(one.rows for one in some)
        return sum(one.shed for one in some) / rows if rows else 0.0

    def values(self) -> dict[str, float | int]:
        """Plain values; the second half of a stretch is what it settled at."""
        middle = (self.begins + self.ends) / 2
        last = max(one.at for one in self.history)
        found = {
            "shed_before": self.shed(self.since, self.begins),
            "shed_during": self.shed(middle, self.ends),
            "shed_after": self.shed((self.ends + last) / 2, last),
            "held_before": self._share_held(self.since, self.begins),
            "held_during": self._share_held(middle, self.ends),
            "held_after": self._share_held((self.ends + last) / 2, last),
        }
        rounded = {name: round(value, 4) for name, value in found.items()}
        return {"late_batches": self.late_batches(), **rounded}

    def _share_held(self, since: float, until: float) -> float:
        some = self._between(since, until)
        return sum(map(_is_held, some)) / len(some) if some else 0.0

    def _between(self, since: float, until: float) -> list[Status]:
        return [one for one in self.history if since < one.at <= until]


def _is_held(one: Status) -> bool:
    return one.response is None or one.target is None or one.response <= TOLERATED * one.target
