"""The operators of a network on DataFrames, one after the other; what does not fit is refused.

This is what a query means. How many queries are computed together is another matter (`flow`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.engine.failures import cause
from penstock.engine.schema import OURS, column
from penstock.engine.step import quoted
from penstock.errors import SchemaError, SpecificationError, complaint, did_you_mean
from penstock.network.operators import (
    Expression,
    Filter,
    Handle,
    Join,
    Map,
    Operator,
    Relation,
    Union,
)
from penstock.network.progress import Progress, Punctuation

if TYPE_CHECKING:
    from penstock.engine.stream import Stream


def as_expression(what: str, given: object) -> Expression:
    """A user's predicate or computed column."""
    if isinstance(given, Column):
        return Expression(str(given).removeprefix("Column<'").removesuffix("'>"), Handle(given))
    if not isinstance(given, str) or not given.strip():
        raise SpecificationError(complaint(what, "needs SQL text or a Column", given))
    return Expression(given.strip())


def as_column(expression: Expression) -> Column:
    """The expression as Spark has it."""
    if expression.handle is not None:
        assert isinstance(expression.handle.of, Column)  # noqa: S101 - only columns are put there
        return expression.handle.of
    return F.expr(expression.text)


def applied(
    node: Operator, known: Operator, rows: DataFrame, progress: Progress | None
) -> DataFrame:
    """The rows of an operator, given those of one that it stands on; punctuation stays."""
    always = F.expr(progress.where) if isinstance(progress, Punctuation) else None
    return built(node, {known: rows}, always)


def built(
    node: Operator, known: Mapping[Operator, DataFrame], always: Column | None = None
) -> DataFrame:
    """The rows of an operator, given those of the operators that it stands on.

    Args:
        node: any operator.
        known: rows of some operators upstream of it.
        always: rows that every filter lets through.
    """
    if node in known:
        return known[node]
    match node:
        case Filter(input=fed_by, predicate=predicate):
            rows = built(fed_by, known, always)
            return where(rows, predicate, always)
        case Map(input=fed_by, columns=columns, only=only):
            rows = built(fed_by, known, always)
            return _mapped(rows, columns, only=only)
        case Join(input=fed_by):
            return _joined(built(fed_by, known, always), node)
        case Union(inputs=several):
            first, *others = (built(one, known, always) for one in several)
            for other in others:
                first = first.unionByName(other)
            return first
    raise SpecificationError(complaint("a network", "must say what its streams are", str(node)))


def where(
    rows: DataFrame, predicate: Expression, always: Column | None = None, what: str = "where()"
) -> DataFrame:
    """The rows for which a predicate holds.

    Args:
        rows: a DataFrame.
        predicate: over its columns; any other is refused.
        always: rows that stay whatever the predicate says.
        what: how messages call the predicate.
    """
    try:
        kept = as_column(predicate)
        return rows.where(kept if always is None else kept | always)
    except PySparkException as error:
        raise _unfit(what, "must be a predicate", error, rows) from error


def _mapped(rows: DataFrame, columns: Sequence[tuple[str, Expression]], *, only: bool) -> DataFrame:
    taken = {name.lower() for name, _ in columns}
    rest = [] if only else [n for n in rows.columns if n.lower() not in taken]
    computed = []
    for name, expression in columns:
        plain = expression.handle is None and expression.text.lower() == name.lower()
        # A note in the metadata, such as that of a watermark, stays with a column as it is.
        value = F.col(quoted(name)) if plain else as_column(expression).alias(name)
        try:
            # Beside the other columns: an aggregate alone would make one row of them all.
            _ = rows.select("*", value).schema
        except PySparkException as error:
            raise _unfit(f"column {name}", "must be an expression", error, rows) from error
        computed.append(value)
    return rows.select(*map(quoted, rest), *computed)


def _unfit(what: str, rule: str, error: PySparkException, rows: DataFrame) -> SchemaError:
    """What Spark refuses, in one line; a column that is not there with the nearest one."""
    rule = f"{rule} over the stream's columns"
    missing = (error.getMessageParameters() or {}).get("objectName", "").replace("`", "")
    if str(error.getCondition()).startswith("UNRESOLVED_COLUMN") and missing:
        return SchemaError(complaint(what, rule, missing, did_you_mean(missing, rows.columns)))
    return SchemaError(complaint(what, rule, cause(str(error))))


def _joined(rows: DataFrame, join: Join) -> DataFrame:
    relation = join.relation.rows.of
    assert isinstance(relation, DataFrame)  # noqa: S101 - only DataFrames are put there
    keys = [f"{OURS}key_{i}" for i in range(len(join.on))]
    named = [F.col(quoted(theirs)).alias(k) for k, (_, theirs) in zip(keys, join.on, strict=True)]
    kept = relation.select(*named, *(F.col(quoted(name)) for name in join.added))
    same = [F.col(quoted(mine)) == F.col(k) for k, (mine, _) in zip(keys, join.on, strict=True)]
    how = "left_semi" if join.semi else "inner"
    return rows.join(F.broadcast(kept), same, how).drop(*keys)


