"""Results on the screen."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from pyspark.sql import DataFrame

from penstock.sources import checks


@dataclass(frozen=True, slots=True)
class Console:
    """A table for every batch that has results.

    Args:
        rows: how many are shown at most.
        width: characters of a value that are shown; 0 for all.
    """

    rows: int = 20
    width: int = 0

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Prints a batch.

        Args:
            batch: the results.
            batch_id: the number of the batch.
        """
        # Taking a few rows would leave the rest of the batch, and of the state, uncomputed: all of
        # it is computed once and kept while it is shown.
        kept = batch.persist()
        try:
            count = kept.count()
            if count:
                more = f", {self.rows} shown" if count > self.rows else ""
                sys.stdout.write(f"batch {batch_id}: {count} rows{more}\n")
                kept.show(self.rows, truncate=self.width or False)
        finally:
            kept.unpersist()

    def describe(self) -> str:
        """One line for a report."""
        return "the console"


def console(rows: int = 20, *, width: int = 0) -> Console:
    """Results on the screen.

    Args:
        rows: how many of a batch are shown at most.
        width: characters of a value that are shown; 0 for all.
    """
    return Console(checks.whole("rows", rows), checks.whole("width", width, least=0))
