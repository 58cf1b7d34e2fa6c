"""What a stream of a node is told to keep."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from penstock.drops.targets import Target
from penstock.engine.fleet.turning import keep
from penstock.engine.shedder import Shedder
from penstock.windows import sliding, tumbling


def told(shares: dict[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """The share of rows that sampled queries keep, and of windows that the others drop."""
    found: list[Any] = []
    targets = {
        "one": Target("one", tumbling(10, on="ts"), max_gap=4),
        "two": Target("two", sliding(20, 10, on="ts"), max_gap=4),
    }
    ordering = SimpleNamespace(by_hand=lambda rows, windows: found.append((rows, windows)))
    keep(cast("Shedder", SimpleNamespace(targets=targets, ordering=ordering)), shares)
    return cast("tuple[dict[str, float], dict[str, float]]", found[0])


def test_of_windows_that_overlap_more_are_dropped_for_as_many_rows():
    assert told({"one": 0.4, "two": 0.4, "sampled": 0.4}) == (
        {"sampled": 0.4},
        {"one": 0.6, "two": 0.8},
    )


def test_a_sample_has_some_rows_and_nothing_is_dropped_where_all_is_kept():
    assert told({"one": 1.0, "sampled": 0.0}) == ({"sampled": 0.001}, {"one": 0.0})
