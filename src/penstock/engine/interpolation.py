"""Gaps of subset answers, filled on the line between their neighbours: `drops.ledger.interpolate`.

window_end    10    20    30    40    50
n            4.0     .     .  10.0     .        . : missing, by the ledger
filled       4.0   6.0   8.0  10.0              the last has one neighbour only, and stays a gap
interpolated   -     x     x     -
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType

from penstock.drops.gaps import MISSING
from penstock.engine.step import quoted
from penstock.engine.window_query import WindowQuery
from penstock.errors import SchemaError, UsageError, complaint, did_you_mean

INTERPOLATED = "interpolated"
"""The column that says which answers were filled in, and were never computed."""


def interpolated(answers: DataFrame, ledger: DataFrame, query: WindowQuery) -> DataFrame:
    """The answers of a query with its gaps filled, each group by itself, and marked as such.

    Numbers become doubles; other answers are null where a gap was. A gap at the beginning or the
    end of a group's answers stays, and so do windows that the ledger has as empty. What has been
    backfilled is no gap any more.

    Args:
        answers: what the query has delivered; columns that are not the query's are left out.
        ledger: `run.ledger()`.
        query: with its name in the network, such as `network.queries["largest"]`.
    """
    if query.name is None:
        hint = "such as network.queries['largest']"
        raise UsageError(complaint("interpolated()", "needs a query of a network", None, hint))
    names = ["window_start", "window_end", *query.query.keys, *query.query.aggregates]
    for name in names:
        if name not in answers.columns:
            hint = did_you_mean(name, answers.columns)
            raise SchemaError(complaint("answers", "must have the query's columns", name, hint))
    keys = [F.col(quoted(key)) for key in query.query.keys]
    rows = answers.select(*map(quoted, names), F.lit(False).alias(INTERPOLATED))
    fates = [fate.value for fate in MISSING]
    missing = ledger.where((F.col("query") == query.name) & F.col("fate").isin(fates))
    missing = missing.select("window_start", "window_end").distinct()
    missing = missing.join(rows.select("window_end").distinct(), "window_end", "left_anti")
    blank = missing.select("*", F.lit(True).alias(INTERPOLATED))
    if keys:
        blank = blank.crossJoin(rows.select(*keys).distinct())
    both = rows.unionByName(blank, allowMissingColumns=True)
    kinds = {f.name: f.dataType for f in rows.schema.fields}
    values = [n for n in query.query.aggregates if isinstance(kinds[n], NumericType)]
    filled = {name: _filled(F.col(quoted(name)), keys) for name in values}
    all_columns = [filled[n].alias(n) if n in filled else F.col(quoted(n)) for n in names]
    found = both.select(*all_columns, INTERPOLATED)
    some = [F.col(quoted(name)).isNotNull() for name in values]
    known = ~F.col(INTERPOLATED) | (F.greatest(F.lit(False), *some))
    return found.where(known)


def _filled(value: Column, keys: list[Column]) -> Column:
    end = F.unix_micros("window_end")
    value = value.cast("double")
    known = F.when(value.isNotNull(), F.struct(value.alias("value"), end.alias("end")))
    # The next one is looked for backwards: a frame up to the end is computed anew for each row.
    order = F.col("window_end").asc(), F.col("window_end").desc()
    left, right = (
        F.last(known, ignorenulls=True).over(
            Window.partitionBy(*keys).orderBy(by).rowsBetween(Window.unboundedPreceding, 0)
        )
        for by in order
    )
    rise, run = right["value"] - left["value"], right["end"] - left["end"]
    line = left["value"] + rise * (end - left["end"]) / run
    return F.when(F.col(INTERPOLATED), line).otherwise(value)
