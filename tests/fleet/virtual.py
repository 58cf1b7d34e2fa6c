"""Nodes in virtual time, whose batches take as long as their rows do.

A batch of a stream begins when the last one has ended, takes all that has come since that one
began, waits for the node's core, and has it for a fixed time and for the time of its rows. What it
hands on comes to the next node as it is worked on. No batch begins before there are rows.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.control.costs import Costs
from penstock.fleet.turns import Turn, Turns

EVERY = 0.25
"""Seconds from one lot of rows to the next."""


@dataclass
class Stream:
    """Boxes that are fed by one Spark stream, and the lots of rows that wait for them."""

    number: int
    boxes: tuple[str, ...]
    lots: list[tuple[float, str, float]] = field(default_factory=list)
    last: float = 0.0
    next: float = 0.0
    kept: dict[str, float] = field(default_factory=dict)

    @property
    def begins(self) -> float:
        """When its next batch does."""
        return max(self.next, min((at for at, _, _ in self.lots), default=float("inf")))

    def taken(self, until: float) -> dict[str, float]:
        """The rows of a batch that begins then."""
        rows = dict.fromkeys(self.boxes, 0.0)
        for at, box, count in self.lots:
            rows[box] += count if at <= until else 0.0
        self.lots = [lot for lot in self.lots if lot[0] > until]
        return rows


class VirtualNode:
    """A node of one core.

    Args:
        boxes: of each stream.
        costs: of each box, seconds for a row.
        fixed: seconds of a batch without rows, which vary by a fifth.
        target: for response times, in seconds.
        planned: the share of each box that is planned.
        starts: when its first batch ends.
    """

    def __init__(
        self,
        boxes: Sequence[tuple[str, ...]],
        costs: Mapping[str, float],
        fixed: float,
        target: float,
        *,
        planned: Mapping[str, float] | None = None,
        starts: float = 0.0,
    ) -> None:
        self.costs, self.fixed, self.target = costs, fixed, target
        self.planned = {**dict.fromkeys(costs, 1.0), **(planned or {})}
        self.turns = Turns(len(boxes), target, 1.0)
        self.streams = [Stream(number, some) for number, some in enumerate(boxes)]
        for stream in self.streams:
            stream.next, stream.kept = starts, {box: self.planned[box] for box in stream.boxes}
        self._free = starts
        self._rng = random.Random(1)
        self.out: list[tuple[float, str, float]] = []
        self.responses: list[tuple[float, float]] = []

    @property
    def next(self) -> float:
        """When the next batch begins."""
        return min(stream.begins for stream in self.streams)

    def comes(self, lots: Sequence[tuple[float, str, float]]) -> None:
        """Rows come for its boxes."""
        for stream in self.streams:
            stream.lots += [lot for lot in lots if lot[1] in stream.boxes]

    def batch(self) -> list[tuple[float, str, float]]:
        """The batch of the stream whose turn it is; what it hands on."""
        stream = min(self.streams, key=lambda one: one.begins)
        began, collected = stream.begins, stream.begins - stream.last
        rows = stream.taken(began)
        stay = {box: self._thinned(count, stream.kept[box]) for box, count in rows.items()}
        work = sum(self.costs[box] * count for box, count in stay.items())
        takes = self.fixed * max(0.2, self._rng.gauss(1, 0.2)) + work
        self._free = max(began, self._free) + takes
        ended = max(self._free, began + 1.0)
        response = ended - began + 0.95 * collected
        planned = {box: self.planned[box] for box in stream.boxes}
        own = self.turns.own
        if any(rows.values()) and collected > 0:
            turn = Turn(
                stream.number, began, ended, rows, planned, stream.kept, 0.0, collected, response
            )
            fixed = len(self.streams) * self.fixed
            own = self.turns.take(turn, Costs(fixed, self.costs, 0.0, {}, 0.0, 10))
            self.responses.append((ended, response))
        stream.last, stream.next = began, ended
        stream.kept = {box: share * own for box, share in planned.items()}
        self.out += [(ended, box, count) for box, count in stay.items()]
        # One box after the other, each row as it is done.
        handed, at = [], self._free - work
        for box, count in stay.items():
            lots = max(1, round(self.costs[box] * count / EVERY))
            for lot in range(1, lots + 1):
                done = at + self.costs[box] * count * lot / lots
                handed.append((done, box, count / lots))
            at += self.costs[box] * count
        return handed

    def _thinned(self, rows: float, share: float) -> float:
        spread = (rows * share * max(0.0, 1 - share)) ** 0.5
        return min(rows, max(0.0, self._rng.gauss(rows * share, spread)))

    def p95(self, begin: float, end: float) -> float:
        """Of the response times in a span, in targets."""
        some = sorted(took for at, took in self.responses if begin <= at <= end)
        return some[round(0.95 * (len(some) - 1))] / self.target

    def rates(self, begin: float, end: float) -> dict[str, float]:
        """Rows per second that left each box in a span."""
        found = dict.fromkeys(self.costs, 0.0)
        for at, box, rows in self.out:
            found[box] += rows / (end - begin) if begin <= at <= end else 0.0
        return found


def run(
    nodes: Sequence[VirtualNode],
    rates: Mapping[str, float],
    links: Mapping[str, str],
    seconds: float,
) -> None:
    """Runs nodes, each of which feeds those behind it.

    Args:
        nodes: the first is fed by the inputs.
        rates: of each of its boxes, rows per second.
        links: box → the box that it feeds.
        seconds: how long.
    """
    lots = round(seconds / EVERY)
    for box, rate in rates.items():
        nodes[0].comes([(EVERY * lot, box, EVERY * rate) for lot in range(1, lots + 1)])
    while min(node.next for node in nodes) < seconds:
        node = min(nodes, key=lambda one: one.next)
        handed = [(at, links[box], rows) for at, box, rows in node.batch() if box in links]
        for other in nodes:
            other.comes(handed)
