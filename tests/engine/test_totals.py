"""What became of rows is kept in the checkpoint: whoever comes back goes on from it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.drops.plan import Plan
from penstock.engine.chronicle import Chronicle
from penstock.engine.part import Part
from penstock.engine.pulse import Pulse
from penstock.engine.shedder import Shedder
from penstock.engine.totals import UNTOLD, Kept, Totals


@dataclass(frozen=True)
class Topic:
    """What is read."""

    name: str = "a1"
    origin: None = None


SOURCE = Topic()


class Stream:
    """A part of a network with one query, and the checkpoint of its stream."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.dropping: dict[int, tuple[bool, ...]] = {}
        for name in ("commits", "offsets"):
            (folder / name).mkdir(exist_ok=True)

    def start(self) -> Chronicle:
        """As after a restart: what was in memory is gone."""
        node = object()
        graph = SimpleNamespace(
            queries={"b1": node}, sources=[SOURCE], operators=(), names={}, users={SOURCE: ("b1",)}
        )
        part = SimpleNamespace(
            graph=graph,
            metric="m",
            places=[],
            counting={},
            kinds={},
            feeds={node: ()},
            ways={"b1": [(SOURCE, None)]},
            scans=lambda _: 1,
            rows_read=lambda report: {"a1": report["sources"][0]["numInputRows"]},
            shared=SimpleNamespace(arriving=lambda _: "none", rows=[SOURCE]),
        )
        self.dropping = {}
        shedder = SimpleNamespace(
            dropping=self.dropping,
            mode="on",
            plan=Plan(),
            problems=[],
            keep_of=lambda _: 1.0,
        )
        chronicle = Chronicle(
            cast("Part", part),
            Pulse(),
            cast("Shedder", shedder),
            checkpoint=Totals(str(self.folder)),
        )
        chronicle.go_on()
        return chronicle

    def commit(self, batch: int, rows: int) -> dict[str, Any]:
        """A batch is done; what Spark tells of it."""
        before = 0
        if batch:
            last = (self.folder / "offsets" / str(batch - 1)).read_text().splitlines()[-1]
            before = json.loads(last)["t"]["0"]
        entry = f"v1\n{{}}\n{json.dumps({'t': {'0': before + rows}})}"
        (self.folder / "offsets" / str(batch)).write_text(entry)
        (self.folder / "commits" / str(batch)).write_text("")
        return {
            "batchId": batch,
            "timestamp": f"2026-01-01T00:00:{batch:02}Z",
            "durationMs": {"addBatch": 800, "triggerExecution": 900},
            "eventTime": {"watermark": "2026-01-01T00:00:00Z"},
            "sources": [{"numInputRows": rows}],
        }


def account(chronicle: Chronicle) -> dict[str, int]:
    return {name: n for name, n in chronicle.totals["b1"].items() if n}


def test_a_stream_that_is_started_again_goes_on_with_its_accounts(tmp_path):
    stream = Stream(tmp_path)
    first = stream.start()
    told = [stream.commit(batch, 10) for batch in range(3)]
    first.take(told[:2])
    first.take(told, ended=True)
    again = stream.start()
    assert account(again) == account(first) == {"rows_in": 30, "taken": 30}
    # A report that comes twice is of no more rows.
    again.take([told[-1], stream.commit(3, 5)])
    assert account(again) == {"rows_in": 35, "taken": 35}
    assert [status.batch for status in again.statuses] == [3]


def test_of_a_batch_that_nobody_told_of_before_the_kill_the_rows_are_known(tmp_path):
    stream = Stream(tmp_path)
    stream.start().take([stream.commit(0, 10)])
    stream.commit(1, 7)  # and the driver is killed
    again = stream.start()
    assert account(again) == {"rows_in": 10, "taken": 10, UNTOLD: 7}
    again.take([stream.commit(2, 1)])
    assert account(stream.start()) == {"rows_in": 11, "taken": 11, UNTOLD: 7}


def test_a_batch_that_waits_for_its_books_is_not_lost(tmp_path):
    stream = Stream(tmp_path)
    first = stream.start()
    stream.dropping[1] = (True,)  # it dropped all, and the watermark has not moved since
    first.take([stream.commit(0, 10), stream.commit(1, 7)])
    assert account(first) == {"rows_in": 10, "taken": 10}
    again = stream.start()
    assert account(again) == {"rows_in": 10, "taken": 10}
    later = stream.commit(2, 1)
    later["eventTime"]["watermark"] = "2026-01-01T00:00:09Z"
    again.take([later])
    assert account(again) == {"rows_in": 18, "taken": 11, "shed_at_stream": 7}


def test_of_what_is_never_told_it_is_known_how_much_it_was(tmp_path):
    stream = Stream(tmp_path)
    chronicle = stream.start()
    stream.dropping[1] = (True,)
    chronicle.take([stream.commit(0, 10), stream.commit(1, 7)], ended=True)
    assert account(chronicle) == {"rows_in": 10, "taken": 10, UNTOLD: 7}


def test_a_stream_that_waits_for_rows_has_had_no_batch(tmp_path):
    stream = Stream(tmp_path)
    chronicle = stream.start()
    told = stream.commit(0, 10)
    idle = {**told, "batchId": 1, "durationMs": {"latestOffset": 1, "triggerExecution": 2}}
    chronicle.take([told, {**idle, "sources": [{"numInputRows": 0}]}])
    chronicle = stream.start()
    chronicle.take([stream.commit(1, 7)])
    assert account(chronicle) == {"rows_in": 17, "taken": 17}


@pytest.mark.parametrize("damage", ["", "{", '{"penstock": "accounts"}'])
def test_accounts_that_cannot_be_read_begin_anew(tmp_path, damage):
    totals = Totals(str(tmp_path))
    assert totals.read() is None
    totals.write(Kept(3, {"b1": {"rows_in": 1}}))
    assert totals.read() == Kept(3, {"b1": {"rows_in": 1}}, [])
    (tmp_path / "penstock" / "accounts" / "totals").write_text(damage)
    assert totals.read() is None