def added(node: Operator, event_time: str | None, columns: Mapping[str, str | Column]) -> Map:
    """The operator that adds columns."""
    if not columns:
        hint = "such as with_columns(kib='size / 1024')"
        raise SpecificationError(complaint("with_columns()", "needs a column", None, hint))
    _check_names("with_columns()", columns, event_time)
    listed = tuple((name, as_expression(f"column {name}", c)) for name, c in columns.items())
    return Map(node, listed, only=False)


def chosen(
    node: Operator,
    rows: DataFrame,
    event_time: str | None,
    names: Sequence[str],
    computed: Mapping[str, str | Column],
) -> Map:
    """The operator that leaves some columns, and adds others."""
    spelled = [column(rows, "select()", name).name for name in names]
    if not spelled and not computed:
        hint = "such as select('host', kib='size / 1024')"
        raise SpecificationError(complaint("select()", "needs a column", None, hint))
    _check_names("select()", computed, event_time)
    twice = {n.lower() for n in spelled} & {n.lower() for n in computed}
    if twice or len({n.lower() for n in spelled}) < len(spelled):
        rule = "must name each column once (upper and lower case are the same)"
        raise SpecificationError(complaint("select()", rule, [*names, *computed]))
    plain = [(name, Expression(name)) for name in spelled]
    others = [(name, as_expression(f"column {name}", c)) for name, c in computed.items()]
    return Map(node, (*plain, *others), only=True)


def _check_names(what: str, columns: Mapping[str, object], event_time: str | None) -> None:
    for name, given in columns.items():
        if name.lower().startswith(OURS):
            rule = f"must name no column that begins with {OURS}"
            raise SpecificationError(complaint(what, rule, name))
        same = isinstance(given, str) and given.lower() == name.lower()
        if event_time is not None and name.lower() == event_time.lower() and not same:
            rule = "must leave the event time as it is: the stream's watermark is on it"
            raise SpecificationError(complaint(what, rule, name))
    if len({name.lower() for name in columns}) < len(columns):
        rule = "must name each column once (upper and lower case are the same)"
        raise SpecificationError(complaint(what, rule, list(columns)))


def joined(
    node: Operator,
    rows: DataFrame,
    relation: DataFrame,
    on: str | Mapping[str, str],
    name: str,
    *,
    semi: bool,
) -> Join:
    """The operator that joins with a relation, if the two fit."""
    what = "semi_join()" if semi else "join()"
    if not isinstance(relation, DataFrame) or relation.isStreaming:
        rule = "needs a stored relation: a DataFrame that is no stream"
        raise SchemaError(complaint(what, rule, type(relation).__name__))
    pairs = {on: on} if isinstance(on, str) else dict(on)
    if not pairs:
        raise SpecificationError(complaint(what, "needs columns to join on", on))
    keys = []
    for mine, theirs in pairs.items():
        ours, other = column(rows, what, mine), column(relation, f"{what} {name}", theirs)
        try:
            _ = rows.select(F.col(quoted(ours.name)) == F.lit(None).cast(other.dataType)).schema
        except PySparkException as error:
            got = (
                f"{mine}: {ours.dataType.simpleString()}, {theirs}: {other.dataType.simpleString()}"
            )
            rule = "needs columns that can be compared"
            raise SchemaError(complaint(what, rule, got)) from error
        keys.append((ours.name, other.name))
    matched = {theirs.lower() for _, theirs in keys}
    extra = () if semi else tuple(n for n in relation.columns if n.lower() not in matched)
    clash = {n.lower() for n in extra} & {n.lower() for n in rows.columns}
    if clash:
        hint = "rename them in the relation, or leave them out"
        rule = "must add no column that the stream has already"
        raise SchemaError(complaint(f"{what} {name}", rule, sorted(clash), hint))
    return Join(node, Relation(name, Handle(relation)), tuple(keys), semi, extra)


def same_columns(one: Stream, other: Stream) -> None:
    """Streams that come together must have the same columns."""
    if not hasattr(other, "node"):
        raise SchemaError(complaint("union()", "needs a stream", type(other).__name__))
    mine = {f.name.lower(): f.dataType.simpleString() for f in one.rows.schema.fields}
    theirs = {f.name.lower(): f.dataType.simpleString() for f in other.rows.schema.fields}
    if mine != theirs:
        apart = sorted(f"{n}: {t}" for n, t in mine.items() ^ theirs.items())
        rule = "needs streams with the same columns"
        raise SchemaError(complaint("union()", rule, apart, "use select() to make them alike"))
    terms = [(s.event_time or "").lower() for s in (one, other)]
    if terms[0] != terms[1] or one.late != other.late:
        rule = "needs streams with the same event time, and the same word on late rows"
        got = [(s.event_time, s.late) for s in (one, other)]
        raise SchemaError(complaint("union()", rule, got))
