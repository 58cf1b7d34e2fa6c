"""What a controller answers: how much work may come in, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The work that the next period or batch may bring.

    Args:
        load: seconds of work, as the cost model counts them, without the fixed cost of a batch.
        demand: seconds of work that it would bring if nothing were shed.
        keep: the share of rows to keep, if they are dropped at random as they come in.
        headroom: seconds of work, as the cost model counts them, that a second of the clock does.
        soon: of the work that comes, what may be done in batch after batch for response times to be
            back within the target in three batches; 1 where that is all of it.
        overload: rows that arrive, in multiples of those that can be kept up with; None before it
            is known. Shedding hides the lag that an autoscaler looks at, and this shows it.
        good: False if the observation made no sense: then all else is as it last was.
        reason: the numbers that led here, on one line.
    """

    load: float
    demand: float
    keep: float
    headroom: float
    soon: float = 1.0
    overload: float | None = None
    good: bool = True
    reason: str = ""

    @property
    def share(self) -> float:
        """Of the work that comes, what may be done."""
        return min(1.0, self.load / self.demand) if self.demand > 0 else 1.0

    @property
    def lasting(self) -> float:
        """Of the work that comes, what can be done in batch after batch, if that ends soon in time.

        A decision that holds for long goes by this: a batch that happens to be short has room for
        more in the next, and one that happens to be long for less. But where so much waits that
        batches would be late for long, it is what lets them be in time again.
        """
        if self.overload is None:
            return self.share
        return min(self.soon, 1 / self.overload) if self.overload > 0 else 1.0

    @property
    def sheds(self) -> bool:
        """Whether anything is dropped."""
        return self.keep < 1.0


def nonsense(**numbers: float | None) -> str | None:
    """The first number that is not finite or is below 0, as text; None if there is none.

    >>> nonsense(rows=3, seconds=float("nan")), nonsense(rows=3, waiting=None)
    ('seconds = nan', None)
    """
    for name, value in numbers.items():
        if value is not None and not (math.isfinite(value) and value >= 0):
            return f"{name} = {value}"
    return None
