"""What planning gives: the plan, what it does to each query, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from penstock.drops.plan import Arc, Plan
from penstock.network.settings import AnswerKind
from penstock.planning.asked import Errors


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of a query.

    Args:
        answers: "approximate" or "subset".
        keep: the share of rows that its answers are computed from; 0 if it is closed.
        bound: the relative error that an answer exceeds with probability δ at most, of the worst
            group; None where answers have none: rows, windows, and those that were closed.
        error: the relative error of the same group that is to be expected on the average; None as
            for the bound.
        lost: the share of its answers, windows or rows, that is missing.
    """

    answers: AnswerKind
    keep: float = 1.0
    bound: float | None = 0.0
    error: float | None = 0.0
    lost: float = 0.0

    @property
    def whole(self) -> bool:
        """Whether it is answered as if nothing were shed."""
        return self.keep == 1 and not self.lost


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan with its reasons.

    Args:
        plan: the drops.
        outcomes: of each query.
        before: seconds of work per second when nothing is dropped.
        after: seconds of work per second under the plan, that of the drops included.
        capacity: seconds of work per second that can be done.
        reasons: of each drop, a sentence that says why it is there.
        notes: sentences about the whole: what could not be met, and what was closed.
        delta: the probability with which an error may be greater than its bound.
        errors: what the bounds are: proven, or quantiles.
    """

    plan: Plan
    outcomes: Mapping[str, Outcome]
    before: float
    after: float
    capacity: float
    reasons: Mapping[Arc, str]
    notes: tuple[str, ...] = ()
    delta: float = 0.01
    errors: Errors = "bound"

    @property
    def enough(self) -> bool:
        """Whether the load is within the capacity."""
        return self.after <= self.capacity * (1 + 1e-6)

    @property
    def greatest_bound(self) -> float:
        """The greatest error bound of all queries that have one."""
        return max((one.bound or 0.0 for one in self.outcomes.values()), default=0.0)

    def to_json(self) -> dict[str, object]:
        """Plain values."""
        return {
            "load": {"before": self.before, "after": self.after, "capacity": self.capacity},
            "enough": self.enough,
            "random": [
                {"arc": asdict(one.arc), "keep": one.keep, "why": self.reasons[one.arc]}
                for one in self.plan.random
            ],
            "windows": [
                {**asdict(one), "queries": list(one.queries), "why": self.reasons[one.arc]}
                for one in self.plan.windows
            ],
            "closed": list(self.plan.closed),
            "queries": {name: asdict(one) for name, one in self.outcomes.items()},
            "notes": list(self.notes),
        }
