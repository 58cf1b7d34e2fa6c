"""What a micro-batch tells a controller, at the moment when the next one is decided about.

             batch N-1               batch N                   batch N+1
        ├───────────────────┼───────────────────┬─────┼──────────────────
                begins N ───┘      control point┘     └─── begins N+1
                            │◄───── seconds ───►│◄───►│ overhead
     ◄─── rows of N arrive ─┼── rows of N+1 arrive ───┤

A batch takes what had arrived when it began. When its answers are out, it is decided what the next
one keeps, whose rows have all but arrived by then.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.control.admitted import nonsense
from penstock.control.period import FLOOR

_SAVES = 0.95  # of a row's cost: if reading it costs more, dropping it is taken to save the rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch whose answers are out. Not checked: a controller says what makes no sense.

    Args:
        rows: that it took, before anything was dropped.
        collected: seconds in which they arrived, from the beginning of the batch before to that of
            this one; None if it is not known, as for the first batch.
        seconds: from the beginning of the batch until now.
        nominal: seconds that the cost model gives for it, with what was kept and dropped.
        fixed: seconds that a batch without rows takes, by the cost model.
        cost: seconds of work for a row if nothing is dropped, by the cost model.
        dropped: seconds of work for a row that is dropped as early as may be: reading it, mostly.
        overhead: seconds from now until the next batch begins.
        waiting: rows that have arrived since this batch began; None if nobody knows.
        response: the 95th percentile of the response times of the rows delivered, from arrival at
            the source until now, in seconds; None if nobody knows.
        whole: whether nothing of it was dropped.
    """

    rows: float
    collected: float | None
    seconds: float
    nominal: float
    fixed: float
    cost: float
    dropped: float = 0.0
    overhead: float = 0.0
    waiting: float | None = None
    response: float | None = None
    whole: bool = False

    @property
    def nonsense(self) -> str | None:
        """What cannot be, as text."""
        for name in ("seconds", "nominal", "cost"):
            if getattr(self, name) == 0:
                return f"{name} = 0"
        return nonsense(
            rows=self.rows,
            collected=self.collected,
            seconds=self.seconds,
            nominal=self.nominal,
            fixed=self.fixed,
            cost=self.cost,
            dropped=self.dropped,
            overhead=self.overhead,
            waiting=self.waiting,
            response=self.response,
        )

    @property
    def rate(self) -> float | None:
        """Rows that arrive in a second; None if nobody knows."""
        if self.collected:
            return self.rows / self.collected
        return None if self.waiting is None else self.waiting / self.seconds

    def collecting(self, interval: float) -> float:
        """Seconds in which the rows of the next batch arrive.

        Args:
            interval: of the trigger, in seconds; 0 if batches follow each other at once.
        """
        return max(interval, self.seconds + self.overhead)

    def coming(self, interval: float) -> float:
        """Rows that the next batch will take."""
        rate = self.rate or 0.0
        period = self.collecting(interval)
        if self.waiting is None:
            return rate * period
        return self.waiting + rate * (period - self.seconds)

    def keep(self, load: float, rows: float) -> float:
        """The share of so many rows to keep, for them to bring so much work.

        Args:
            load: in seconds of work.
            rows: that come.
        """
        if rows * self.cost <= load:
            return 1.0
        dropped = min(self.dropped, _SAVES * self.cost)
        return min(1.0, max(FLOOR, (load / rows - dropped) / (self.cost - dropped)))

    def load(self, keep: float, rows: float) -> float:
        """The work that so many rows bring if this share is kept, in seconds."""
        return rows * (keep * self.cost + (1 - keep) * self.dropped)
