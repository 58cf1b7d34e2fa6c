"""The latest answers of each query, for those who look at a run while it runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, IntegralType, NumericType

from penstock.engine.part import Part
from penstock.engine.together import united

SHOWN = 20
"""Answers of each query."""

RARELY = 9
"""Times as long as a look takes, no other one follows: so it takes a tenth of the time at most."""

_PLACE = "penstock_place"


@dataclass
class Latest:
    """Takes a few answers of a batch, once somebody has asked for them: it is a job more.

    Args:
        part: whose answers they are.
        clock: seconds.
        wanted: whether somebody looks.
        answers: query → its latest answers, newest window first.
    """

    part: Part
    clock: Callable[[], float] = time.monotonic
    wanted: bool = False
    answers: dict[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    _next: float = -math.inf

    @property
    def due(self) -> bool:
        """Whether it is time for a look: a small batch must not take longer for being watched."""
        return self.wanted and self.clock() >= self._next

    def take(self, batch: DataFrame) -> None:
        """Notes the answers of a batch, which is in memory."""
        begin = self.clock()
        found = self._found(batch)
        # One assignment, since others read it from their own threads.
        self.answers = {**self.answers, **found}
        if found:
            now = self.clock()
            self._next = now + RARELY * (now - begin)

    def _found(self, batch: DataFrame) -> dict[str, list[dict[str, Any]]]:
        each = self.part.answers(batch)
        types = {name: {f.name: f.dataType for f in rows.schema} for name, rows in each.items()}
        together = united({name: _alike(rows, types) for name, rows in each.items()})
        newest = [F.col("window_end").desc()] if "window_end" in together.columns else []
        order = Window.partitionBy("query").orderBy(*newest or [F.lit(0)])
        placed = together.withColumn(_PLACE, F.row_number().over(order))
        found: dict[str, list[dict[str, Any]]] = {}
        for row in placed.where(F.col(_PLACE) <= SHOWN).orderBy("query", _PLACE).collect():
            mine = types[row["query"]]
            values = {name: _as(row[name], of) for name, of in mine.items()}
            found.setdefault(row["query"], []).append(values)
        return found


def _alike(rows: DataFrame, types: Mapping[str, Mapping[str, DataType]]) -> DataFrame:
    """The rows, with columns that are of several types in several queries made of one type."""
    columns = []
    for name in rows.columns:
        those = {of[name] for of in types.values() if name in of}
        plain = "double" if all(isinstance(of, NumericType) for of in those) else "string"
        columns.append(F.col(name) if len(those) == 1 else F.col(name).cast(plain).alias(name))
    return rows.select(*columns)


def _as(value: object, of: DataType) -> object:
    return int(value) if isinstance(value, float) and isinstance(of, IntegralType) else value
