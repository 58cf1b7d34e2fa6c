"""Answers of several queries that go to one place."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.errors import SchemaError, complaint


def united(answers: Mapping[str, DataFrame]) -> DataFrame:
    """The answers of several queries, with the name of the query in `query`."""
    labelled = [rows.select(F.lit(name).alias("query"), "*") for name, rows in answers.items()]
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), labelled)


def check_types(together: Mapping[str, DataFrame]) -> None:
    """Answers that go to one place must not call two types by one name."""
    seen: dict[str, tuple[str, str]] = {}
    for name, rows in together.items():
        for f in rows.schema.fields:
            query, of = seen.setdefault(f.name.lower(), (name, f.dataType.simpleString()))
            if of != f.dataType.simpleString():
                rule = f"must be of one type in all queries that go to one sink ({query}: {of})"
                got = f"{name}: {f.dataType.simpleString()}"
                hint = "rename one of them, or give the queries sinks of their own"
                raise SchemaError(complaint(f"column {f.name}", rule, got, hint))
