"""The orders of the running batch, as columns that any expression of the stream can use.

They come with the watermark, in one row that is read once a batch (`watermark`). A batch reads the
record with its own number, so a replay does what the batch did the first time.

What every row of a stream is asked stands at the top of that row: from within an array of structs
each look would make Java objects, which cost more than the rest of a row that is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np
from pyspark.sql import Column
from pyspark.sql import functions as F

from penstock.drops.arrays import Flags
from penstock.drops.arrays_per_group import ALL, Thresholds
from penstock.drops.cells import MOST
from penstock.drops.coins import HASH_BITS
from penstock.drops.floors import BUCKETS
from penstock.drops.group_orders import GroupOrder
from penstock.drops.in_force import Span
from penstock.drops.orders import ALL_STAY, EVER, Order, Orders, suppress_all
from penstock.drops.sealed import unseal
from penstock.engine.columns import BITS
from penstock.engine.files import Folder
from penstock.errors import RecordDamaged, UsageError, complaint

FOLDER, KIND, VERSION = "penstock/plans", "orders", 1

_FLAGS = "base: bigint, until: bigint, step: bigint, dropped: array<boolean>"
_ORDER = f"drops: boolean, below: bigint, since: bigint, needed: boolean, {_FLAGS}"
_REST = f"keeps: array<double>, windows: array<struct<{_FLAGS}>>"
TYPE = f"struct<batch: bigint, on: boolean, folds: array<struct<{_ORDER}>>, {_REST}>"
_FIELDS = dict(part.split(": ") for part in _ORDER.split(", "))
_SAMPLED, _ALL = ("below", "since"), "all"
_WANTS = {
    "wants_from": "bigint",
    "wants_until": "bigint",
    "wants_step": "bigint",
    "wants": "array<bigint>",
    "wants_else": "bigint",
    "unwanted_from": "bigint",
    "unwanted_until": "bigint",
}
_CELLS = "base: bigint, until: bigint, step: bigint, seeds: array<bigint>, below: array<bigint>"
_GROUP = f"struct<panes: struct<{_CELLS}>, ends: struct<{_CELLS}>>"
_SPAN = "struct<after: bigint, until: bigint, weight: double, cut: array<boolean>>"
WARM_ONE_IN = 256
"""One row in so many goes to queries that do not need it, if rows are dropped (`kept_warm`)."""
LAST = (1 << 63) - 1
"""The last time that there is, in microseconds."""
MORE = {
    "groups": f"array<{_GROUP}>",
    "floors": "array<array<bigint>>",
    "in_force": f"array<array<{_SPAN}>>",
}
"""What is told only where windows are dropped per group, groups have a floor, or answers are
approximate."""


def read_orders(checkpoint: str, batch: int, streams: int, folds: int, windows: int) -> Orders:
    """What a batch is told to do; where its record cannot be read, nothing is dropped.

    A record of another batch, be it whole, counts as one that cannot be read. What was dropped
    before stays suppressed, as the record of the batch before has it; without that, no window is
    delivered.

    Args:
        checkpoint: the stream's checkpointLocation.
        batch: its id.
        streams: how many the network has.
        folds: how many it has.
        windows: how many aggregates, and one.
    """
    folder, lost = Folder(checkpoint, FOLDER), (RecordDamaged, UsageError, OSError)
    with suppress(*lost):
        return orders_of(folder.read(str(batch)), batch)
    # What a batch further back had dropped is not all that was: rows may have gone since.
    with suppress(*lost):
        return orders_of(folder.read(str(batch - 1)), batch - 1).harmless(batch)
    return suppress_all(batch, streams, folds, windows)


def orders_of(content: bytes, batch: int) -> Orders:
    """The orders in a record; `RecordDamaged` if it is not the one of the batch.

    Args:
        content: of the record.
        batch: that it must be of.
    """
    values = unseal(KIND, VERSION, content)
    orders = Orders.from_json(values.get("orders", {}))
    if orders.batch != batch:
        raise RecordDamaged(complaint("a record", f"must be of batch {batch}", orders.batch))
    return orders


def as_row(orders: Orders) -> tuple[Any, ...]:
    """The orders as `TYPE` has them."""
    on = not orders.counts_only
    return (
        orders.batch,
        on,
        [_order(one) for one in orders.folds],
        [one.keep if on else 1.0 for one in orders.folds],
        [_flags(one) for one in orders.windows],
    )


Asking = Sequence[Sequence[Sequence[int]]]
"""Of each stream, of each question (`asking`), the numbers of the folds that ask it."""


def top_fields(asking: Asking, sampled: Sequence[int], timed: Sequence[int] = ()) -> list[str]:
    """What is at the top of the row, with types, as `top_row` fills it.

    Args:
        asking: who asks what of the rows of streams.
        sampled: the numbers of the folds whose rows are dropped at random.
        timed: the numbers of the folds that look up which rows stay by their time.
    """
    fields = ["batch: bigint", "on: boolean"]
    fields += [f"{name}_of_{fold}: bigint" for fold in (*sampled, _ALL) for name in _SAMPLED]
    for i in range(len(_cut(timed))):
        fields += [f"{_at_folds(name, i)}: {of}" for name, of in _WANTS.items()]
    for i, questions in enumerate(asking):
        fields += [f"{name}_{i}: {of}" for name, of in _FIELDS.items()]
        fields += [f"{_asked(i, j)}: bigint" for j in range(len(questions))]
        if by_time(questions, sampled):
            fields += [f"{name}_{i}: {of}" for name, of in _WANTS.items()]
    return fields


def by_time(questions: Sequence[Sequence[int]], sampled: Sequence[int]) -> bool:
    """Whether some who ask want rows for their time, and not only for their number.

    Args:
        questions: to the rows of a stream.
        sampled: the numbers of the folds whose rows are dropped at random.
    """
    return any(fold not in sampled for folds in questions for fold in folds)


def top_row(
    orders: Orders, asking: Asking, sampled: Sequence[int], timed: Sequence[int] = ()
) -> list[Any]:
    """What is told of the batch, of its folds and of the streams."""
    row: list[Any] = [orders.batch, not orders.counts_only]
    row += [getattr(orders.folds[fold], name) for fold in sampled for name in _SAMPLED]
    row.append(min((orders.folds[fold].below for fold in sampled), default=ALL))
    row.append(max((orders.folds[fold].since for fold in sampled), default=EVER))
    for some in _cut(timed):
        row += wants([orders.folds[fold] for fold in some])
    drops = orders.at_streams
    for i, (one, questions) in enumerate(zip(orders.streams, asking, strict=True)):
        row += drops[i], *_order(one)[1:]
        row += [max(orders.folds[fold].below for fold in folds) for folds in questions]
        if by_time(questions, sampled):
            # A record that does not say who wants what was written by another version.
            asked = orders.asked[i] if orders.asked else (ALL_STAY,) * len(questions)
            row += wants(asked)
    return row


def wants(asked: Sequence[Order]) -> tuple[Any, ...]:
    """Cells of time, with a bit for each question that wants rows for their time, as `_WANTS`.

    Args:
        asked: the order of those who ask each question.
    """
    every = sum(1 << j for j, order in enumerate(asked) if order.needed or order.below == ALL)
    some = [order.dropped for order in asked if order.needed and any(order.dropped.flags)]
    if not some:
        return 0, 0, 1, [], every, *_unwanted(0, 1, [], every)
    base = min(flags.base for flags in some)
    step = math.gcd(*(n for flags in some for n in (flags.step, flags.base - base)))
    until = max(flags.base + len(flags.flags) * flags.step for flags in some)
    step = max(step, -(-(until - base) // MOST))  # fewer rows are dropped by wide cells
    begins = base + step * np.arange(-(-(until - base) // step))
    masks = np.full(len(begins), every, np.int64)
    for j, order in enumerate(asked):
        if order.needed and order.below < ALL:
            masks[order.dropped.all_of(begins, step)] &= ~(1 << j)
    listed = masks.tolist()
    unwanted = _unwanted(base, step, listed, every)
    return base, base + step * len(begins), step, listed, every, *unwanted


def _unwanted(base: int, step: int, masks: Sequence[int], every: int) -> tuple[int, int]:
    """The longest time of which no question wants a row: there no cell is looked up.

    Args:
        base: when the first cell begins.
        step: how long cells are.
        masks: of the cells.
        every: the mask of all other times.

    >>> _unwanted(100, 10, [3, 0, 0, 1, 0], 3)
    (110, 130)
    >>> _unwanted(100, 10, [3, 0, 0, 1, 0], 0)[1] == LAST
    True
    """
    edges = [base + i * step for i in range(len(masks) + 1)]
    cells = [(*pair, mask) for pair, mask in zip(pairwise(edges), masks, strict=True)]
    longest, since = (0, 0), None
    # Rows come now and later: of the time before the cells nothing need be known.
    for begin, end, mask in [*cells, (edges[-1] if cells else EVER, LAST, every)]:
        since = None if mask else begin if since is None else since
        if since is not None and end - since > longest[1] - longest[0]:
            longest = since, end
    return longest


def wanting(mark: Column, stream: int, t: Column) -> Column:
    """The questions that want a row for its time, as bits; all of them where it has none.

    Args:
        mark: from `late_watermark`.
        stream: its number.
        t: its event time, in microseconds.
    """
    return _bits([mark[f"{name}_{stream}"] for name in _WANTS], t)


def staying(mark: Column, timed: Sequence[int], t: Column) -> list[Column]:
    """The folds in which a row stays for its time, as bits; all of them where it has none.

    Args:
        mark: from `late_watermark`.
        timed: as for `top_fields`.
        t: its event time, in microseconds.
    """
    cut = range(len(_cut(timed)))
    return [_bits([mark[_at_folds(name, i)] for name in _WANTS], t) for i in cut]


def bit_of(timed: Sequence[int], fold: int) -> tuple[int, int]:
    """Which of the numbers that `staying` gives has the bit of a fold, and which bit it is."""
    return divmod(timed.index(fold), BITS)


def kept_warm(order: Column, early: Column, u: Column) -> Column:
    """The bits of a row, of which one in 256 has others besides: it goes ways where it need not.

    Java takes for granted that what never happened never will. The first rows that a query gets
    after a while without any then find no code that is compiled for them, and the batch takes some
    seconds longer: so a few rows go to queries in any case, to one and not to another. What they
    count for are windows that are dropped, and not delivered.

    Args:
        order: the bits, from `wanting` or `staying`.
        early: whether the batch is a large one that drops rows; in others nobody would notice.
        u: the random number of the row.
    """
    some = F.xxhash64(u).bitwiseAND(F.lit((1 << BITS) - 1))
    return F.when(is_kept_warm(early, u), order.bitwiseOR(some)).otherwise(order)


def is_kept_warm(early: Column, u: Column) -> Column:
    """Whether a row goes ways where it need not, as `kept_warm` explains it."""
    # None of the sample, which goes on anyway: most rows that are kept are not in it.
    return early & (u.bitwiseAND(F.lit(WARM_ONE_IN - 1)) == 1)


def _at_folds(name: str, number: int) -> str:
    return f"{name}_at_folds_{number}"


def _cut(timed: Sequence[int]) -> list[Sequence[int]]:
    return [timed[i : i + BITS] for i in range(0, len(timed), BITS)]


def _bits(wants: Sequence[Column], t: Column) -> Column:
    base, until, step, masks, every, idle, again = wants
    inside = (t >= base) & (t < until)
    cell = F.call_function("div", t - base, step).cast("int")
    looked_up = F.coalesce(F.when(inside, F.get(masks, cell)), every)
    return F.when((t >= idle) & (t < again), F.lit(0).cast("bigint")).otherwise(looked_up)


def at_fold(mark: Column, number: int) -> dict[str, Column]:
    """The order of a fold whose rows are dropped at random, as `is_small` takes it."""
    return {name: mark[f"{name}_of_{number}"] for name in _SAMPLED}


def at_all(mark: Column) -> dict[str, Column]:
    """The order by which a row stays for all folds whose rows are dropped at random.

    Where all of them keep the same share, whoever stays for one stays for all: two looks tell.
    """
    return {name: mark[f"{name}_of_{_ALL}"] for name in _SAMPLED}


def below(mark: Column, stream: int, question: int) -> Column:
    """Below what the random number of a row must be that a question holds for.

    Args:
        mark: from `late_watermark`.
        stream: its number.
        question: its number, of those of the stream.
    """
    return mark[_asked(stream, question)]


def _asked(stream: int, question: int) -> str:
    return f"asked_{stream}_{question}"


def at_stream(mark: Column, number: int) -> dict[str, Column]:
    """The order of a stream, as `stays` takes it.

    Args:
        mark: from `late_watermark`.
        number: of the stream.
    """
    return {name: mark[f"{name}_{number}"] for name in _FIELDS}


def type_with(more: Sequence[str]) -> str:
    """What is not at the top of the row."""
    return f"struct<{_REST}{''.join(f', {name}: {MORE[name]}' for name in more)}>"


def rest_of(orders: Orders, more: Sequence[str]) -> tuple[Any, ...]:
    """The orders as `type_with` has them."""
    *_, keeps, windows = as_row(orders)
    return keeps, windows, *(more_of(orders, name) for name in more)


def more_of(orders: Orders, name: str) -> list[Any]:
    """What the orders have of `MORE` under a name."""
    if name == "floors":
        return [list(some) for some in orders.floors]
    if name == "in_force":
        return [[_span(span) for span in some] for some in orders.in_force]
    return [(_seeded(one, one.panes), _seeded(one, one.ends)) for one in orders.groups]


def in_force(spans: Column, bucket: Column | None = None) -> Column:
    """The most rows that a row of a window may have stood for, be it that none stayed.

    Args:
        spans: those of the window's aggregate, of `in_force` of `MORE`.
        bucket: that of a group with a floor; None for any group of the window.
    """
    start, end = F.unix_micros("window_start"), F.unix_micros("window_end")

    def heavier(so_far: Column, span: Column) -> Column:
        holds = (end > span["after"]) & F.coalesce(start <= span["until"], F.lit(True))
        if bucket is not None:
            holds = holds & F.coalesce(F.get(span["cut"], bucket), F.lit(True))
        return F.when(holds, F.greatest(so_far, span["weight"])).otherwise(so_far)

    return F.coalesce(F.aggregate(spans, F.lit(1.0), heavier), F.lit(1.0))


def _span(span: Span) -> tuple[Any, ...]:
    cut = None if span.cut is None else [bool(span.cut >> i & 1) for i in range(BUCKETS)]
    return span.after, span.until, span.weight, cut


def chance(columns: Sequence[Column]) -> Column:
    """The random number of a row: the same in a replay, and for all drops on its way."""
    return F.xxhash64(*columns).bitwiseAND(F.lit((1 << HASH_BITS) - 1))


Fields = Column | Mapping[str, Column]
"""An order: a struct, or its fields."""


def stays(order: Fields, u: Column, t: Column) -> Column:
    """Whether a row stays.

    Args:
        order: that of a stream (`at_stream`) or one of `folds`.
        u: its random number.
        t: its event time, in microseconds; a row without one is in no dropped window.
    """
    return is_small(order, u, t) | (order["needed"] & ~is_dropped(order, t))


def is_small(order: Fields, u: Column, t: Column) -> Column:
    """Whether a row stays for its random number; one without a time does at any time."""
    return (u < order["below"]) & F.coalesce(t >= order["since"], F.lit(True))


def is_dropped(flags: Fields, t: Column) -> Column:
    """Whether a time, or the end of a window, is dropped.

    Args:
        flags: has base, until, step and dropped.
        t: in microseconds.
    """
    # Times far away must not become a number that is no int.
    inside = (t >= flags["base"]) & (t < flags["until"])
    cell = F.call_function("div", t - flags["base"], flags["step"]).cast("int")
    return F.coalesce(F.when(inside, F.get(flags["dropped"], cell)), F.lit(False))


def _order(order: Order) -> tuple[Any, ...]:
    return order.drops, order.below, order.since, order.needed, *_flags(order.dropped)


def _flags(flags: Flags) -> tuple[int, int, int, list[bool]]:
    until = flags.base + len(flags.flags) * flags.step
    return flags.base, min(until, LAST), flags.step, list(flags.flags)


def _seeded(order: GroupOrder, found: Thresholds) -> tuple[Any, ...]:
    until = found.base + len(found.thresholds) * found.step
    seeds = {batch: order.seed(batch) for batch in set(found.batches)}
    listed = [seeds[batch] for batch in found.batches]
    return found.base, min(until, LAST), found.step, listed, list(found.thresholds)
