"""Queries over the same rows by the same keys are one group: they share their panes.

group 0   TCP packets by host    ─►  panes of 5 s  ─►  bytes:   60 s by 10 s
                                                   ─►  packets: 30 s by 5 s
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DoubleType, LongType

from penstock.drops.kinds import FLOORED, PER_GROUP
from penstock.engine.lowering import Lowered, lower
from penstock.engine.schema import column_type
from penstock.engine.slots import Slots
from penstock.engine.step import quoted
from penstock.network.aggregates import Aggregate as Asked
from penstock.network.conjuncts import words
from penstock.network.operators import Aggregate, Operator, feeds
from penstock.windows.grid import Grid, grid

ROWS = "penstock_rows"
"""How many rows are in a group; count(*) is this."""

HEAVIEST = "penstock_heaviest"
"""The most rows that a row stands for."""

SAMPLE_SIZE = "penstock_sample_size"
"""Over windows, how many rows the answers below were computed from."""

IN_FORCE, MAY_MISS = "penstock_in_force", "penstock_may_miss"
"""The most rows that a row stood for while the window was open, be it that none stayed: of the
group, and of any group of the window."""

ALONE = (PER_GROUP, FLOORED)
"""Kinds of rows that go by their keys: no others are folded with them."""

_MASK = "mask"

_FINER = 4
"""Shared panes may be so many times finer than those of one query alone."""


@dataclass
class Group:
    """Aggregates over the same feeds and keys.

    Args:
        feeds: the operators that its rows come from.
        keys: the grouping columns.
        aggregates: the aggregates, whose windows may differ.
        kind: what may become of its rows: "exact" if none may go, "approximate", "subset", or
            one of `ALONE`.
    """

    feeds: tuple[Operator, ...]
    keys: tuple[str, ...]
    aggregates: list[Aggregate]
    kind: str = "exact"

    @property
    def grid(self) -> Grid:
        """The panes of all its windows."""
        return grid(a.query.spec for a in self.aggregates)


def grouped(
    aggregates: Sequence[Aggregate], kinds: Mapping[Aggregate, str] | None = None
) -> list[Group]:
    """The aggregates, those together that can share their panes.

    Args:
        aggregates: all of them.
        kinds: what may become of the rows of each; rows of different kinds are not shared.
    """
    groups: list[Group] = []
    for aggregate in aggregates:
        kind = (kinds or {}).get(aggregate, "exact")
        fed_by, keys = feeds(aggregate.input), tuple(sorted(aggregate.query.keys))
        alone = grid([aggregate.query.spec]).width
        for group in groups:
            if (group.feeds, group.keys, group.kind) != (fed_by, keys, kind) or kind in ALONE:
                continue
            finest = min(alone, group.grid.width)
            specs = [a.query.spec for a in (*group.aggregates, aggregate)]
            if grid(specs).width * _FINER >= finest:
                group.aggregates.append(aggregate)
                break
        else:
            groups.append(Group(fed_by, keys, [aggregate], kind))
    return groups


def are_panes(groups: Sequence[Group]) -> bool:
    """Whether every group has one tumbling window, so that its panes are its windows."""
    return all(
        len(group.aggregates) == 1
        and group.aggregates[0].query.spec.range == group.aggregates[0].query.spec.slide
        and group.aggregates[0].query.spec.start is None
        for group in groups
    )


@dataclass
class Columns:
    """The slots of a level: its keys, and its partial aggregates.

    Args:
        keys: slots by type.
        partials: slots by aggregate function and type.
        masks: those of the keys that are masks of folds, and how many bits they have.
        weighted: slots whose rows may stand for several, by the weight that they have.
    """

    ansi: bool
    keys: Slots = field(default_factory=lambda: Slots("penstock_k"))
    partials: Slots = field(default_factory=lambda: Slots("penstock_p"))
    key_types: dict[str, DataType] = field(default_factory=dict)
    masks: dict[str, int] = field(default_factory=dict)
    value_types: dict[str, DataType] = field(default_factory=dict)
    lowered: dict[str, Lowered] = field(default_factory=dict)
    weighted: dict[str, None] = field(default_factory=dict)

    def take_keys(self, rows: DataFrame, keys: Sequence[str]) -> list[str]:
        """Slots for the keys of a query."""
        types = [column_type(rows, quoted(key), key) for key in keys]
        slots = self.keys.take([of.json() for of in types])
        self.key_types |= dict(zip(slots, types, strict=True))
        return slots

    def take_mask(self, bits: int) -> str:
        """The slot for the mask of a fold; all folds have the same.

        Args:
            bits: how many it has.
        """
        (slot,) = self.keys.take([_MASK])
        self.key_types[slot] = LongType()
        self.masks[slot] = max(bits, self.masks.get(slot, 0))
        return slot

    def take_partials(self, rows: DataFrame, asked: Sequence[Asked]) -> dict[Asked, str]:
        """Slots for the aggregates of a query; count(*) needs none."""
        distinct = {_same(a): a for a in asked if a.column is not None}
        types = [column_type(rows, a.column or "", str(a)) for a in distinct.values()]
        wanted = [
            f"{a.function} {a.parameter} {of.json()}"
            for a, of in zip(distinct.values(), types, strict=True)
        ]
        slots = dict(zip(distinct, self.partials.take(wanted), strict=True))
        for (key, slot), of in zip(slots.items(), types, strict=True):
            if slot not in self.lowered:
                value = F.col(value_name(slot))
                self.lowered[slot] = lower(distinct[key], value, of, ansi=self.ansi, plain=True)
                self.value_types[slot] = of
        return {a: ROWS if a.column is None else slots[_same(a)] for a in asked}

    def take_merged(self, functions: Sequence[str]) -> list[str]:
        """Slots for fractions of answers below, each merged by sum, min or max.

        Args:
            functions: their names.
        """
        of = DoubleType()
        slots = self.partials.take([f"{function} None {of.json()}" for function in functions])
        for slot, function in zip(slots, functions, strict=True):
            if slot not in self.lowered:
                value = F.col(value_name(slot))
                asked = Asked(function, value_name(slot))
                self.lowered[slot] = lower(asked, value, of, ansi=self.ansi, plain=True)
                self.value_types[slot] = of
        return slots

    def carry(self, types: Mapping[str, DataType]) -> dict[str, str]:
        """Slots for answers that pass through this level as they are."""
        slots = self.partials.take([f"first {of.json()}" for of in types.values()])
        for slot, of in zip(slots, types.values(), strict=True):
            if slot not in self.lowered:
                self.lowered[slot] = _carried(F.col(value_name(slot)))
                self.value_types[slot] = of
        return dict(zip(types, slots, strict=True))

    @property
    def inputs(self) -> dict[str, DataType]:
        """The columns of a row before it is aggregated."""
        values = {value_name(slot): of for slot, of in self.value_types.items()}
        return self.key_types | values

    def partial(self, rows: Column | None = None) -> list[Column]:
        """The partial aggregates of rows."""
        same: Callable[[Column], Column] = lambda value: value  # noqa: E731 - slots are guarded
        counted = F.count(F.lit(1)) if rows is None else F.sum(rows)
        slots = (low.partial(same).alias(slot) for slot, low in self.lowered.items())
        return [counted.alias(ROWS), *slots]

    def weights(self, keep: Column) -> list[Column]:
        """What the rows of a pane stand for, and the variance of it, if each was kept by chance.

        Args:
            keep: the probability with which its rows were kept.
        """
        w = 1 / keep
        return [
            w.alias(HEAVIEST),
            *(
                column
                for slot in self.weighted
                for column in (
                    (F.col(slot) * w).alias(stands_for(slot)),
                    (F.col(slot) * w * (w - 1)).alias(varies(slot)),
                )
            ),
        ]

    def scaled(self, keep: Column) -> dict[str, Column]:
        """The partial aggregates that take the weights of rows into themselves.

        Args:
            keep: the probability with which its rows were kept.
        """
        found = {slot: low.scale for slot, low in self.lowered.items() if low.scale is not None}
        return {slot: scale(F.col(slot), 1 / keep) for slot, scale in found.items()}

    @property
    def weight_names(self) -> list[str]:
        """The columns of `weights`; none where no row has one."""
        listed = [name for slot in self.weighted for name in (stands_for(slot), varies(slot))]
        return [HEAVIEST, *listed] if listed else []

    def merged(self) -> list[Column]:
        """The partial aggregates of partial aggregates."""
        return [
            F.sum(ROWS).alias(ROWS),
            *((F.max if n == HEAVIEST else F.sum)(n).alias(n) for n in self.weight_names),
            *(
                low.merge(F.col(slot)).alias(slot)
                for slot, low in self.lowered.items()
                if low.merge is not None
            ),
        ]

    def final(self) -> list[Column]:
        """The answers."""
        slots = (low.final(F.col(slot)).alias(slot) for slot, low in self.lowered.items())
        return [F.col(ROWS), *map(F.col, self.weight_names), *slots]


def stands_for(slot: str) -> str:
    """The column with the sum of a slot, each row by its weight w."""
    return f"{slot}_w"


def varies(slot: str) -> str:
    """The column with the sum of a slot, each row by w(w - 1)."""
    return f"{slot}_v"


def value_name(slot: str) -> str:
    """The column whose values are aggregated into a slot."""
    return f"{slot}_of"


def _same(aggregate: Asked) -> tuple[object, ...]:
    return aggregate.function, words(aggregate.column or ""), aggregate.parameter


def _carried(value: Column) -> Lowered:
    return Lowered(lambda guard: F.first(guard(value)), F.first, lambda answer: answer)
