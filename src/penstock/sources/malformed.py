"""Records that cannot be read: marked with the reason, counted, and never the end of a stream.

topic ─► parse ─► malformed is null      a row like any other
              └─► malformed is a text    why not; every column of the row is null
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.errors import SchemaError, complaint

if TYPE_CHECKING:
    from collections.abc import Mapping

MALFORMED = "malformed"
"""The column with the reason why a record cannot be read; null in a row that is good."""

METRIC = "penstock_malformed"
"""What the names of the counts of malformed records begin with in Spark's progress."""


def good(rows: DataFrame) -> DataFrame:
    """The rows that could be read, without the column that says why not."""
    return _marked(rows).where(F.col(MALFORMED).isNull()).drop(MALFORMED)


def bad(rows: DataFrame) -> DataFrame:
    """The records that could not be read, with the reason."""
    return _marked(rows).where(F.col(MALFORMED).isNotNull())


def counted(rows: DataFrame, metric: str, when: Column | None = None) -> DataFrame:
    """The same rows; Spark's progress tells how many of them are malformed.

    A filter is not pushed below a count, so the records are parsed once also where rows are then
    chosen by `malformed`.

    Args:
        rows: with the column `malformed`.
        metric: the name of the count.
        when: the time of a record, where it has one: the earliest malformed one is reported too.
    """
    counts = [F.count(MALFORMED).alias("malformed")]
    if when is not None:
        is_bad = F.col(MALFORMED).isNotNull()
        counts.append(F.min(F.when(is_bad, F.unix_millis(when))).alias("since"))
    return rows.observe(metric, *counts)


def malformed_in(progress: Mapping[str, Any]) -> int:
    """How many malformed records a batch had, by one of Spark's reports.

    Args:
        progress: the report as a dictionary, such as one of `run.progress`.

    >>> malformed_in({"observedMetrics": {"penstock_malformed packets": {"malformed": 2}}})
    2
    """
    metrics = progress.get("observedMetrics") or {}
    return sum(
        int(counts.get("malformed") or 0)
        for name, counts in metrics.items()
        if name.startswith(METRIC)
    )


def _marked(rows: DataFrame) -> DataFrame:
    if MALFORMED not in rows.columns:
        hint = "the sources that parse have one: kafka, and files of JSON or CSV"
        got = ", ".join(rows.columns)
        raise SchemaError(complaint("rows", f"must have a column {MALFORMED}", got, hint))
    return rows
