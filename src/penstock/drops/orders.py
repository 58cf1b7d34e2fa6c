"""What a batch is told to do: for each place where rows may go, which of them stay.

    stream ──► u < below, or its windows are needed ──┬─► fold 1: u < below
                                                      └─► fold 2: not in a dropped pane
    answers ──► not of a suppressed window

An order is made of few numbers and an array, so that an engine can follow it without knowing why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.drops.arrays import Flags, suppressed
from penstock.drops.arrays_per_group import ALL
from penstock.drops.coins import threshold
from penstock.drops.decisions import Decisions
from penstock.drops.group_orders import GroupOrder
from penstock.drops.in_force import Span, span_of
from penstock.drops.targets import Target
from penstock.errors import RecordDamaged, complaint
from penstock.windows import last_closed, last_wid, window_end

NOTHING = Flags(0, 1, ())
EVER = -(1 << 63)
"""Before all times."""

EVERYTHING = Flags(-(1 << 62), 1 << 61, (True, True, True))
"""All windows of all times that there are."""


@dataclass(frozen=True, slots=True)
class Order:
    """Which rows stay: those with a small number, and those in a pane that is needed.

    Args:
        keep: the probability with which a row stays, for the weight of those that do.
        below: a row stays if its random number is below this.
        needed: whether a row also stays if its pane is not dropped.
        dropped: panes that no window needs.
        since: a row before this time, in microseconds, does not stay for its small number.
    """

    keep: float = 1.0
    below: int = ALL
    needed: bool = False
    dropped: Flags = NOTHING
    since: int = EVER

    @property
    def drops(self) -> bool:
        """Whether there may be rows that do not stay.

        >>> ALL_STAY.drops, by_window(NOTHING).drops, at_random(0.5).drops
        (False, False, True)
        """
        chosen = self.below < ALL or self.since > EVER
        return chosen and (not self.needed or any(self.dropped.flags))

    def stays(self, u: int, t: int) -> bool:
        """Whether a row stays.

        Args:
            u: its random number.
            t: its event time, in microseconds.
        """
        small = u < self.below and t >= self.since
        return small or (self.needed and not self.dropped.at(t))


ALL_STAY = Order()


def at_random(keep: float, since: int = EVER) -> Order:
    """A share of the rows from a time on.

    >>> at_random(1.0) == ALL_STAY
    True
    """
    return Order(keep, threshold(keep), since=since)


def by_window(dropped: Flags) -> Order:
    """All rows but those of windows that are dropped."""
    return Order(1.0, 0, needed=True, dropped=dropped)


def before(orders: Sequence[Order], dropped: Flags) -> Order:
    """The order at a place that all of these places get their rows from.

    Args:
        orders: of the places downstream.
        dropped: panes that none of those needs that go by windows.
    """
    below = max((order.below for order in orders), default=ALL)
    needed = any(order.needed for order in orders)
    since = min((order.since for order in orders if order.below), default=EVER)
    return Order(1.0, below, needed, dropped if needed else NOTHING, since)


@dataclass(frozen=True, slots=True)
class Orders:
    """All orders for one batch.

    Args:
        batch: its id.
        streams: in the order of the network's streams.
        folds: in the order of its folds.
        windows: of each aggregate, the windows whose answers are not delivered, by their ends.
        counts_only: whether all rows stay, and those that would not are only counted.
        large: whether the batch is expected to have so many rows that the watermark may go by
            those that stay, and a sample.
        groups: of each query that is dropped per group, in the order of their folds.
        floors: of each fold with a floor, the thresholds of its buckets; none where it has none.
        in_force: of each aggregate with approximate answers, which windows may have lost rows.
        asked: of each stream, the order of those that ask its rows the same before they enter; none
            where rows are not asked.
    """

    batch: int
    streams: tuple[Order, ...]
    folds: tuple[Order, ...]
    windows: tuple[Flags, ...]
    counts_only: bool = False
    large: bool = False
    groups: tuple[GroupOrder, ...] = ()
    floors: tuple[tuple[int, ...], ...] = ()
    in_force: tuple[tuple[Span, ...], ...] = ()
    asked: tuple[tuple[Order, ...], ...] = ()

    @property
    def drops(self) -> bool:
        """Whether there may be rows that do not stay everywhere."""
        placed = any(self.at_streams) or any(order.drops for order in self.folds)
        return placed or any(order.drops for order in self.groups) or any(self.floors)

    @property
    def early(self) -> bool:
        """Whether rows are dropped before the watermark looks at them."""
        return self.large and not self.counts_only and any(self.at_streams)

    @property
    def at_streams(self) -> tuple[bool, ...]:
        """Of each stream, whether rows may be dropped where they enter."""
        asked = self.asked or ((),) * len(self.streams)
        # One that keeps all that it asks for asks for rows of some kind; others may be dropped.
        by_question = (any(one.drops for one in some) for some in asked)
        plain = (order.drops for order in self.streams)
        return tuple(a or b for a, b in zip(plain, by_question, strict=True))

    def harmless(self, batch: int) -> Orders:
        """The same without any drop; what was dropped before stays suppressed."""
        stay, groups = (ALL_STAY,), tuple(order.harmless() for order in self.groups)
        streams, folds = stay * len(self.streams), stay * len(self.folds)
        made = Orders(batch, streams, folds, self.windows, groups=groups)
        return replace(made, in_force=self.in_force)

    def to_json(self) -> dict[str, Any]:
        """Plain values; flags as a text of 0 and 1."""
        return {
            "batch": self.batch,
            "counts_only": self.counts_only,
            "large": self.large,
            "streams": [_order(order) for order in self.streams],
            "folds": [_order(order) for order in self.folds],
            "windows": [_flags(flags) for flags in self.windows],
            "groups": [order.values() for order in self.groups],
            "floors": [list(some) for some in self.floors],
            "in_force": [[span.values() for span in some] for some in self.in_force],
            "asked": [[_order(order) for order in some] for some in self.asked],
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Orders:
        """What `to_json` gave; `RecordDamaged` if it is not."""
        try:
            return cls(
                values["batch"],
                tuple(_order_of(one) for one in values["streams"]),
                tuple(_order_of(one) for one in values["folds"]),
                tuple(_flags_of(one) for one in values["windows"]),
                counts_only=bool(values["counts_only"]),
                large=bool(values.get("large", False)),
                groups=tuple(map(GroupOrder.of, values.get("groups", ()))),
                floors=tuple(tuple(map(int, some)) for some in values.get("floors", ())),
                in_force=tuple(tuple(map(span_of, some)) for some in values.get("in_force", ())),
                asked=tuple(tuple(map(_order_of, some)) for some in values.get("asked", ())),
            )
        except (LookupError, TypeError, ValueError) as error:
            raise RecordDamaged(complaint("orders", "must be whole", values)) from error


def undelivered(state: Decisions, target: Target) -> Flags:
    """The windows, by their ends, whose answers must not be delivered: dropped ones and lost ones.

    Args:
        state: the decisions.
        target: the query.
    """
    flags, window = suppressed(state, target), target.window
    if state.suppress_until is None:
        return flags
    if state.watermark is None:
        return EVERYTHING
    first = last_closed(state.watermark, window) + 1
    last = last_wid(state.suppress_until + target.reach, window)
    ends = range(window_end(first, window), window_end(last or first, window) + 1, window.slide)
    if last is None or last < first:
        return flags
    stop = max(ends[-1] + window.slide, flags.base + len(flags.flags) * window.slide)
    both = range(ends[0], stop, window.slide)
    return Flags(ends[0], window.slide, tuple(end in ends or flags.at(end) for end in both))


def suppress_all(batch: int, streams: int, folds: int, windows: int) -> Orders:
    """Nothing is dropped, and nothing is delivered: what was dropped before is not known."""
    stay = (ALL_STAY,)
    return Orders(batch, stay * streams, stay * folds, (EVERYTHING,) * windows)


def _order(order: Order) -> list[Any]:
    return [order.keep, order.below, order.needed, _flags(order.dropped), order.since]


def _order_of(values: Sequence[Any]) -> Order:
    keep, below, needed, dropped, *since = values
    return Order(float(keep), int(below), bool(needed), _flags_of(dropped), *map(int, since))


def _flags(flags: Flags) -> list[Any]:
    return [flags.base, flags.step, "".join("01"[flag] for flag in flags.flags)]


def _flags_of(values: Sequence[Any]) -> Flags:
    base, step, marks = values
    return Flags(int(base), int(step), tuple(mark == "1" for mark in marks))
