"""Answers of a run beside the truth: how far they are off, and which are wrong."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.bench.deviations import relative_error
from penstock.bench.feed import Truth
from penstock.bench.packets import WORKLOAD


@dataclass(frozen=True)
class Checked:
    """What was found.

    Args:
        errors: one for each query and window.
        wrong: rows that are not in the exact answer, and rows of it that are missing in a window
            that was delivered.
    """

    errors: list[float]
    wrong: int

    @property
    def mean(self) -> float:
        """Of the errors; 0 if there are none."""
        return statistics.mean(self.errors) if self.errors else 0.0


def checked(rows: Iterable[Mapping[str, Any]], truth: Truth) -> Checked:
    """Compares answers with the truth.

    Args:
        rows: of all queries, with `query` and the window.
        truth: the exact answers.
    """
    windows: dict[tuple[str, int, int], dict[tuple[object, ...], Mapping[str, Any]]]
    windows = defaultdict(dict)
    for row in rows:
        keys = WORKLOAD[row["query"]][1]
        start, end = (round(row[n].timestamp() * 1e6) for n in ("window_start", "window_end"))
        windows[row["query"], start, end][tuple(row[key] for key in keys)] = row
    errors, wrong = [], 0
    for (query, start, end), got in windows.items():
        exact, summed = truth.groups(query, start, end), WORKLOAD[query][-1]
        name, place = ("bytes", 1) if summed else ("n", 0)
        values = {group: float(sums[place]) for group, sums in exact.items()}
        errors.append(relative_error(values, {g: float(row[name]) for g, row in got.items()}))
        for group in exact.keys() | got.keys():
            n, size = exact.get(group, (0, 0))
            found = got.get(group, {"n": None})
            wrong += found["n"] != n or (summed and found["bytes"] != size)
    return Checked(errors, wrong)
