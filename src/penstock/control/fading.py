"""Sums in which older entries count less: with each entry, those before it lose a little.

Streams change, so the statistics of the last minutes are worth more than those of the morning. A
ratio of two such sums is a mean over the recent past. Only entries make older ones fade, not time:
what was learnt before a quiet night is still known after it.
"""

from __future__ import annotations

from penstock.control.checks import positive


def share(half_life: float) -> float:
    """What is left of an entry when the next one comes.

    Args:
        half_life: after that many entries, an entry counts half.

    >>> share(1.0)
    0.5
    """
    positive("half_life", half_life)
    return float(0.5 ** (1.0 / half_life))


class Faded:
    """A numerator and a denominator that fade together.

    Args:
        half_life: after that many entries, an entry counts half.

    >>> rate = Faded(half_life=1.0)
    >>> rate.add(100.0, 1.0), rate.add(40.0, 1.0)
    (None, None)
    >>> rate.ratio
    60.0
    """

    __slots__ = ("_share", "above", "below")

    def __init__(self, half_life: float) -> None:
        self._share = share(half_life)
        self.above = 0.0
        self.below = 0.0

    def add(self, above: float, below: float) -> None:
        """A new entry counts in full."""
        self.above = self.above * self._share + above
        self.below = self.below * self._share + below

    @property
    def ratio(self) -> float | None:
        """The mean over the recent past; None where there is none."""
        return self.above / self.below if self.below > 0 else None
