"""To jump over a backlog: windows that begin before a time are given up, and their rows with them.

    windows of 10, every 5      |----x----|
                                     |----x----|
                                          |----x----|            x: skipped
                                               |----o----|       the first that begins at `until`
    rows                        x x x x x x x x o o o o o
                                              until

It is the user's choice after an outage, for all queries at once, whatever gap they tolerate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.drops.advance import SPAN
from penstock.drops.decisions import Decisions, ordered
from penstock.drops.marks import Marks
from penstock.drops.targets import Target, last_of
from penstock.windows import first_wid


def skip(
    state: Decisions, targets: Mapping[str, Target], *, until: int, newest: int | None, by: int
) -> Decisions:
    """The decisions with all windows dropped that are open, or to come, and begin before a time.

    Rows before it belong to no other windows, so none of them is needed; later ones are kept. That
    so many windows are missing counts for the gaps that follow. A jump over very many windows is
    decided in several steps: it is asked for again until rows have come that far.

    Args:
        state: the decisions so far.
        targets: every query that may lose rows, by name.
        until: the time to jump to, in microseconds.
        newest: the largest event time seen so far, in microseconds; None after a restart.
        by: the id of the batch for which it is decided.

    >>> from penstock.windows import sliding
    >>> target = Target("n", sliding(10, 5, on="ts"), max_gap=1)
    >>> state = skip(Decisions(watermark=20), {"n": target}, until=40, newest=27, by=3)
    >>> [(run.first, run.last, run.revoked) for run in state.runs("n")]
    [(4, 6, True), (7, 8, False)]
    """
    seen = state.watermark if newest is None else newest
    if seen is None:
        return state  # nothing has been read: there is nothing to jump from
    dropped = dict(state.dropped)
    for name, target in targets.items():
        first = state.first_open(target.window)
        first = first_wid(seen, target.window) if first is None else first
        last = min(last_of(until - 1, target), first + SPAN)
        if first <= last:
            marks = Marks(first, last + 1, state.runs(name))
            marks.drop(range(first, last + 1))
            added = marks.added(by, last_of(min(seen, until - 1), target))
            jumped = (replace(run, skipped=True) for run in added)
            dropped[name] = ordered([*state.runs(name), *jumped])
    return replace(state, dropped=dropped)
