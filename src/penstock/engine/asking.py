"""Which rows any query may want: the filters at the beginning of their ways, asked at the entrance.

    packets ─┬─► udp ─► port 53 ─► fold 1   keeps 0.5       a row stays if   u < 0.5 and is dns
             ├─► fold 2                     keeps 0.04                  or   u < 0.04
             └─► tcp ─► fold 3              windows since 9:00          or   t ≥ 9:00 and is tcp

Without them every row stays that the neediest query would keep if it wanted it: one query over few
rows that needs half of them would have half of the stream taken in, and one whose windows are kept
would have all of it.

What is asked here is asked again on the way, so it may be left out wherever it is not plain: a
filter is asked if it comes before all that is computed or joined, and calls no function.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from penstock.drops.kinds import FLOORED, PER_GROUP, is_sampled
from penstock.engine.folds import Fold
from penstock.network.operators import Aggregate, Filter, Operator, Source, base, inputs
from penstock.sources.kafka import Kafka

_MOST = 8
"""Questions: with more of them the asking is no longer cheap."""

_CALL = re.compile(r"\b(?!(?:in|and|or|not)\b)[a-z_]\w*\s*\(", re.IGNORECASE)


@dataclass(frozen=True)
class Question:
    """What a row is asked.

    Args:
        predicates: all of them must hold; none for any row.
        folds: the numbers of the folds, from 0 on, that want such rows.
        aggregates: those of these folds that want such rows.
        sampled: whether one of these folds wants some of them for their random number.
    """

    predicates: tuple[str, ...]
    folds: tuple[int, ...]
    aggregates: tuple[Aggregate, ...] = ()
    sampled: bool = True

    def holds(self, stays: Column) -> Column:
        """Whether a row is wanted.

        Args:
            stays: whether its random number is small enough, or its windows are needed.
        """
        for predicate in self.predicates:
            stays &= F.expr(predicate)
        return stays


def questions(folds: Sequence[Fold], source: Source) -> tuple[Question, ...]:
    """What the rows of a stream are asked; nothing where that would tell no more than their number.

    Args:
        folds: all of them.
        source: the stream.
    """
    mine = {i: one for i, one in enumerate(folds) if any(base(f) == source for f in one.ways)}
    if any(fold.kind in (FLOORED, PER_GROUP) for fold in mine.values()):
        return ()  # who gets a row does not follow from its number, its time and the filters alone
    if knows_before_parsing(source) and all(is_sampled(fold.kind) for fold in mine.values()):
        return ()  # records are dropped before they have columns
    found: dict[tuple[str, ...], tuple[dict[int, None], dict[Aggregate, None]]] = {}
    for number, fold in mine.items():
        for group in fold.groups:
            for feed in (feed for feed in group.feeds if base(feed) == source):
                numbers, aggregates = found.setdefault(plain(feed), ({}, {}))
                numbers[number] = None
                aggregates |= dict.fromkeys(group.aggregates)
    asked = tuple(
        Question(those, tuple(i), tuple(a), sampled=any(is_sampled(folds[n].kind) for n in i))
        for those, (i, a) in found.items()
    )
    worth = any(question.predicates for question in asked)
    # Who needs every row leaves nothing to ask.
    every = any(folds[i].kind == "exact" for q in asked if not q.predicates for i in q.folds)
    return asked if worth and not every and len(asked) <= _MOST else ()


def knows_before_parsing(source: Source) -> bool:
    """Whether the random number of a record is known before it is parsed: Kafka's, mostly."""
    origin = source.origin.of if source.origin is not None else None
    return (
        isinstance(origin, Kafka)
        and source.never_shed is None
        and source.weight is None
        and source.identity == origin.identity
    )


def plain(feed: Operator) -> tuple[str, ...]:
    """The filters that are asked of the rows of a feed, in their order.

    Args:
        feed: what an aggregate stands on, without unions.
    """
    chain = []
    while not isinstance(feed, Source):
        chain.append(feed)
        (feed,) = inputs(feed)
    found: list[str] = []
    for one in reversed(chain):
        if not isinstance(one, Filter) or one.predicate.handle is not None:
            break
        if _CALL.search(one.predicate.text):
            break
        found.append(one.predicate.text)
    return tuple(found)
