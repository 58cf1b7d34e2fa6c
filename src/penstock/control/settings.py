"""How long the engine warms up, and how fast the past is forgotten."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.control.checks import amount, positive
from penstock.control.costs import HALF_LIFE


@dataclass(frozen=True, slots=True)
class Warmup:
    """Batches are not timed before both have passed: so many seconds, and so many batches.

    Args:
        seconds: from the start of the first batch to the start of the first one that is timed.
        batches: that are not timed, at least.
    """

    seconds: float = 30.0
    batches: int = 3

    def __post_init__(self) -> None:
        amount("seconds", self.seconds)
        amount("batches", self.batches)

    def over(self, seconds: float, batches: int) -> bool:
        """Whether a batch is timed that starts so many seconds and batches after the first."""
        return seconds >= self.seconds and batches >= self.batches

    def warm(self, seconds: float, batches: int) -> float:
        """How warm the engine is then, from 0 to 1.

        >>> Warmup(seconds=30.0, batches=3).warm(15.0, 4)
        0.5
        """
        if self.over(seconds, batches):
            return 1.0
        return seconds / self.seconds if batches >= self.batches else 0.0


@dataclass(frozen=True, slots=True)
class Memory:
    """After how many batches a batch counts half.

    Args:
        costs: for the cost model; long, since it has many numbers to tell apart.
        data: for selectivities and moments.
        rates: for the rates of streams; short, since bursts are short.
        groups: how many groups are kept for each query, at most.
    """

    costs: float = HALF_LIFE
    data: float = 20.0
    rates: float = 3.0
    groups: int = 1000

    def __post_init__(self) -> None:
        for name in ("costs", "data", "rates", "groups"):
            positive(name, getattr(self, name))
