"""The ledger of a run whose drivers died: what Spark told nobody is made up for."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import penstock as ps
from penstock.drops.decisions import Decisions, Run
from penstock.drops.targets import Target
from penstock.engine.ledger import Ledger
from penstock.engine.shedder import Shedder
from penstock.network.operators import Aggregate, Handle, Source
from penstock.network.query import Query
from penstock.windows import tumbling

SECOND = 1_000_000


def shedder(checkpoint: Path) -> Shedder:
    """Of one query with windows of 10 s; window 2 is dropped, and batch N has closed window N."""
    window = tumbling("10 s", on="ts")
    source = Source("s", "ts", 0, "generous", None, (), (), Handle(None))
    node = Aggregate(source, Query(window, (), {"n": ps.count()}))
    part = SimpleNamespace(
        graph=SimpleNamespace(queries={"n": node}), shared=SimpleNamespace(number={node: 1})
    )
    for folder in ("offsets", "commits"):
        (checkpoint / folder).mkdir(parents=True)
    for batch in range(6):
        mark = json.dumps({"batchWatermarkMs": (batch + 1) * 10_000})
        (checkpoint / "offsets" / str(batch)).write_text(f"v1\n{mark}\n")
        if batch < 5:
            (checkpoint / "commits" / str(batch)).write_text("v1")
    made = SimpleNamespace(
        checkpoint=str(checkpoint),
        part=part,
        targets={"n": Target("n", window, 2)},
        skippable={"n": Target("n", window, 2)},
        decisions_of=lambda _: Decisions(dropped={"n": (Run(2, 2, by=1),)}),
    )
    return cast("Shedder", made)


def report(batch: int) -> dict[str, Any]:
    window = {"a": 1, "end": (batch + 1) * 10 * SECOND}
    return {"batchId": batch, "observedMetrics": {"m_windows": {"delivered": [window]}}}


def test_batches_that_were_committed_and_not_told_of_are_made_up_for(tmp_path: Path) -> None:
    of = shedder(tmp_path)
    first = Ledger(of, "m")
    first.take([report(1)])
    # Here the driver dies, and of batches 2 and 3 nothing is heard.
    then = Ledger(of, "m")
    then.take([report(4)])
    fates = {row["batch"]: row["fate"] for row in then.rows()}
    assert fates == {1: "delivered", 2: "dropped", 3: "kept", 4: "delivered"}
    # The next one makes up for nothing that is there.
    Ledger(of, "m").take([report(5)])
    assert {row["batch"]: row["fate"] for row in then.rows()} == fates | {5: "delivered"}
