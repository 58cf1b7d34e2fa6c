"""What is counted on the way: rows that do not count, and how many rows pass each operator.

Both are groups of the panes: a count for each row, or a mask for one row in 64 with a bit for each
operator that it passes. They are added up where panes go on to windows, of which there are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.engine.columns import BITS, bits
from penstock.engine.flow import Flow
from penstock.engine.frame import GROUP, PANE
from penstock.engine.groups import ROWS
from penstock.engine.step import quoted
from penstock.network.operators import Operator, Source, base

SAMPLED = "penstock_sampled"
BOOKED = "booked"
ONE_IN = 64
"""One row in so many tells which operators it passes."""

COUNTS, SAMPLE, NO_TIME_AT_ALL, IN_NO_WINDOW, LATE_LOST, LATE_PARTIAL = range(6)
"""What becomes of the rows of a pane: they count, or why they do not, or not everywhere."""

REASONS = {
    "no_time": NO_TIME_AT_ALL,
    "in_no_window": IN_NO_WINDOW,
    "late_lost": LATE_LOST,
    "late_partial": LATE_PARTIAL,
}


@dataclass(frozen=True)
class Tally:
    """How rows are counted.

    Args:
        metric: the name of Spark's metric.
        aggregates: how many there are.
        operators: those whose rows are counted; more than 62 are not.
    """

    metric: str
    aggregates: int
    operators: Sequence[Operator]

    def sample(self, source: Source, flow: Flow, time: Column) -> Column:
        """Which rows are in the sample: always the same, also in a replay."""
        names = {name.lower(): ours for name, ours in flow.named[source].items()}
        known = [F.col(quoted(names[name.lower()])) for name in source.identity] or [time]
        return F.xxhash64(*known).bitwiseAND(F.lit(ONE_IN - 1)) == 0

    def mask(self, source: Source, flow: Flow) -> Column:
        """A bit for each operator that a row passes; the first is for the row itself."""
        return bits(
            (bit, flow.passes(operator))
            for bit, operator in enumerate(self.operators[:BITS])
            if operator in flow.named and base(operator) == source
        )

    def observed(
        self, panes: DataFrame, reason: Column, of: Column, booked: Column | None
    ) -> DataFrame:
        """The panes, whose rows are counted as they pass.

        Args:
            panes: with the number of their rows, once for every aggregate.
            reason: what becomes of a pane's rows.
            of: the number of the aggregate; 0 for the sample.
            booked: what is counted of rows that are dropped (`books.entries`); None if none are.
        """
        # The pane of the sample says which operators its rows pass.
        rows, group, mask, sums = F.col(ROWS), F.col(GROUP), F.col(PANE), list[Column]()
        for number in range(1, self.aggregates + 1):
            sums.append(_total(of == number, rows).alias(f"a{number}_rows"))
            sums += [
                _total((of == number) & (reason == code), rows).alias(f"a{number}_{name}")
                for name, code in REASONS.items()
            ]
        for bit in range(min(len(self.operators), BITS)):
            passes = (
                (of == 0) & (group == 0) & (mask.bitwiseAND(F.lit(1 << bit).cast("bigint")) != 0)
            )
            sums.append((_total(passes, rows) * ONE_IN).alias(f"o{bit}"))
        if booked is not None:
            sums.append(booked.alias(BOOKED))
        return panes.observe(self.metric, *sums)


def _total(which: Column, rows: Column) -> Column:
    return F.coalesce(F.sum(F.when(which, rows)), F.lit(0))
