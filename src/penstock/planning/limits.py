"""What answers may suffer, and what wins if the latency target would need more than that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from penstock.errors import SpecificationError, complaint
from penstock.planning.result import Planned
from penstock.planning.workload import Workload

Winner = Literal["latency", "answers"]
WINNERS: tuple[Winner, ...] = ("latency", "answers")

_HALVINGS = 20


@dataclass(frozen=True, slots=True)
class Limits:
    """An error budget.

    Args:
        max_error: the relative error that an approximate answer may be expected to have; None for
            any.
        max_loss: the share of windows that a query may lose; None for any.
        wins: "latency" sheds more than that if it must, and closes queries whose gap tolerance
            cannot be met; "answers" sheds no more, and results come later than the target.
    """

    max_error: float | None = None
    max_loss: float | None = None
    wins: Winner = "latency"

    def __post_init__(self) -> None:
        for name in ("max_error", "max_loss"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= 1:
                rule, hint = "must be above 0 and at most 1", "0.05 is five per cent"
                raise SpecificationError(complaint(name, rule, value, hint))
        if self.wins not in WINNERS:
            rule = f"must be one of {', '.join(WINNERS)}"
            raise SpecificationError(complaint("wins", rule, self.wins))

    def broken(self, found: Planned) -> list[str]:
        """What a plan does that it should not, a line each."""
        lines = []
        for name, one in found.outcomes.items():
            if self.max_error is not None and (one.error or 0.0) > self.max_error:
                lines.append(f"{name} is off by {one.error:.2g}, max_error is {self.max_error:g}")
            if self.max_loss is not None and one.lost > self.max_loss:
                lines.append(f"{name} loses {one.lost:.2g}, max_loss is {self.max_loss:g}")
        lines += [f"{name} is closed" for name in found.plan.closed]
        return lines


def within(
    limits: Limits, load: Workload, plan: Callable[[Workload], Planned]
) -> tuple[Planned, tuple[str, ...]]:
    """The plan for a load, and what has to be said of it.

    Args:
        limits: the budget.
        load: the network with its statistics, and the capacity that the target leaves.
        plan: makes a plan for a load.
    """
    found = plan(load)
    broken = limits.broken(found)
    if not broken:
        return found, ()
    if limits.wins == "latency":
        return found, tuple(f"for the latency target {line}" for line in broken)
    # The least capacity at which nothing is broken: more of it is never worse.
    low, high = load.capacity, load.total
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if limits.broken(plan(replace(load, capacity=middle))):
            low = middle
        else:
            high = middle
    left = f"only {load.capacity / load.total:.2g} of the work may be done for it"
    say = f"the latency target is missed: {left}, but then {broken[0]}"
    return plan(replace(load, capacity=high)), (say,)
