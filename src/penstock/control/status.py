"""How a running network does, after each batch: what views, pages and metrics show.

All of it is plain values, so that it can be kept, sent, drawn and compared without the run.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Phase = Literal["warm-up", "exact", "shedding", "monitor", "off"]
"""What a run does: it learns; answers are exact; rows are dropped, or would be, or never are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropStatus:
    """A drop that is in force.

    Args:
        after: the operator that hands the rows on.
        before: the operator, or the query, that would take them.
        keep: the share of rows that are kept there; None for a window drop.
        drop: the share of windows that are dropped there; None for a random drop.
        queries: whose answers it changes.
        reason: why it is there, in one sentence; empty if nobody asked.
    """

    after: str
    before: str
    keep: float | None = None
    drop: float | None = None
    queries: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryStatus:
    """A query, in the batch that has just ended and since the start.

    Args:
        name: of the query.
        kind: of its answers, "exact", "approximate" or "subset".
        rows_in: rows of its streams that the batch brought.
        shed: those of them that were dropped.
        taken: those of them that went on, to its filters and windows: rows_in = shed + taken.
        keep: the share of its rows that is kept from the next batch on.
        drop: the share of its windows that is dropped from the next batch on.
        error: the relative error that is expected of its answers; None if nobody knows.
        delivered: windows that were delivered since the start.
        dropped: windows that were dropped since the start.
    """

    name: str
    kind: Literal["exact", "approximate", "subset"] = "exact"
    rows_in: int = 0
    shed: int = 0
    taken: int = 0
    keep: float = 1.0
    drop: float = 0.0
    error: float | None = None
    delivered: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A running network, when a batch has ended.

    Args:
        at: when it ended, in seconds since the epoch.
        batch: its number.
        seconds: that it took.
        rows: that it brought.
        shed: those of them that no query got, because they were dropped where they entered.
        arriving: rows that arrive in a second; None if nobody knows.
        taking: rows that were worked off in a second, dropped ones left out.
        capacity: rows that could be worked off in a second, if none were dropped; None before it is
            known.
        demand: `arriving` in multiples of `capacity`: above 1 something has to go.
        backlog: rows that wait; None if nobody knows.
        target: the latency target, in seconds; None if none was given.
        response: the 95th percentile of the time from the arrival of a row until its batch was
            delivered, in seconds; None if nobody knows.
        median: of the same.
        keep: the share of rows that the controller lets in from the next batch on.
        phase: what the run does.
        reason: the numbers that led to this decision, on one line.
        drops: that are in force from the next batch on.
        queries: by their order in the network.
        problems: what went wrong since the last batch, a line each; the stream goes on.
    """

    at: float
    batch: int
    seconds: float
    rows: int
    shed: int = 0
    arriving: float | None = None
    taking: float = 0.0
    capacity: float | None = None
    demand: float | None = None
    backlog: float | None = None
    target: float | None = None
    response: float | None = None
    median: float | None = None
    keep: float = 1.0
    phase: Phase = "warm-up"
    reason: str = ""
    drops: tuple[DropStatus, ...] = ()
    queries: tuple[QueryStatus, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def held(self) -> bool | None:
        """Whether the target was kept; None if there is none, or nobody knows."""
        if self.target is None or self.response is None:
            return None
        return self.response <= self.target

    def to_json(self) -> dict[str, Any]:
        """Plain values, for files and pages."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Status:
        """What `to_json` gave."""
        drops = [DropStatus(**{**d, "queries": tuple(d["queries"])}) for d in values["drops"]]
        queries = [QueryStatus(**query) for query in values["queries"]]
        changed = {"drops": tuple(drops), "queries": tuple(queries)}
        return cls(**{**values, **changed, "problems": tuple(values["problems"])})
