"""The streams of a node at their control points: what each keeps is decided for all of them.

batch of a stream ends ─► its turn ─► share that the node can bear ─┐
plan of all nodes ──────────────────────────────────────────────────┴─► what its next batch keeps
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from penstock.control.costs import Costs
from penstock.engine.backlog import rows_of_batch
from penstock.engine.network_run import RunningPart
from penstock.engine.pulse import Beat, response
from penstock.engine.shedder import Shedder
from penstock.fleet.gates import LEAST, drop_of
from penstock.fleet.pipeline import Pipeline
from penstock.fleet.turns import Turn, Turns

_log = logging.getLogger(__name__)


@dataclass
class Turning:
    """All streams of a node that answer.

    Args:
        pipeline: what the file says.
        parts: its streams, those that may drop something.
        costs: what is believed of boxes now.
        planned: the share of each box that is planned.
    """

    pipeline: Pipeline
    parts: tuple[RunningPart, ...]
    costs: Callable[[], Costs]
    planned: Mapping[str, float] = field(default_factory=dict)
    _kept: dict[int, Mapping[str, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.turns = Turns(len(self.parts), self.pipeline.latency, self.pipeline.interval)
        for number, part in enumerate(self.parts):
            assert part.shedder is not None  # noqa: S101 - it may drop something
            part.shedder.before = partial(self._decide, number)

    def _decide(self, number: int, batch: int) -> None:
        """A batch of a stream is ending: what its next one keeps."""
        part, boxes = self.parts[number], self.parts[number].queries
        assert part.shedder is not None  # noqa: S101 - it asks
        planned = {name: self.planned.get(name, 1.0) for name in boxes}
        try:
            turn = self._turn(number, batch, planned)
            with self._lock:
                own = self.turns.own if turn is None else self.turns.take(turn, self.costs())
        except Exception:  # noqa: BLE001 - a stream is not stopped by its controller
            _log.exception("the controller failed at batch %s: the last share stays", batch)
            own = self.turns.own
        kept = {name: share * own for name, share in planned.items()}
        self._kept[number] = kept if part.shedder.mode == "on" else dict.fromkeys(boxes, 1.0)
        keep(part.shedder, kept)

    def _turn(self, number: int, batch: int, planned: Mapping[str, float]) -> Turn | None:
        """What is known of the batch; None if it brought nothing, or is the first."""
        control, kept = self.parts[number].control, self._kept.get(number, planned)
        assert control is not None  # noqa: S101 - it has a shedder
        assert control.shedder is not None  # noqa: S101 - it asks
        told, pulse = control.measure.last, control.pulse
        last = Beat.of(told) if told is not None else None
        began, now, overhead = pulse.began(last), pulse.clock(), pulse.overhead(last)
        collected = pulse.collecting(began, last)
        pulse.note_control(batch)
        sources = control.measure.part.graph.sources
        rows = rows_of_batch(control.shedder.checkpoint, batch, sources)
        if last is None or not rows or not any(rows.values()):
            return None
        return Turn(
            number,
            began,
            now,
            {name: self._rows(name, rows) for name in planned},
            planned,
            kept,
            overhead,
            began - last.began,
            response(0.95, began, collected or 0.0, now + overhead, 0.0),
        )

    def _rows(self, box: str, rows: Mapping[str, float]) -> float:
        return sum(rows.get(name, 0.0) for name in self.pipeline.network.box[box].inputs)


def keep(shedder: Shedder, shares: Mapping[str, float]) -> None:
    """Keeps no more than these shares, from the next batch on.

    Args:
        shedder: of a stream.
        shares: of each box that answers in it.
    """
    # Of windows that overlap more have to go, for so many rows to stay.
    targets = shedder.targets
    subset = {n: round(drop_of(targets[n], s), 3) for n, s in shares.items() if n in targets}
    rest = {n: max(s, LEAST) for n, s in shares.items() if n not in subset}
    shedder.floor = shedder.ordering.by_hand(rest, subset)
