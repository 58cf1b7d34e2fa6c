"""Groups drop windows each for itself, by a hash, so that no list of groups is needed.

    B = 3, batches of B + 1     │ o  x  x  x │ o  x  x  x │ o  .  .  . │
    group a                       o  x  x  x   o  o  o  o     its hash is below the threshold of
    group b                       o  o  o  o   o  x  x  x     the first batch, or of the second

The first window of each batch is kept for every group: so no gap exceeds B, whatever the hashes.
A hash is of the query, the group and the number of the batch, `HASH_BITS` bits, by whoever has the
group at hand.
"""

from __future__ import annotations

from penstock.drops.coins import threshold
from penstock.drops.decisions import Decisions, Level
from penstock.drops.targets import Target
from penstock.errors import SpecificationError, complaint
from penstock.windows import first_wid, last_closed, last_wid


def batch_of(w: int, max_gap: int) -> int | None:
    """The batch that a window is dropped with; None if it is kept for every group.

    Args:
        w: a window-id.
        max_gap: B of the query.

    >>> [batch_of(w, 3) for w in range(6)]
    [None, 0, 0, 0, None, 1]
    """
    return w // (max_gap + 1) if w % (max_gap + 1) else None


def is_dropped(state: Decisions, target: Target, w: int, hash_of: int) -> bool:
    """Whether a window of one group is dropped.

    Args:
        state: the decisions.
        target: a query that is dropped per group.
        w: a window-id.
        hash_of: of the query, the group and the number of the window's batch.
    """
    batch = batch_of(w, target.max_gap)
    by_group = batch is not None and hash_of < state.threshold(target.name, batch)
    return by_group or state.is_dropped(target.name, w)


def raise_levels(
    state: Decisions, target: Target, p: float, newest: int, until: int
) -> tuple[Level, ...]:
    """The levels of a query once the windows that rows are still to come for are at p, or more.

    Args:
        state: the decisions so far.
        target: a query that is dropped per group.
        p: the share of windows to drop; above B/(B + 1) is that.
        newest: the largest event time seen so far, in microseconds.
        until: up to where rows are to be decided about, in microseconds.
    """
    stride = target.max_gap + 1
    levels = state.levels.get(target.name, ())
    if any(level.stride != stride for level in levels):
        rule = f"of {target.name!r}, which is dropped per group, cannot change while it is dropped"
        hint = "drop none of its windows until those that are open have closed"
        raise SpecificationError(complaint("max_gap", rule, target.max_gap, hint))
    wanted = threshold(min(1.0, p * stride / target.max_gap)) if target.max_gap else 0
    last = last_wid(until, target.window)
    assert last is not None  # noqa: S101 - a target has last windows
    now = range(first_wid(newest, target.window) // stride, last // stride + 1)
    if not wanted or not now:
        return levels
    thresholds = {
        batch: level.threshold for level in levels for batch in range(level.first, level.last + 1)
    }
    for batch in now:
        thresholds[batch] = max(wanted, thresholds.get(batch, 0))
    return _levels(thresholds, stride)


def forget_levels(levels: tuple[Level, ...], target: Target, watermark: int) -> tuple[Level, ...]:
    """The levels of batches that have an open window."""
    first_open = last_closed(watermark, target.window) + 1
    kept = []
    for level in levels:
        first = max(level.first, first_open // level.stride)
        if first <= level.last:
            kept.append(Level(first, level.last, level.threshold, level.stride))
    return tuple(kept)


def _levels(thresholds: dict[int, int], stride: int) -> tuple[Level, ...]:
    found: list[Level] = []
    for batch, wanted in sorted(thresholds.items()):
        if found and (found[-1].last + 1, found[-1].threshold) == (batch, wanted):
            found[-1] = Level(found[-1].first, batch, wanted, stride)
        else:
            found.append(Level(batch, batch, wanted, stride))
    return tuple(found)
