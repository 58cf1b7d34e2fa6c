"""Sums of estimates: what the answers below know of their rows adds up to an estimate again.

    answer below      n, ΣW, ΣW² …  of its rows   ─┐
    answer below      n, ΣW, ΣW² …                ─┼─►  the same of a window over them, as if it
    answer below      n, ΣW, ΣW² …                ─┘    were over the rows

See `drops.linear` for rows that are in several answers of a window: their squares, and how large
one may be, count m times, and as a sample they are not more than they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

from penstock.drops.linear import summed, times
from penstock.engine.flow import Flow
from penstock.engine.frame import COUNTED, HIGHEST, LOWEST, SQUARES, Answers
from penstock.engine.groups import (
    HEAVIEST,
    ROWS,
    SAMPLE_SIZE,
    Columns,
    stands_for,
    value_name,
    varies,
)
from penstock.engine.lowering import SUMMED
from penstock.engine.schema import OURS
from penstock.network.aggregates import Aggregate as Asked
from penstock.network.operators import Aggregate, Operator, base, feeds

_MERGED = {HEAVIEST: "max", LOWEST: "min", HIGHEST: "max"}
"""How what is known is put together, by the word that its name begins with; all else is added."""


def summed_estimates(
    aggregate: Aggregate, flow: Flow, columns: Columns, answers: Mapping[Aggregate, Answers]
) -> tuple[Answers, list[dict[str, str]]]:
    """Where an aggregate has what its estimates are computed from, under the names for rows.

    Args:
        aggregate: sums over sampled answers.
        flow: over the answers of the level below; takes columns.
        columns: of the level; takes slots.
        answers: where each aggregate below has its own.

    Returns:
        name → slot; of each of its feeds, input of a slot → column of the flow's frame.
    """
    known = [_known(aggregate, feed, answers) for feed in feeds(aggregate.input)]
    names = list(known[0])
    slots = columns.take_merged([_MERGED.get(name.split()[0], "sum") for name in names])
    ways = []
    for values in known:
        number = len(flow.frame.columns)
        made = {name: f"{OURS}known_{number}_{i}" for i, name in enumerate(names)}
        listed = (values[name].cast("double").alias(made[name]) for name in names)
        flow.frame = flow.frame.select("*", *listed)
        filled = zip(slots, names, strict=True)
        ways.append({value_name(slot): made[name] for slot, name in filled})
    return dict(zip(names, slots, strict=True)), ways


def _known(
    aggregate: Aggregate, feed: Operator, answers: Mapping[Aggregate, Answers]
) -> dict[str, Column]:
    """What one answer below adds to what is known of a window."""
    lower = base(feed)
    assert isinstance(lower, Aggregate)  # noqa: S101 - it stands over windows
    slots = answers[lower]
    m = times(aggregate) / times(lower)  # what is known below has been taken so many times there
    found = {
        HEAVIEST: F.col(slots[HEAVIEST]),
        SAMPLE_SIZE: F.col(slots.get(SAMPLE_SIZE, ROWS)) / m,
        stands_for(ROWS): F.col(slots[stands_for(ROWS)]) / m,
    }
    for function in aggregate.query.aggregates.values():
        name = summed(function, feed)
        assert name is not None  # noqa: S101 - others are refused
        found |= _of_values(function.column or "", lower.query.aggregates[name], slots, m)
    return found


def _of_values(column: str, below: Asked, slots: Answers, m: float) -> dict[str, Column]:
    """What is known of the values that a sum below has added up; those of a count are ones.

    Args:
        column: what it is called above.
        below: the sum or count.
        slots: where the answers below are.
        m: how often a row may be in a window above, for once that it is in one of these.
    """
    counted = ROWS if below.column is None else f"{COUNTED} {below.column}"
    total = squares = counted
    low = high = F.lit(1.0)
    if below.function == "sum":
        total, squares = (f"{what} {below.column}" for what in (SUMMED, SQUARES))
        low, high = (F.col(slots[f"{which} {below.column}"]) for which in (LOWEST, HIGHEST))
    return {
        f"{COUNTED} {column}": F.col(slots.get(counted, ROWS)) / m,
        stands_for(f"{SUMMED} {column}"): F.col(slots[stands_for(total)]),
        stands_for(f"{SQUARES} {column}"): F.col(slots[stands_for(squares)]) * m,
        varies(f"{SQUARES} {column}"): F.col(slots[varies(squares)]) * m,
        f"{LOWEST} {column}": low * m,
        f"{HIGHEST} {column}": high * m,
    }
