"""The naive twin: every window is looked at for itself, and every row against each window."""

from collections.abc import Iterable

from penstock.drops.decisions import Decisions
from penstock.drops.targets import Target
from penstock.windows import wids_at, window_end


def dropped_ids(state: Decisions, target: Target) -> set[int]:
    return {w for run in state.runs(target.name) for w in range(run.first, run.last + 1)}


def open_ids(state: Decisions, target: Target) -> set[int]:
    mark = state.watermark
    ids = dropped_ids(state, target)
    return {w for w in ids if mark is None or window_end(w, target.window) > mark}


def may_be_dropped(times: Iterable[int], state: Decisions, targets: list[Target]) -> list[bool]:
    """Rule 1, word for word: closed windows are not known any more, and count as kept."""
    ids = [(target.window, open_ids(state, target)) for target in targets]
    found = []
    for t in times:
        windows = [w in dropped for window, dropped in ids for w in wids_at(t, window)]
        found.append(bool(windows) and all(windows))
    return found


def longest_gap(dropped: set[int]) -> int:
    longest = run = 0
    for w in range(min(dropped, default=0), max(dropped, default=0) + 1):
        run = run + 1 if w in dropped else 0
        longest = max(longest, run)
    return longest
