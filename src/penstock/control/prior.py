"""What operators are believed to cost before they were timed, and how far to trust that.

Batch durations tell for certain only how long a batch takes in all. If selectivities hardly change,
the counts of all operators rise and fall together, and no arithmetic can tell their costs apart.
So costs start from a belief: how they stand *to each other*. One factor, the speed of the machine,
multiplies them all and is always told by the data; what else the data tell corrects the belief, and
what they do not tell stays as believed.

The fixed cost of a batch is one more cost, of an operator that sees one row per batch; it is held
to the others more loosely, being other work: planning and logs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock.control.checks import frozen, positive
from penstock.control.nonnegative import Floats

MICROSECOND = 1e-6

# Seconds per row of Spark's operators on two cores, to the nearest simple number. Only how they
# stand to each other matters.
KINDS: Final[Mapping[str, float]] = frozen(
    {
        "source": 0.2 * MICROSECOND,
        "taking": 0.3 * MICROSECOND,
        "asking": 0.05 * MICROSECOND,
        "parse": 1 * MICROSECOND,
        "filter": 0.015 * MICROSECOND,
        "map": 0.06 * MICROSECOND,
        "join": 0.15 * MICROSECOND,
        "semi-join": 0.12 * MICROSECOND,
        "union": 0.015 * MICROSECOND,
        "aggregate": 0.3 * MICROSECOND,
    }
)
_OTHER = 0.1 * MICROSECOND
_BATCH = 1.0  # seconds: planning, the logs, two state stores
_GUESS = 0.5
_LOOSELY = 4.0  # times the spread of an operator's cost


@dataclass(frozen=True, slots=True)
class Prior:
    """Costs as believed: true up to one common factor, and each up to its spread.

    Args:
        fixed: seconds of a batch without rows.
        costs: of each operator, seconds per row it takes in.
        spread: how far one cost may be off from the others, relative; 0.5 for a guess, less for
            what was measured.
    """

    fixed: float
    costs: Mapping[str, float]
    spread: float = _GUESS

    def __post_init__(self) -> None:
        positive("fixed", self.fixed)
        positive("spread", self.spread)
        for name, cost in self.costs.items():
            positive(f"cost of {name!r}", cost)
        object.__setattr__(self, "costs", frozen(self.costs))

    @property
    def believed(self) -> Floats:
        """All costs in one array, the fixed one first."""
        return np.array([self.fixed, *self.costs.values()])

    @property
    def spreads(self) -> Floats:
        """How far each of them may be off."""
        return self.spread * np.array([_LOOSELY, *np.ones(len(self.costs))])

    def counts(self, rows_in: Mapping[str, float]) -> Floats:
        """What to multiply each of them by: one batch, and the rows of each operator."""
        return np.array([1.0, *(rows_in.get(name, 0.0) for name in self.costs)])


def taking(stream: str) -> str:
    """What the taking in of rows that stay is called, as an operator of its own.

    A row that is dropped where it enters is read, and no more; one that stays is parsed, and made
    columns, whatever queries do with it.

    Args:
        stream: its name.

    >>> taking("packets")
    'packets, taken'
    """
    return f"{stream}, taken"


def asking(stream: str) -> str:
    """What it is called, as an operator of its own, to ask rows whether a query wants them.

    Where some queries have their windows and others do not, each row is looked into, those that
    then go included. Where all are dropped, or nothing is, no row is asked.

    Args:
        stream: its name.

    >>> asking("packets")
    'packets, asked'
    """
    return f"{stream}, asked"


def default_prior(kinds: Mapping[str, str]) -> Prior:
    """A guess by the kinds of the operators.

    Args:
        kinds: of each operator its kind, such as "filter"; one that is not known is taken for
            something light.

    >>> default_prior({"web": "filter", "bytes": "aggregate"}).costs["bytes"]
    3e-07
    """
    costs = {name: KINDS.get(kind, _OTHER) for name, kind in kinds.items()}
    return Prior(fixed=_BATCH, costs=costs)
