"""What a node of relays can bear: what its boxes cost, and how much of a batch keeps the target."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from penstock.control.batch import Batch
from penstock.control.batches import SeamlessBatches
from penstock.control.observation import Flow, Observation
from penstock.control.prior import Prior
from penstock.control.settings import Warmup
from penstock.control.snapshot import Snapshot
from penstock.control.statistics import Statistics
from penstock.engine.pulse import Beat, Pulse, response
from penstock.fleet.gates import Gate
from penstock.fleet.pipeline import Pipeline

WARMUP = Warmup(seconds=15.0, batches=5)
SAID = 0.15
"""How far costs that a file says may be off from each other, relative."""

_LEAST = 1e-7
_FIXED = 1.2
"""Seconds that a batch of relays is believed to take without rows."""


class Bearing:
    """Learns from each batch of relays.

    Args:
        pipeline: what the file says.
        node: its name.
        gates: where rows enter.
    """

    def __init__(self, pipeline: Pipeline, node: str, gates: Sequence[Gate]) -> None:
        self._gates = gates
        boxes = pipeline.relays(node)
        costs = {box.name: max(box.cost, _LEAST) for box in boxes}
        streams = list(dict.fromkeys(gate.stream for gate in gates))
        kinds = dict.fromkeys(costs, "box")
        self.statistics = Statistics(
            kinds, streams, prior=Prior(_FIXED, costs, SAID), warmup=WARMUP
        )
        self.control = SeamlessBatches(pipeline.latency, interval=pipeline.interval)
        self.pulse = Pulse(pipeline.interval)
        self.responses: list[tuple[float, float]] = []
        self._own = 1.0
        self._out: dict[str, float] = {}

    @property
    def now(self) -> Snapshot:
        """What has been learnt."""
        return self.statistics.now

    def enter(self) -> None:
        """A batch is about to be worked on."""
        self.pulse.enter()

    def step(
        self, batch: int, looks: Sequence[Mapping[str, Any]], query: StreamingQuery | None
    ) -> float:
        """The share of what is planned that the next batch may bring.

        Args:
            batch: the one that is ending.
            looks: what passed each gate.
            query: the stream.
        """
        told = query.lastProgress if query is not None else None
        last = Beat.of(json.loads(told.json)) if told is not None else None
        began, now = self.pulse.began(last), self.pulse.clock()
        overhead, collected = self.pulse.overhead(last), self.pulse.collecting(began, last)
        self.pulse.note_control(batch)
        rows = {g.stream: float(k["rows"]) for g, k in zip(self._gates, looks, strict=True)}
        kept: dict[str, float] = {}
        for gate, look in zip(self._gates, looks, strict=True):
            kept[gate.box] = kept.get(gate.box, 0.0) + float(look["kept"])
        seconds = now - began
        self.statistics.observe(
            Observation(
                batch=batch,
                seconds=seconds + overhead,
                at=now,
                rows=rows,
                operators={box: Flow(count) for box, count in kept.items()},
            )
        )
        if last is None or not sum(rows.values()):
            return self._own
        span = began - last.began
        took = response(0.95, began, collected or 0.0, now + overhead, 0.0)
        self.responses.append((now + overhead, took))
        costs = self.now.costs
        work = sum(costs.per_row[box] * count for box, count in kept.items())
        total = sum(rows.values())
        # What would have come, had the node itself held nothing back.
        cost = work / self._own / total
        admitted = self.control.step(
            Batch(
                rows=total,
                collected=span,
                seconds=max(seconds, 1e-3),
                nominal=costs.fixed + work,
                fixed=costs.fixed,
                cost=max(cost, 1e-9),
                overhead=overhead,
                response=took,
            )
        )
        if admitted.good:
            self._own = max(0.01, admitted.share if admitted.sheds else 1.0)
        return self._own
