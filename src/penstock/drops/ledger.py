"""The ledger: what became of every window of a query, so that a gap is never a riddle.

    watermark ──────────────────────►│
    windows     0    1    2    3    4│   5 …
                │    │    │    │    └ delivered
                │    │    │    └ revoked: given up when it was open already
                │    │    └ dropped, by the decision for a batch
                │    └ empty: it was kept, and no row of the query fell into it; or unseen, if
                │      rows were dropped at random, and none stayed
                └ delivered, or partly: each group is dropped by itself, and some were

A window is entered when the watermark has closed it: nothing can change any more. One that was
jumped over, as the user wished, is skipped. Where it is not known whether a window had rows, it is
only said to be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from penstock.drops.decisions import Decisions
from penstock.drops.targets import Target
from penstock.windows import last_closed, wids_at, window_bounds

MOST = 10_000
"""Windows of a query that a batch closes; where there are more, time has leapt."""


class Fate(StrEnum):
    """What became of a window."""

    DELIVERED = "delivered"
    PARTLY = "partly"
    DROPPED = "dropped"
    REVOKED = "revoked"
    SKIPPED = "skipped"
    LOST = "lost"
    EMPTY = "empty"
    UNSEEN = "unseen"
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class Entry:
    """One window of one query.

    Args:
        query: its name.
        window_start: in microseconds; None where the stream has no beginning.
        window_end: in microseconds.
        fate: what became of it; "partly" if groups were left out, "lost" if it is suppressed
            because a record was, "kept" if it was delivered or empty, and it is not known which,
            "unseen" if all rows that it had, if any, were dropped at random.
        decision: the batch for which it was dropped; None if it was not.
        batch: the batch that closed it.
    """

    query: str
    window_start: int | None
    window_end: int
    fate: Fate
    decision: int | None
    batch: int

    def row(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "fate": self.fate.value}


def entries(
    target: Target,
    decisions: Decisions,
    *,
    delivered: Collection[int] | None,
    closed: tuple[int, int],
    batch: int,
    thinned: Callable[[int, int], bool] = lambda *_: False,
) -> Iterator[Entry]:
    """The windows of a query that a batch has closed.

    Windows in which no row of any query has ever been are not entered: where a stream begins, or
    leaps by years, `closed` should begin with the first window that may have a row. Of more than
    `MOST` windows only those are entered that were delivered, or dropped.

    Args:
        target: the query.
        decisions: those that the batch ran by.
        delivered: ends of the windows with at least one answer, in microseconds. Of a query that is
            dropped per group, a window without any is dropped if a level held for it. None if that
            is not known.
        closed: the watermark before the batch and after it, in microseconds.
        batch: its id.
        thinned: tells of the start and the end of a window whether rows may have been dropped at
            random.
    """
    window = target.window
    before, after = (last_closed(mark, window) for mark in closed)
    ends = None if delivered is None else set(delivered)
    for w in _ids(range(before + 1, after + 1), ends, target, decisions):
        start, end = window_bounds(w, window)
        if start is not None and start >= end:
            continue  # it ended before the stream began
        seen = None if ends is None else end in ends
        fate, decision = _fate(w, seen, target, decisions)
        if fate is Fate.EMPTY and thinned(end if start is None else start, end):
            fate = Fate.UNSEEN
        yield Entry(target.name, start, end, fate, decision, batch)


def _ids(
    closed: range, ends: Collection[int] | None, target: Target, decisions: Decisions
) -> Iterable[int]:
    if len(closed) <= MOST:
        return closed
    known = {wids_at(end - 1, target.window)[0] for end in ends or ()}
    for run in decisions.runs(target.name):
        known |= set(range(max(run.first, closed.start), min(run.last + 1, closed.stop)))
    return sorted(known)


def _fate(
    w: int, seen: bool | None, target: Target, decisions: Decisions
) -> tuple[Fate, int | None]:
    run = decisions.run_of(target.name, w)
    if run is not None and run.skipped:
        return Fate.SKIPPED, run.by
    if run is not None:
        return (Fate.REVOKED if run.revoked else Fate.DROPPED), run.by
    if decisions.is_lost(target.window, w, target.reach):
        return Fate.LOST, None
    stride = target.max_gap + 1
    some = target.per_group and w % stride and decisions.threshold(target.name, w // stride)
    if seen is None:
        return Fate.KEPT, None
    if seen:
        return (Fate.PARTLY if some else Fate.DELIVERED), None
    return (Fate.DROPPED if some else Fate.EMPTY), None


Answers = Sequence[tuple[int, float | None]]
"""Window ends in microseconds, in order, and the answer of one group; None in a gap."""


def interpolate(answers: Answers) -> list[tuple[int, float | None, bool]]:
    """Gaps filled on the line between the neighbours; each answer says whether it was.

    A gap at the beginning or the end has one neighbour only, and stays.

    Args:
        answers: of one group; the windows to be filled stand in it with None.

    >>> interpolate([(10, 4.0), (20, None), (30, None), (40, 10.0), (50, None)])
    [(10, 4.0, False), (20, 6.0, True), (30, 8.0, True), (40, 10.0, False), (50, None, False)]
    """
    known = [(end, value) for end, value in answers if value is not None]
    filled: list[tuple[int, float | None, bool]] = []
    at = 0
    for end, value in answers:
        while at < len(known) and known[at][0] <= end:
            at += 1
        if value is not None or at == 0 or at == len(known):
            filled.append((end, value, False))
            continue
        (left, low), (right, high) = known[at - 1], known[at]
        filled.append((end, low + (high - low) * (end - left) / (right - left), True))
    return filled
