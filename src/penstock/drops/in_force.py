"""What share of rows was kept while a window was open, also of rows that were all dropped.

    batch            7        8        9        10       11       12
    keep             1        0.5      0.1      1        1        1
    span of 8                 after ──────────────────────┤ until    stands for 2
    span of 9                          after ─────────────┴──────┤   stands for 10

An answer sees the weights of the rows that stayed. A group whose rows came by batch 8, and of which
batch 9 dropped all that there were, would pass for one that lost half of them, or none. So for each
batch that drops at random it is noted which windows it may have taken rows from: those that were
not over, and begin no later than the newest row that it had. Where groups have a floor, it is
noted besides which of their buckets lost rows: groups of the others are whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.drops.coins import HASH_BITS

EVER, OPEN = -(1 << 62), 1 << 62
"""Before all times, and after all."""

_NONE = 2.0**-HASH_BITS
"""A share of which no row is left: random numbers are not finer."""

_MOST = 32
"""Spans of a query; neighbours are joined if there are more."""

_SETTLED = 3
"""After so many batches without a drop it is known how far the rows of the last drop reached."""


@dataclass(frozen=True, slots=True)
class Span:
    """Windows that a drop may have taken rows from.

    Args:
        after: those that end later than this, in microseconds of event time.
        until: and begin no later than this.
        weight: how many rows a row stood for that stayed.
        batch: the last one that dropped so.
        cut: the buckets of groups that lost rows, as bits; None for all groups.
    """

    after: int
    until: int
    weight: float
    batch: int
    cut: int | None = None

    def holds(self, start: int, end: int) -> bool:
        """Whether the window may have lost rows.

        Args:
            start: of a window, in microseconds.
            end: of it.
        """
        return end > self.after and start <= self.until

    def values(self) -> list[Any]:
        """Plain values."""
        cut = () if self.cut is None else (f"{self.cut:x}",)
        return [self.after, self.until, self.weight, self.batch, *cut]


def noted(
    spans: Sequence[Span],
    *,
    batch: int,
    keep: float,
    mark: int | None,
    newest: int | None,
    length: int | None,
    cut: int | None = None,
) -> tuple[Span, ...]:
    """The spans that are to be told with a batch.

    Args:
        spans: those of the batch before.
        batch: its id.
        keep: the share of rows that it keeps.
        mark: windows that end by this time are over; None if it is not known.
        newest: the newest time of the rows so far, the last batch and the one before left out.
        length: of a window; None if it has no end.
        cut: the buckets of groups that lose rows, as bits; None for all groups.
    """
    found = [_settled(span, batch, newest) for span in spans]
    if mark is not None and length is not None:
        found = [span for span in found if span.until > mark - length]
    if keep < 1:
        after = EVER if mark is None else mark
        found.append(Span(after, OPEN, 1 / max(keep, _NONE), batch, cut))
    joined: list[Span] = []
    for span in found:
        alike = joined and (joined[-1].weight, joined[-1].cut) == (span.weight, span.cut)
        if alike:
            joined[-1] = _both(joined[-1], span)
        else:
            joined.append(span)
    while len(joined) > _MOST:
        at = min(range(len(joined) - 1), key=lambda i: _apart(joined[i], joined[i + 1]))
        joined[at : at + 2] = [_both(joined[at], joined[at + 1])]
    return tuple(joined)


def weight(spans: Sequence[Span], start: int, end: int) -> float:
    """The most rows that a row of a window may have stood for, be it that none stayed.

    >>> weight([Span(10, 30, 4.0, 7)], 20, 40), weight([Span(10, 30, 4.0, 7)], 31, 40)
    (4.0, 1.0)
    """
    return max((span.weight for span in spans if span.holds(start, end)), default=1.0)


def span_of(values: Sequence[Any]) -> Span:
    """What `Span.values` gave."""
    after, until, weight, batch, *cut = values
    return Span(int(after), int(until), float(weight), int(batch), int(cut[0], 16) if cut else None)


def _settled(span: Span, batch: int, newest: int | None) -> Span:
    if span.until != OPEN or newest is None or batch < span.batch + _SETTLED:
        return span
    return replace(span, until=newest)


def _both(one: Span, other: Span) -> Span:
    after, until = min(one.after, other.after), max(one.until, other.until)
    cut = None if one.cut is None or other.cut is None else one.cut | other.cut
    return Span(after, until, max(one.weight, other.weight), max(one.batch, other.batch), cut)


def _apart(one: Span, other: Span) -> float:
    """How much is lost if the two are joined."""
    return max(one.weight, other.weight) / min(one.weight, other.weight)
