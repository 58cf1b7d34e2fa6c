"""Statistics the slow way: every batch is kept, and weighed anew for each number."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from itertools import pairwise

from penstock.control import Observation

Entry = tuple[float, ...]


def weighed(entries: Sequence[Entry], half_life: float) -> Entry:
    """Sums in which the newest entry counts 1, and each older one a little less."""
    newest = len(entries) - 1
    weights = [0.5 ** ((newest - place) / half_life) for place in range(len(entries))]
    return tuple(
        math.fsum(weight * value for weight, value in zip(weights, column, strict=True))
        for column in zip(*entries, strict=True)
    )


def selectivity(batches: Sequence[Observation], name: str, half_life: float) -> float | None:
    flows = [batch.operators[name] for batch in batches if name in batch.operators]
    entries = [(flow.rows_out, flow.rows_in) for flow in flows if flow.rows_out is not None]
    entries = [entry for entry in entries if any(entry)]
    if not entries:
        return None
    above, below = weighed(entries, half_life)
    return above / below if below > 0 else None


def rate(batches: Sequence[Observation], name: str, half_life: float) -> float | None:
    """Of all batches but the first, which no period is known for."""
    entries = []
    for before, batch in pairwise(batches):
        if name not in batch.rows:
            continue
        both = name in before.backlog and name in batch.backlog
        grown = batch.backlog[name] - before.backlog[name] if both else 0.0
        entries.append((max(0.0, batch.rows[name] + grown), batch.at - before.at))
    if not entries:
        return None
    above, below = weighed(entries, half_life)
    return above / below


def moments(batches: Sequence[Observation], name: str, half_life: float) -> Entry | None:
    """Rows, total, squares and windows of all rows together."""
    found = [batch.queries[name].overall for batch in batches if name in batch.queries]
    entries = [(one.rows, one.total, one.squares, one.windows) for one in found]
    return weighed(entries, half_life) if entries else None


def hardness(batches: Sequence[Observation], name: str, half_life: float) -> dict[Hashable, float]:
    """Of each group that was seen lately enough."""
    answered = [batch.queries[name] for batch in batches if name in batch.queries]
    found = {}
    for group in {group for answers in answered for group in answers.groups}:
        entries = [
            (one.total, one.squares, one.windows) if one is not None else (0.0, 0.0, 0.0)
            for one in (answers.groups.get(group) for answers in answered)
        ]
        total, squares, windows = weighed(entries, half_life)
        if windows > 0.05:
            found[group] = squares * windows / total**2
    return found
