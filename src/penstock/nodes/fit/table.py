"""A feasible input table: rates that a site and all below it can take, and what they bring (§6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError, complaint
from penstock.nodes.program import Vector

MOST_ENTRIES = 4_000_000
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Table:
    """Entries, in no order.

    Args:
        streams: that enter, by name.
        rates: of each entry and stream, in rows per second.
        scores: of each entry, weighted rows per second at the outputs below.
        flows: of each entry, what passes each drop location of the site: its complementary plan.
        picks: of each entry, the entries of its children's tables that it hands on.
    """

    streams: tuple[str, ...]
    rates: Vector
    scores: Vector
    flows: Vector
    picks: Numbers

    def __len__(self) -> int:
        return len(self.scores)

    def only(self, chosen: NDArray[np.generic]) -> Table:
        """Some of the entries, by mask or number."""
        return Table(
            self.streams,
            self.rates[chosen],
            self.scores[chosen],
            self.flows[chosen],
            self.picks[chosen],
        )


def check_size(entries: int) -> None:
    """Refuses tables that would fill the memory."""
    if entries > MOST_ENTRIES:
        rule = f"may have {MOST_ENTRIES:,} entries at most"
        hint = "allow a larger error, or use the linear program, which needs no table"
        raise UsageError(complaint("a feasible input table", rule, entries, hint))
