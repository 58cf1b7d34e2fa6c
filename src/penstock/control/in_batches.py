"""Aurora and CTRL for micro-batches, for comparison: a batch is a control period."""

from __future__ import annotations

from penstock.control.admitted import Admitted
from penstock.control.batch import Batch
from penstock.control.period import Period, PeriodController, as_before


class InBatches:
    """A controller of periods that is asked once a batch.

    Args:
        controller: such as `Aurora(headroom=0.9)`.
        interval: of the trigger, in seconds; 0 if batches follow each other at once.
    """

    def __init__(self, controller: PeriodController, interval: float = 0.0) -> None:
        self.controller = controller
        self.interval = interval
        self._last: Admitted | None = None

    def step(self, batch: Batch) -> Admitted:
        """What the next batch may bring, and why."""
        if wrong := batch.nonsense:
            return as_before(self._last, wrong, 1.0)
        rows = batch.coming(self.interval)
        demand = rows * batch.cost
        seen = Period(
            seconds=batch.collecting(self.interval),
            demand=demand,
            admitted=max(0.0, batch.nominal - batch.fixed),
            queued=demand,
            rows_in=rows,
            rows_out=batch.rows,
            response=batch.response,
            shed=self._last is not None and self._last.sheds,
        )
        answer = self.controller.step(seen)
        keep = batch.keep(max(0.0, answer.load - batch.fixed), rows)
        self._last = Admitted(
            load=batch.load(keep, rows),
            demand=demand,
            keep=keep,
            headroom=answer.headroom,
            overload=answer.overload,
            reason=answer.reason,
        )
        return self._last
