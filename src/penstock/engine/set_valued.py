"""Queries without an aggregate: their answers are rows, by another scan, one for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from penstock.engine.flow import Flow
from penstock.engine.results import data_of
from penstock.engine.schema import column_type
from penstock.engine.slots import WHICH, Branch, Slots, tag
from penstock.engine.step import quoted
from penstock.network.operators import Operator, Source, base, depth, feeds

QUERY = "penstock_query"
"""Which set-valued query a row is an answer of; null for windows."""


@dataclass
class SetValued:
    """The queries of a network that have no aggregate.

    Args:
        queries: name → what is asked for; those with an aggregate are left out.
    """

    queries: Mapping[str, Operator]
    _slots: dict[str, dict[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.queries = {name: node for name, node in self.queries.items() if not depth(node)}

    def frame(self) -> DataFrame:
        """The rows of all of them."""
        slots, types = Slots("penstock_s"), dict[str, DataType]()
        branches: list[Branch] = []
        flows: dict[Source, Flow] = {}
        for number, (name, node) in enumerate(self.queries.items()):
            for feed in feeds(node):
                source = base(feed)
                assert isinstance(source, Source)  # noqa: S101 - it has no aggregate
                flow = flows.setdefault(source, Flow.over(source, data_of(source)))
                flow.add(feed)
                view = flow.view(feed)
                if name not in self._slots:
                    of = [column_type(view, quoted(c), c) for c in view.columns]
                    taken = slots.take([t.json() for t in of])
                    types |= dict(zip(taken, of, strict=True))
                    self._slots[name] = dict(zip(view.columns, taken, strict=True))
                filled = {slot: column for column, slot in self._slots[name].items()}
                branches.append(Branch(feed, number, filled))
        parts = []
        for source, flow in flows.items():
            mine = [branch for branch in branches if base(branch.feed) == source]
            rows = tag(flow, mine, types, {})
            numbers = F.array(*(F.lit(branch.target) for branch in mine))
            parts.append(rows.select(numbers[F.col(WHICH)].alias(QUERY), *types))
        return reduce(DataFrame.unionByName, parts)

    def answers(self, frame: DataFrame, name: str) -> DataFrame:
        """The rows of one of them.

        Args:
            frame: from `frame`, or a batch of it; other rows may be in it.
            name: of the query.
        """
        mine = frame.where(F.col(QUERY) == list(self.queries).index(name))
        return mine.select(
            *(F.col(slot).alias(column) for column, slot in self._slots[name].items())
        )
