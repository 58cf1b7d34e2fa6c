"""What one micro-batch tells: how long it took, what came in, what went through each operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.control.checks import amount, finite, frozen, positive
from penstock.control.moments import Answers
from penstock.errors import SpecificationError, complaint


@dataclass(frozen=True, slots=True)
class Flow:
    """The rows that an operator took in and gave out in a batch; counted, or estimated.

    Args:
        rows_in: what it worked on, after drops.
        rows_out: what it handed on; None where nobody counted.
    """

    rows_in: float
    rows_out: float | None = None

    def __post_init__(self) -> None:
        amount("rows_in", self.rows_in)
        if self.rows_out is not None:
            amount("rows_out", self.rows_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One micro-batch, as it was measured.

    Args:
        batch: its id.
        seconds: how long it took.
        at: when it ended, in seconds of any clock that only goes forward.
        period: seconds of the stream in which its rows arrived; if None, the time since the batch
            before it ended.
        rows: of each stream the rows that the batch took, before any drop.
        backlog: of each stream the rows that wait at the end of the batch, where that is known.
        operators: of each operator what went through it. Costs are learnt only from batches that
            name every operator.
        queries: of each query the windows answered in this batch; a query with several sums may
            give each of them a name of its own.
    """

    batch: int
    seconds: float
    at: float
    period: float | None = None
    rows: Mapping[str, float] = field(default_factory=dict)
    backlog: Mapping[str, float] = field(default_factory=dict)
    operators: Mapping[str, Flow] = field(default_factory=dict)
    queries: Mapping[str, Answers] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.batch, int) or isinstance(self.batch, bool) or self.batch < 0:
            raise SpecificationError(complaint("batch", "must be the id of a batch", self.batch))
        amount("seconds", self.seconds)
        finite("at", self.at)
        if self.period is not None:
            positive("period", self.period)
        for stream, rows in self.rows.items():
            amount(f"rows of {stream!r}", rows)
        for stream, rows in self.backlog.items():
            amount(f"backlog of {stream!r}", rows)
        for name in ("rows", "backlog", "operators", "queries"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
