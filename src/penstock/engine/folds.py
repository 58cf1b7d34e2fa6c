"""Groups that are folded into panes together: one entry for each row, however many the groups.

    fold 1   packets                            mask
             by protocol, port, mask  ─► panes ─┬─► traffic:      by protocol
                                                ├─1► tcp_packets
                                                └─1► tcp_bytes:    by port

The mask has a bit for each way to filter the rows; a pane goes on to the groups whose bit it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.engine.flow import Flow
from penstock.engine.groups import ALONE, Columns, Group
from penstock.engine.probe import first_batch
from penstock.engine.schema import is_column
from penstock.engine.step import quoted
from penstock.network.aggregates import Aggregate as Asked
from penstock.network.operators import Aggregate, Filter, Operator, Source, base
from penstock.windows import WindowSpec
from penstock.windows.folding import Rows, Sampled, folds
from penstock.windows.grid import Grid, grid

_LOOKED_AT = 200_000
"""Rows of the first batch that are looked at."""

_FINER = 4
"""Common panes may be so many times finer than those of a group alone."""

_MOST = 62


@dataclass
class Fold:
    """Groups with common panes.

    Args:
        groups: one, or several over filters of the same rows.
        key_slots: key, in small letters → the slot that it has.
        slots: aggregate function → the slot that it has.
        mask: the slot of the mask; None where there is one group.
    """

    groups: list[Group]
    key_slots: dict[str, str] = field(default_factory=dict)
    slots: dict[Asked, str] = field(default_factory=dict)
    mask: str | None = None

    def take(self, view: DataFrame, columns: Columns, asked: Sequence[Asked]) -> None:
        """Takes slots for its keys and functions.

        Args:
            view: the rows of its feed.
            columns: all slots.
            asked: the functions of all its aggregates.
        """
        slots = columns.take_keys(view, self.keys)
        self.key_slots = dict(zip(map(str.lower, self.keys), slots, strict=True))
        self.mask = columns.take_mask(len(self.ways)) if self.together else None
        self.slots = columns.take_partials(view, asked)

    @property
    def together(self) -> bool:
        """Whether there are several groups."""
        return len(self.groups) > 1

    @property
    def kind(self) -> str:
        """What may become of its rows."""
        return self.groups[0].kind

    @cached_property
    def feeds(self) -> tuple[Operator, ...]:
        """The operators that its rows come from."""
        first = self.groups[0].feeds
        return (unfiltered(first[0]),) if self.together else first

    @cached_property
    def ways(self) -> tuple[Operator, ...]:
        """The different operators that its groups stand on; each has a bit in the mask."""
        return tuple(dict.fromkeys(feed for group in self.groups for feed in group.feeds))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys of all groups."""
        return tuple({key.lower(): key for group in self.groups for key in group.keys}.values())

    @property
    def aggregates(self) -> list[Aggregate]:
        """The aggregates of all groups."""
        return [aggregate for group in self.groups for aggregate in group.aggregates]

    @cached_property
    def grid(self) -> Grid:
        """The panes of all windows."""
        return grid(aggregate.query.spec for aggregate in self.aggregates)

    def uses(self) -> dict[str, int]:
        """Key, in small letters → the bits of the mask of those that group by it."""
        found = dict.fromkeys(map(str.lower, self.keys), 0)
        for group in self.groups:
            for key in group.keys:
                found[key.lower()] |= self._bit(group)
        return found

    def bits(self) -> dict[Aggregate, int]:
        """Aggregate → its bit in the mask."""
        return {a: self._bit(group) for group in self.groups for a in group.aggregates}

    def _bit(self, group: Group) -> int:
        return 1 << self.ways.index(group.feeds[0])


def unfiltered(feed: Operator) -> Operator:
    """What a feed is before it is filtered."""
    while isinstance(feed, Filter):
        feed = feed.input
    return feed


