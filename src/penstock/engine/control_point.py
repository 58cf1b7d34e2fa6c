"""The control point of a batch: its answers are delivered, and it is not committed yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.engine.chronicle import Chronicle
from penstock.engine.latest import Latest
from penstock.engine.ledger import Ledger
from penstock.engine.measure import Measure
from penstock.engine.pulse import Pulse
from penstock.engine.regulation import Regulation
from penstock.engine.shedder import Shedder


@dataclass(frozen=True)
class Control:
    """What is done there.

    What Spark says of a batch comes with its commit: so this learns from the one before.
    """

    measure: Measure
    pulse: Pulse
    shedder: Shedder | None
    ledger: Ledger | None
    regulation: Regulation | None
    chronicle: Chronicle
    latest: Latest

    def end(self, batch: int) -> None:
        """Learns, says what the next batch shall drop, and keeps the books."""
        self.measure.catch_up()
        if self.measure.last is not None:
            self.take([self.measure.last])
        if self.shedder is not None:
            if self.regulation is not None:
                self.regulation.decide(batch)
            seen = self.measure.last
            rows = None if seen is None else sum(self.measure.rows(seen).values())
            self.shedder.follow(batch, self.measure.newest, rows)

    def take(self, reports: list[dict[str, Any]], *, ended: bool = False) -> None:
        """Enters what Spark has told into the books.

        Args:
            reports: of batches, oldest first.
            ended: whether no more will come.
        """
        if self.ledger is not None:
            self.ledger.take(reports)
        self.chronicle.take(reports, ended=ended)
