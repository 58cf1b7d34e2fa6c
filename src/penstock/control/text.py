"""Statistics as an aligned table that a person can read while a network runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.control.snapshot import Snapshot

_THOUSAND = 1000
_MICRO = 1e6


def render(known: Snapshot) -> str:
    """Every record as a line, under a line on the whole."""
    return "\n\n".join(
        [
            _whole(known),
            *(
                _aligned(head, words, lines)
                for head, words, lines in (_streams(known), _operators(known), _queries(known))
                if lines
            ),
        ]
    )


_Part = tuple[Sequence[str], int, list[list[str]]]


def _whole(known: Snapshot) -> str:
    costs = known.costs
    seen = f"{known.batches:,} batch" + ("" if known.batches == 1 else "es")
    if not costs.batches:
        return f"{seen}, none timed yet: costs are as believed"
    per_row = "" if known.cost_per_row is None else f" and {_micros(known.cost_per_row)} µs per row"
    return (
        f"{seen}, {costs.batches:,} of them timed: "
        f"{number(costs.fixed)} s per batch{per_row}, ± {_percent(costs.noise)}"
    )


def _streams(known: Snapshot) -> _Part:
    lines = [
        [each.name, number(each.rows), number(each.rate), number(each.backlog)]
        for each in known.streams.values()
    ]
    return ("stream", "rows", "rows/s", "backlog"), 1, lines


def _operators(known: Snapshot) -> _Part:
    head = ("operator", "kind", "rows in", "rows out", "selectivity", "µs/row", "±", "share")
    lines = [
        [
            each.name,
            each.kind,
            number(each.rows_in),
            number(each.rows_out),
            number(each.selectivity),
            _micros(each.cost),
            _micros(each.deviation),
            _percent(each.share),
        ]
        for each in known.operators.values()
    ]
    return head, 2, lines


def _queries(known: Snapshot) -> _Part:
    head = ("query", "group", "windows", "rows/window", "mean", "deviation", "hardness")
    lines = [
        [
            each.name,
            "all" if each.group is None else f"{each.group} (worst of {each.groups:,})",
            number(each.windows),
            number(each.rows_per_window),
            number(each.mean),
            number(each.deviation),
            number(each.hardness),
        ]
        for name, query in known.queries.items()
        for each in (query, known.worst.get(name))
        if each is not None
    ]
    return head, 2, lines


def number(value: float | None) -> str:
    """Three digits, or whole with separators; a dash for what is not known.

    >>> [number(value) for value in (None, 0.12345, 12.0, 12_345.6)]
    ['-', '0.123', '12', '12,346']
    """
    if value is None:
        return "-"
    if not math.isfinite(value):
        return "∞"
    return f"{value:,.0f}" if abs(value) >= _THOUSAND else f"{value:.3g}"


def _micros(seconds: float) -> str:
    return number(seconds * _MICRO)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _aligned(head: Sequence[str], words: int, lines: Iterable[Sequence[str]]) -> str:
    """Columns as wide as they need: the first few are words, to the left, the others numbers."""
    cells = [head, *lines]
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < words else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    )