def folded(groups: Sequence[Group], together: Sequence[Sequence[int]]) -> list[Fold]:
    """The groups in folds.

    Args:
        groups: all groups.
        together: numbers of groups that are folded together; the others are by themselves.
    """
    number = {i: n for n, those in enumerate(together) for i in those}
    found: dict[int, list[Group]] = {}
    for i, group in enumerate(groups):
        found.setdefault(number.get(i, -1 - i), []).append(group)
    return [Fold(those) for those in found.values()]


def looked(groups: Sequence[Group], source: Source, rows: DataFrame) -> list[list[int]]:
    """The groups over a stream that are worth folding together, after a look at its first batch.

    Args:
        groups: all groups of a network.
        source: the stream.
        rows: its rows.
    """
    flow = Flow.over(source, rows)
    mine = [i for i, group in enumerate(groups) if _is_simple(group, source, flow)]
    mine = mine[:_MOST]
    widths: dict[frozenset[int], int] = {}
    for a, i in enumerate(mine):
        for b, j in enumerate(mine[:a]):
            width = _common(groups[i], groups[j])
            if width is not None:
                widths[frozenset((a, b))] = width
    if not widths:
        return []
    chosen = [groups[i] for i in mine]
    found = first_batch(rows, lambda batch: _sample(batch, source, chosen))
    if found is None:
        return []
    sampled, sample = found
    return [[mine[i] for i in fold] for fold in folds(sampled, sample, widths) if len(fold) > 1]


def _is_simple(group: Group, source: Source, flow: Flow) -> bool:
    """Whether it is over one stream, and takes columns as they are.

    An expression might fail for rows that only another group of the fold has.
    """
    if len(group.feeds) != 1 or base(group.feeds[0]) != source:
        return False
    flow.add(group.feeds[0])
    view = flow.view(group.feeds[0])
    asked = (a.column for one in group.aggregates for a in one.query.aggregates.values())
    return all(column is None or is_column(view, column) for column in asked)


def _common(one: Group, other: Group) -> int | None:
    """The width of common panes; None if the two cannot be folded together."""
    if one.kind != other.kind or one.kind in ALONE:
        return None
    if unfiltered(one.feeds[0]) != unfiltered(other.feeds[0]):
        return None
    mine, theirs = ({key.lower() for key in group.keys} for group in (one, other))
    if one.kind != "exact" and not (mine <= theirs or theirs <= mine):
        return None  # what is folded together is dropped together
    both = grid(a.query.spec for a in (*one.aggregates, *other.aggregates)).width
    return both if both * _FINER >= min(one.grid.width, other.grid.width) else None


def _sample(
    batch: DataFrame, source: Source, groups: Sequence[Group]
) -> tuple[list[Sampled], Rows] | None:
    """Some rows of a batch: for each group whether a row is in it, and its keys as numbers."""
    flow = Flow.over(source, batch.limit(_LOOKED_AT))
    keys: list[tuple[str, ...]] = []
    for group in groups:
        flow.add(group.feeds[0])
        keys.append(tuple(flow.value(group.feeds[0], key) for key in group.keys))
    named = list(dict.fromkeys(name for those in keys for name in those))
    time = F.unix_micros(F.col(quoted(source.event_time or "")))
    columns = [time.alias("t")]
    columns += [flow.passes(group.feeds[0]).alias(f"g{i}") for i, group in enumerate(groups)]
    columns += [F.xxhash64(F.col(quoted(name))).alias(f"k{i}") for i, name in enumerate(named)]
    seen = flow.frame.select(*columns).where("t IS NOT NULL").toPandas()
    if seen.empty:
        return None
    rows = Rows(
        seen["t"].to_numpy("int64"),
        {name: seen[f"k{i}"].to_numpy("int64") for i, name in enumerate(named)},
    )
    sampled = [
        Sampled(
            seen[f"g{i}"].to_numpy("bool"),
            keys[i],
            group.grid.width,
            sum(_overlap(a.query.spec) for a in group.aggregates),
        )
        for i, group in enumerate(groups)
    ]
    return sampled, rows


def _overlap(spec: WindowSpec) -> float:
    """How many windows a pane is in, about."""
    return (spec.range or (spec.period or spec.slide) / 2) / spec.slide
