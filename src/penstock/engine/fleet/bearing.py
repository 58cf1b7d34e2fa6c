"""What a node of relays can bear: what its boxes cost, and how much of a batch keeps the target."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from penstock.control.observation import Flow, Observation
from penstock.control.prior import Prior
from penstock.control.settings import Memory, Warmup
from penstock.control.snapshot import Snapshot
from penstock.control.statistics import Statistics
from penstock.engine.pulse import Beat, Pulse, response
from penstock.fleet.gates import Gate
from penstock.fleet.pipeline import Pipeline
from penstock.fleet.turns import Turn, Turns

WARMUP = Warmup(seconds=15.0, batches=5)
SAID = 0.15
"""How far costs that a file says may be off from each other, relative."""

MEMORY = Memory(rates=1.0)
"""Rows of a batch are few seconds' worth, and counted over the time in which they came: two or
three batches tell what comes now. With more of them drops would stay long after an overload."""

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
            kinds, streams, prior=Prior(_FIXED, costs, SAID), warmup=WARMUP, memory=MEMORY
        )
        self.turns = Turns(1, pipeline.latency, pipeline.interval)
        self.pulse = Pulse(pipeline.interval)
        self.responses: list[tuple[float, float]] = []
        self._own = 1.0

    @property
    def now(self) -> Snapshot:
        """What has been learnt."""
        return self.statistics.now

    def enter(self) -> None:
        """A batch is about to be worked on."""
        self.pulse.enter()

    def step(
        self,
        batch: int,
        looks: Sequence[Mapping[str, Any]],
        query: StreamingQuery | None,
        keeps: Sequence[float],
        handed: Mapping[str, int],
    ) -> float:
        """The share of what is planned that the next batch may bring.

        Args:
            batch: the one that is ending.
            looks: what passed each gate.
            query: the stream.
            keeps: what each gate would keep of the next batch, if the node held nothing back.
            handed: the rows that boxes have handed on, where that is known.
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
        span = began - last.began if last is not None else 0.0
        self.statistics.observe(
            Observation(
                batch=batch,
                seconds=seconds + overhead,
                at=now,
                period=span if span > 0 else None,
                rows=rows,
                operators={box: Flow(count, handed.get(box)) for box, count in kept.items()},
            )
        )
        if last is None or not sum(rows.values()):
            return self._own
        took = response(0.95, began, collected or 0.0, now + overhead, 0.0)
        self.responses.append((now + overhead, took))
        entering = {box: _entering(box, rows, self._gates) for box in kept}
        shares = {box: kept[box] / all_ if all_ else 1.0 for box, all_ in entering.items()}
        planned = {gate.box: keep for gate, keep in zip(self._gates, keeps, strict=True)}
        turn = Turn(0, began, now, entering, planned, shares, overhead, None, took)
        self._own = self.turns.take(turn, self.now.costs)
        return self._own


def _entering(box: str, rows: Mapping[str, float], gates: Sequence[Gate]) -> float:
    """Rows of all streams that enter a box."""
    return sum(rows[gate.stream] for gate in gates if gate.box == box)
