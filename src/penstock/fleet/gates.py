"""Where rows enter a node: which of them a box gets, and what that means for windows downstream.

left ──[gate]──► a1 ──► topic ──► … ──► b1 [RANGE 2 s SLIDE 1 s]

approximate    a share of the rows, at random; each that stays stands for as many as it stands
               for already, divided by the share
subset         all rows that only dropped windows of b1 would need: b1 has no window that is
               not whole, and is told which ones are missing
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.drops.advance import advance
from penstock.drops.arrays import early
from penstock.drops.decisions import Decisions
from penstock.drops.orders import ALL_STAY, Order, at_random, by_window
from penstock.drops.plan import Arc, Plan, WindowDrop
from penstock.drops.targets import Target
from penstock.network.settings import AnswerKind
from penstock.nodes.splits import Location

LEAST = 0.001
"""The smallest share of rows that a sample keeps: with none there would be no answer."""

_AHEAD = 4
"""Windows are decided so many times as far ahead as a batch has gone."""

_BEHIND = 600 * 1_000_000
"""How long windows are remembered that rows may still come for, in microseconds."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Between a stream that enters a node and a box.

    Args:
        box: its name.
        stream: an input, or a box of another node.
        kind: of the answers that the box serves.
        targets: of subset answers, the windows downstream.
    """

    box: str
    stream: str
    kind: AnswerKind
    targets: tuple[Target, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """How far rows have come.

    Args:
        newest: the largest event time so far, in microseconds; None before the first row.
        span: how far a batch goes, in microseconds.
    """

    newest: int | None = None
    span: int = 0

    def after(self, newest: int | None) -> Seen:
        """After a batch whose newest row is this; None if it had none."""
        if newest is None or self.newest is None:
            return Seen(self.newest if newest is None else newest, self.span)
        return Seen(max(newest, self.newest), max(newest - self.newest, self.span // 2))


def decided(
    state: Decisions, gates: Sequence[Gate], keeps: Sequence[float], seen: Seen, batch: int
) -> tuple[Decisions, tuple[Order, ...]]:
    """What the gates do in the next batch.

    Args:
        state: what was decided before: a window that is dropped stays so.
        gates: of a node.
        keeps: the share of rows that each may keep.
        seen: how far rows have come.
        batch: the next one.
    """
    targets = {target.name: target for gate in gates for target in gate.targets}
    mark = None if seen.newest is None else seen.newest - _BEHIND
    if targets:
        state = advance(
            state,
            window_drops(gates, keeps),
            targets,
            seed=0,
            watermark=mark,
            newest=seen.newest,
            ahead=max(_AHEAD * seen.span, 1),
            by=batch,
        )
    orders = tuple(_order(gate, keep, state) for gate, keep in zip(gates, keeps, strict=True))
    return state, orders


def _order(gate: Gate, keep: float, state: Decisions) -> Order:
    if gate.kind == "approximate":
        return at_random(max(keep, LEAST)) if keep < 1 else ALL_STAY
    return by_window(early(state, gate.targets))


def window_drops(gates: Sequence[Gate], keeps: Sequence[float]) -> Plan:
    """The window drops by which gates keep no more than their share of rows.

    A window that one gate drops is dropped at all gates: nobody can use the rest of it. Windows
    that are fed by one gate and slide alike are dropped together, or rows of both would stay.

    Args:
        gates: of a node.
        keeps: the share of rows that each may keep.
    """
    wanted: dict[tuple[str, ...], tuple[Target, float, str]] = {}
    for gate, keep in zip(gates, keeps, strict=True):
        for slide in dict.fromkeys(target.window.slide for target in gate.targets):
            those = [target for target in gate.targets if target.window.slide == slide]
            gap = min(those, key=lambda target: target.max_gap)
            names = tuple(target.name for target in those)
            p = max(drop_of(target, keep) for target in those)
            if p > wanted.get(names, (gap, 0.0, ""))[1]:
                wanted[names] = gap, p, gate.stream
    return Plan(
        windows=tuple(
            WindowDrop(
                Arc(stream, " + ".join(names)),
                target.window.range or target.window.slide,
                target.window.slide,
                p,
                max(1, target.max_gap),
                names,
            )
            for names, (target, p, stream) in wanted.items()
        )
    )


def drop_of(target: Target, keep: float) -> float:
    """The share of windows to drop, for a share of rows to stay.

    Rows at both ends of a gap are needed by windows beside it: the more windows overlap, the more
    of them have to go.

    >>> from penstock.windows import sliding, tumbling
    >>> drop_of(Target("n", tumbling(10, on="ts"), max_gap=4), keep=0.4)
    0.6
    >>> round(drop_of(Target("n", sliding(20, 10, on="ts"), max_gap=4), keep=0.4), 3)
    0.8
    """
    window, gap = target.window, max(1, target.max_gap)
    length = window.range or window.slide
    saved = 1 - (length - window.slide) / (gap * window.slide)
    if keep >= 1:
        return 0.0
    return min(1.0, (1 - keep) / saved) if saved > 0 else 1.0


def keeps_of(
    gates: Sequence[Gate], planned: Mapping[Location, float], own: float
) -> tuple[float, ...]:
    """What each gate may keep: what is planned, and no more than the node itself can bear.

    Args:
        gates: of a node.
        planned: the share at drop locations; those that are not named keep all.
        own: the share of what is planned that the node can bear.
    """
    found = []
    for gate in gates:
        shares = [
            share
            for place, share in planned.items()
            if place.after == gate.stream and gate.box in place.before
        ]
        keep = min(shares, default=1.0) * own
        found.append(round(min(1.0, max(0.0, keep)), 4) if math.isfinite(keep) else 1.0)
    return tuple(found)
