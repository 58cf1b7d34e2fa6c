"""What a node of relays learns from its batches, with Spark's reports written by hand."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql.streaming.query import StreamingQuery

from penstock.engine.fleet.bearing import Bearing
from penstock.fleet.gates import Gate
from penstock.fleet.pipeline import parse_pipeline
from penstock.nodes.learnt import learnt
from tests.fleet.pipelines import fig1

GATES = [Gate("a1", "left", "approximate"), Gate("a2", "right", "approximate")]


class Batches:
    """One batch after the other, each of which takes the rows that came while the last one ran."""

    def __init__(self) -> None:
        self.pipeline = parse_pipeline(fig1(unit=4e-3))
        self.bearing = Bearing(self.pipeline, "A", GATES)
        self.now = self.began = 1_000_000.0
        self.bearing.pulse.clock = lambda: self.now
        self.number = 0
        self.told: str | None = None

    def run(self, rate: float, seconds: float, passing: float | None = None) -> None:
        """A batch that takes so long; `rate` rows came to each stream in each second before it.

        Of those, the first box has handed on a share; None if nobody knows.
        """
        before, self.began = self.began, self.now
        self.bearing.enter()
        rows = rate * (self.began - before)
        self.now += seconds
        last = None if self.told is None else SimpleNamespace(json=self.told)
        query = cast("StreamingQuery", SimpleNamespace(lastProgress=last))
        look: dict[str, Any] = {"rows": rows, "kept": rows}
        handed = {} if passing is None else {"a1": round(passing * rows)}
        self.bearing.step(self.number, [look, look], query, (1.0, 1.0), handed)
        at = datetime.fromtimestamp(self.began, UTC).isoformat()
        took = {"triggerExecution": seconds * 1000}
        self.told = json.dumps({"batchId": self.number, "timestamp": at, "durationMs": took})
        self.number += 1

    @property
    def rate(self) -> float:
        return self.bearing.now.streams["left"].rate or 0.0


@pytest.mark.parametrize("lengths", [(6.0, 6.0), (2.0, 8.0)])
def test_rates_are_those_of_the_last_few_batches(lengths):
    batches = Batches()
    for number in range(20):
        batches.run(250.0, lengths[number % 2])
    # However long batches take: rows are counted over the time in which they came.
    assert batches.rate == pytest.approx(250.0)
    # Few rows come, and batches are short: those of the overload must not count for long.
    batches.run(10.0, 1.0)
    for _ in range(8):
        batches.run(10.0, 1.0)
    assert batches.rate < 20


def test_what_boxes_hand_on_is_their_selectivity():
    batches = Batches()
    for _ in range(3):
        batches.run(100.0, 2.0)
    assert batches.bearing.now.operators["a1"].selectivity is None
    for _ in range(5):
        batches.run(100.0, 2.0, passing=0.25)
    batches.run(100.0, 2.0)  # run again after a failure: nobody knows
    measured = batches.bearing.now
    assert measured.operators["a1"].selectivity == pytest.approx(0.25)
    assert measured.operators["a2"].selectivity is None
    believed = learnt(batches.pipeline.network, {"A": measured})
    # Where nobody has counted, it is what the file says.
    assert believed.box["a1"].selectivity == pytest.approx(0.25)
    assert believed.box["a2"].selectivity == 1.0
