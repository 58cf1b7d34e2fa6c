"""A sum over sums or counts is a sum over rows: what a sample says of one, it says of the other.

    outer              |-----------------------|
    inner        |-----------|                          the row is in two of them that end in the
                       |-----------|                    outer one, so it counts there twice
                             |-----------|
    row                     x

A row adds k·v to the outer sum, k ≤ m of its inner answers. (kv)² ≤ m Σ v² over these answers: what
inner answers know of their rows adds up to what bounds of the outer one need, m times.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.network.aggregates import Aggregate as Function
from penstock.network.conjuncts import words
from penstock.network.operators import (
    Aggregate,
    Filter,
    Join,
    Map,
    Operator,
    Source,
    base,
    feeds,
    inputs,
    upstream,
)
from penstock.windows import WindowSpec

SCALED = frozenset({"count", "sum"})
"""Answers that are scaled by 1/P, and are sums over rows: a sum of them is one again."""


def over_answers(aggregate: Aggregate) -> tuple[Operator, ...]:
    """Its feeds that stand on other aggregates."""
    return tuple(feed for feed in feeds(aggregate.input) if isinstance(base(feed), Aggregate))


def filtered_by(feed: Operator) -> Operator | None:
    """What leaves out answers between a feed and what it stands on; None if nothing does."""
    return next((one for one in _way(feed) if isinstance(one, Filter | Join)), None)


def summed(function: Function, feed: Operator) -> str | None:
    """The count or sum below whose answers a function sums; None if it sums anything else.

    Args:
        function: of an aggregate over other aggregates.
        feed: one of its feeds, that stands on an aggregate.
    """
    column, lower = function.column, base(feed)
    # How many answers there are is no sum over rows: an answer is there if one row is.
    if function.function != "sum" or column is None or not isinstance(lower, Aggregate):
        return None
    for one in _way(feed):
        if isinstance(one, Map):
            named = {name.lower(): str(expression) for name, expression in one.columns}
            column = named.get(_plain(column), column)
    found = {name.lower(): name for name in lower.query.aggregates}
    name = found.get(_plain(column))
    if name is None:
        return None
    below = lower.query.aggregates[name]
    return name if below.function in SCALED and below.fold is None else None


def estimated_keys(aggregate: Aggregate, feed: Operator) -> list[str]:
    """The groups of an aggregate that are not what they are once rows are dropped.

    Args:
        aggregate: over other aggregates.
        feed: one of its feeds, that stands on an aggregate.
    """
    lower = base(feed)
    assert isinstance(lower, Aggregate)  # noqa: S101 - so the caller says
    answers = {name.lower() for name in lower.query.aggregates}
    found = []
    for key in aggregate.query.keys:
        named = {key.lower()}
        for one in _way(feed):
            if isinstance(one, Map):
                made = {name.lower(): str(expression) for name, expression in one.columns}
                said = [words(made.get(name, name)) for name in named]
                named = {_plain(word) for those in said for word in those}
        if named & answers:
            found.append(key)
    return found


def is_linear(aggregate: Aggregate) -> bool:
    """Whether all that it and those below it answer are sums over rows.

    Args:
        aggregate: any; one over a stream is not asked what it computes.
    """
    for feed in over_answers(aggregate):
        lower = base(feed)
        assert isinstance(lower, Aggregate)  # noqa: S101 - of those only
        if filtered_by(feed) is not None or estimated_keys(aggregate, feed):
            return False
        if any(summed(one, feed) is None for one in aggregate.query.aggregates.values()):
            return False
        if not is_linear(lower):
            return False
    return True


def times(aggregate: Aggregate) -> int:
    """m: how often a window sums answers of windows over rows that have the same row, at most.

    Args:
        aggregate: any; a window over a stream has each of its rows once.
    """
    return max(_in_a_window(aggregate).values(), default=1)


def _in_a_window(aggregate: Aggregate) -> dict[Source, int]:
    """In how many ways a row of a stream may come into one of its windows."""
    length, found = length_of(aggregate), dict[Source, int]()
    for feed in over_answers(aggregate):
        lower = base(feed)
        assert isinstance(lower, Aggregate)  # noqa: S101 - of those only
        inside, all_ways = _in_a_window(lower), _in_windows(lower)
        for source, ways in all_ways.items():
            # No more answers are summed than end in the window.
            ending = ways if length is None else _fit(length, lower) * inside[source]
            found[source] = found.get(source, 0) + min(ways, ending)
    return found or {one: 1 for one in upstream(aggregate) if isinstance(one, Source)}


def _in_windows(aggregate: Aggregate) -> dict[Source, int]:
    """In how many ways a row of a stream may come into any of its windows."""
    each = _fit(length_of(aggregate) or 0, aggregate)
    found: dict[Source, int] = {}
    for feed in over_answers(aggregate):
        lower = base(feed)
        assert isinstance(lower, Aggregate)  # noqa: S101 - of those only
        for source, ways in _in_windows(lower).items():
            found[source] = found.get(source, 0) + ways
    found = found or {one: 1 for one in upstream(aggregate) if isinstance(one, Source)}
    return {source: ways * each for source, ways in found.items()}


def _fit(length: int, aggregate: Aggregate) -> int:
    """How many of its windows end in a time of that length, at most."""
    return max(1, -(-length // aggregate.query.spec.slide))


def reach_back(aggregate: Aggregate) -> int:
    """How long before its start the rows of a window may be, in microseconds.

    An answer from below counts a microsecond before its window ends, and has rows since that began.
    """
    lengths = [0]
    for feed in over_answers(aggregate):
        lower = base(feed)
        assert isinstance(lower, Aggregate)  # noqa: S101 - of those only
        lengths.append(max(0, (length_of(lower) or 0) - 1) + reach_back(lower))
    return max(lengths)


def length_of(aggregate: Aggregate) -> int | None:
    """The length of its longest window; None if it has no end."""
    window = aggregate.query.window
    return (window.range or window.period) if isinstance(window, WindowSpec) else None


def _way(feed: Operator) -> Iterator[Operator]:
    """What stands between a feed and what it stands on, from above to below."""
    while not isinstance(feed, Source | Aggregate):
        yield feed
        (feed,) = inputs(feed)


def _plain(column: str) -> str:
    return column.strip("` ").lower()
