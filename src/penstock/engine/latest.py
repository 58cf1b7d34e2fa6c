"""The latest answers of each query, for those who look at a run while it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from penstock.engine.part import Part

SHOWN = 20
"""Answers of each query."""

_PLACE = "penstock_place"


@dataclass
class Latest:
    """Takes a few answers of each batch, once somebody has asked for them: it is a job more.

    Args:
        part: whose answers they are.
        wanted: whether somebody looks.
        answers: query → its latest answers, newest window first.
    """

    part: Part
    wanted: bool = False
    answers: dict[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    def take(self, batch: DataFrame) -> None:
        """Notes the answers of a batch, which is in memory."""
        columns = {name: rows.columns for name, rows in self.part.answers(batch).items()}
        together = self.part.together(batch)
        newest = [F.col("window_end").desc()] if "window_end" in together.columns else []
        order = Window.partitionBy("query").orderBy(*newest or [F.lit(0)])
        placed = together.withColumn(_PLACE, F.row_number().over(order))
        found: dict[str, list[dict[str, Any]]] = {}
        for row in placed.where(F.col(_PLACE) <= SHOWN).orderBy("query", _PLACE).collect():
            values = row.asDict()
            mine = columns[values["query"]]
            found.setdefault(values["query"], []).append({name: values[name] for name in mine})
        # One assignment, since others read it from their own threads.
        self.answers = {**self.answers, **found}
