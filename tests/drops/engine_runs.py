"""Batches that go by what the engine's shedder writes down, with all but Spark.

lose records? ─► restart? ─► orders of the batch ─► rows, answers ─► plan of the next one
                             read as a batch reads them            follow, commit
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from penstock.drops.kinds import AnswerKind
from penstock.drops.orders import Orders
from penstock.drops.plan import Plan
from penstock.engine.orders import FOLDER, read_orders
from penstock.engine.part import Part
from penstock.engine.shared import Shared
from penstock.engine.shedder import Shedder
from penstock.network.graph import Graph
from penstock.network.operators import Handle, Operator, Source
from penstock.windows.durations import MILLISECOND, SECOND

SLACK = 6 * MILLISECOND
BEGIN = 1_000 * MILLISECOND
"""When streams begin; until there is a row, the watermark is 0."""
SOURCE = Source("s", "ts", SLACK, "generous", None, (), (), Handle(None))
NEVER_SMALL = (1 << 62) - 1
"""The random number of a row that only stays for its windows."""


class Batches:
    """The batches of a network, and its checkpoint.

    Args:
        folder: for the checkpoint.
        queries: name → operator, over `SOURCE`.
        kinds: query → what may become of its answers.
    """

    def __init__(
        self, folder: Path, queries: Mapping[str, Operator], kinds: Mapping[str, AnswerKind]
    ) -> None:
        self.folder, self.part = folder, Part(Graph(queries), kinds=kinds)
        wanted, of = set(self.part.aggregates), self.part.kinds_of_rows
        rows = cast("Any", {SOURCE: None})
        shared = Shared(self.part.aggregates, wanted, rows, cast("Any", "late"), None, (), of)
        self.part.__dict__["shared"] = shared  # otherwise it would be made of DataFrames
        for name in ("offsets", "commits"):
            (folder / name).mkdir()
        self.shedder = self._shedder(Plan(), 0)
        self.shedder.begin()

    def _shedder(self, plan: Plan, ahead: int) -> Shedder:
        made = Shedder(self.part, str(self.folder), seed=2)
        made.ask(plan, ahead / SECOND)
        return made

    def restart(self, plan: Plan, ahead: int) -> None:
        """The driver dies, and another one goes on."""
        self.shedder = self._shedder(plan, ahead)
        self.shedder.begin()

    def lose(self, batch: int) -> None:
        """A record is lost, if there is one."""
        (self.folder / FOLDER / str(batch)).unlink(missing_ok=True)

    def begun(self, batch: int, mark: int) -> None:
        """A batch has begun, with a watermark in microseconds."""
        line = json.dumps({"batchWatermarkMs": mark // MILLISECOND})
        (self.folder / "offsets" / str(batch)).write_text(f"v1\n{line}\n")

    def orders(self, batch: int) -> Orders:
        """What a batch that has begun is told."""
        assert self.part.shared.places is not None
        return read_orders(str(self.folder), batch, *self.part.shared.places)

    def end(self, batch: int, plan: Plan, ahead: int) -> None:
        """It is decided what the next batch does, and the batch is committed."""
        self.shedder.ask(plan, ahead / SECOND)
        self.shedder.follow(batch, None)
        (self.folder / "commits" / str(batch)).write_text("v1")

    def run(self, number: int, mark: int, step: Mapping[str, Any], plan: Plan) -> Orders:
        """A batch begins, after whatever happens before it.

        Args:
            number: of the batch.
            mark: its watermark, in microseconds.
            step: `loses` so many records, `dies` before the batch ("idle") or in it ("busy").
            plan: what a driver that begins is asked to drop.
        """
        first = None
        if step["dies"] == "busy":
            self.begun(number, mark)
            first = self.orders(number)
        for lost in range(step["loses"]):
            self.lose(number - lost)
        if step["dies"]:
            self.restart(plan, step["ahead"])
        self.begun(number, mark)
        orders = self.orders(number)
        if first is not None and not step["loses"]:
            assert orders == first  # a replay does what was done
        return orders
