"""Where no plan can be read, what was open is not delivered, however often the driver dies."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from penstock.drops.orders import Orders
from penstock.engine.orders import orders_of
from penstock.engine.part import Part
from penstock.engine.shedder import Shedder

MARK = 1_700_000_000_000
"""The watermark of batch 4, in milliseconds."""


def shedder(checkpoint: Path) -> Shedder:
    """Of a network that has nothing but places to drop at."""
    shared = SimpleNamespace(
        rows={}, approximates=False, number={}, places=(1, 1, 2), folds=[], aggregates=[0]
    )
    graph = SimpleNamespace(queries={}, names={}, users={}, sources=[])
    part = SimpleNamespace(shared=shared, graph=graph, kinds={}, aggregates=[])
    return Shedder(cast("Part", part), str(checkpoint))


def orders(checkpoint: Path, batch: int) -> Orders:
    return orders_of((checkpoint / "penstock" / "plans" / str(batch)).read_bytes())


def test_what_was_open_stays_undelivered_after_another_crash(tmp_path: Path) -> None:
    for folder, batches in (("commits", 4), ("offsets", 5)):
        (tmp_path / folder).mkdir()
        for batch in range(batches):
            mark = json.dumps({"batchWatermarkMs": MARK - 4000 + 1000 * batch})
            (tmp_path / folder / str(batch)).write_text(f"v1\n{mark}\n")
    first = shedder(tmp_path)
    first.begin()
    assert "not delivered" in first.problems[0]
    everything = orders(tmp_path, 4).windows
    # It dies in batch 4; its record is there now, and says nothing of what had been dropped.
    second = shedder(tmp_path)
    second.begin()
    assert second.problems == []
    second.follow(4, None)
    assert orders(tmp_path, 5).windows == everything
    # Batch 4 dropped nothing: how far it went is told by the watermark of batch 5.
    later = json.dumps({"batchWatermarkMs": MARK + 1000})
    (tmp_path / "offsets" / "5").write_text(f"v1\n{later}\n")
    second.follow(5, None)
    assert second.state.suppress_until == (MARK + 1000) * 1000 + 1000
    assert orders(tmp_path, 6).windows != everything
    third = shedder(tmp_path)
    for done in ("4", "5"):
        (tmp_path / "commits" / done).write_text("v1")
    third.begin()
    assert third.state == second.state
