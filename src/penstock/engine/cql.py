"""CQL text over streams: what it asks is a window query; what does not fit is shown at its place.

ps.cql("SELECT max(speed) FROM Traffic [RANGE 5 min SLIDE 1 min WATTR ts]", Traffic=df)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pyspark.errors import ParseException, PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType, TimestampType

from penstock.engine.failures import cause
from penstock.engine.opening import stream
from penstock.engine.results import conditions
from penstock.engine.schema import check_keys, column, lower_all
from penstock.engine.step import quoted
from penstock.engine.stream import Stream
from penstock.engine.window_query import WindowQuery
from penstock.errors import SchemaError, SpecificationError, complaint, did_you_mean
from penstock.network.cql import CqlError, Statement, check_columns, parse, render
from penstock.network.cql.check import no_column
from penstock.network.cql.errors import nearest, shown
from penstock.network.cql.names import written
from penstock.network.cql.statement import Computed, Placed, PlainColumn, Source
from penstock.network.cql.tokens import tokenize
from penstock.network.operators import Expression, Map, Operator
from penstock.network.query import Query
from penstock.windows import WindowSpec
from penstock.windows.kinds import ROW_NUM

_NOT_PARSED = re.compile(r"\(line (\d+), pos (\d+)\)")


@dataclass(frozen=True)
class CqlQuery(WindowQuery):
    """A window query made from text; its results have the columns of the SELECT list.

    Args:
        text: the canonical text.
        select: result column → what the engine calls it; those of the window come before them.
    """

    text: str = field(kw_only=True)
    select: dict[str, str] = field(kw_only=True)

    def dataframe(self, checkpoint: str | None = None) -> DataFrame:
        """The windows as a DataFrame: the columns of the window, then those of the SELECT list.

        Args:
            checkpoint: for a stream, the checkpointLocation that `writeStream` will be given.
        """
        windows = super().dataframe(checkpoint)
        chosen = [F.col(quoted(inner)).alias(name) for name, inner in self.select.items()]
        return windows.select(*self.query.window_columns, *chosen)

    @property
    def node(self) -> Operator:
        """The operator of a network whose rows are the answers."""
        plain = super().node
        if list(self.select.items()) == [
            (n, n) for n in (*self.query.keys, *self.query.aggregates)
        ]:
            return plain
        window = ((name, Expression(name)) for name in self.query.window_columns)
        chosen = ((name, Expression(quoted(inner))) for name, inner in self.select.items())
        return Map(plain, (*window, *chosen), only=True)

    def explain(self, checkpoint: str | None = None) -> str:
        """The canonical text, how it is computed and why.

        Args:
            checkpoint: of a stream that has run; it goes on in the way in which it began.
        """
        return self.text + super().explain(checkpoint).removeprefix(str(self.query))


def cql(
    text: str,
    /,
    streams: Mapping[str, Stream | DataFrame] | None = None,
    **named: Stream | DataFrame,
) -> CqlQuery:
    """The query that a CQL text asks, over the stream that it names.

    Args:
        text: such as "SELECT count(*) FROM Traffic [RANGE 5 min SLIDE 1 min WATTR ts]".
        streams: the streams by name, for names that cannot be keyword arguments.
        named: the streams as keyword arguments. Each is a `ps.stream(…)`, or a DataFrame, whose
            event time is then the column that RANGE is on.

    Li et al., SIGMOD 2005, §2, §3.2.
    """
    statement = parse(text)
    assert statement.source is not None  # noqa: S101 - what is parsed has a source
    binder = _Binder(statement, statement.source)
    return binder.query(binder.find(streams, named))


@dataclass(frozen=True, slots=True)
class _Binder:
    """Puts the names of a statement and the columns of a stream together."""

    statement: Statement
    source: Source

    def find(self, streams: object, named: Mapping[str, object]) -> Stream | DataFrame:
        """The stream that the text names."""
        name = self.statement.stream
        if streams is not None and not isinstance(streams, Mapping):
            hint = f"such as ps.cql(text, {name}=df)"
            rule = "must be a dict of names and streams"
            raise SpecificationError(complaint("streams", rule, type(streams).__name__, hint))
        given = [*(streams or {}).items(), *named.items()]
        names = [str(key) for key, _ in given]
        known = {str(key).lower(): value for key, value in given}
        if len(known) < len(names):
            rule = "must have each name once (upper and lower case are the same)"
            raise SpecificationError(complaint("streams", rule, ", ".join(names)))
        if name.lower() not in known:
            hint = nearest(name, names) or did_you_mean(name, names)
            message = f"FROM needs a stream that is given; got {shown(name)}"
            hint = hint or f"such as ps.cql(text, {name}=df)"
            raise self._error(f"{message}; {hint}", self.source.words["FROM"])
        found = known[name.lower()]
        if not isinstance(found, Stream | DataFrame):
            rule = "must be a DataFrame or what ps.stream() gives"
            raise SchemaError(complaint(f"stream {name}", rule, type(found).__name__))
        return found

    def query(self, given: Stream | DataFrame) -> CqlQuery:
        """The statement over that stream, if the two fit."""
        statement = self.statement
        rows = given.rows if isinstance(given, Stream) else given
        check_columns(statement, rows.columns)
        fields = self._fields(rows)
        spec = self._window(rows.withColumns({name: F.expr(path) for name, path in fields.items()}))
        of = (
            given
            if isinstance(given, Stream)
            else stream(rows, _event_time(spec), name=self.statement.stream)
        )
        of = of.with_columns(**fields) if fields else of
        rows = of.rows
        of = self._where(self._timed(of, spec))
        keys = tuple(_spelled(rows, key) for key in statement.keys)
        names = _unlike(statement.aggregates, (*keys, *spec.pattr))
        aggregates = dict(zip(names, statement.aggregates.values(), strict=True))
        query = Query(spec, keys, aggregates, of.late, of.progress, of.order, conditions(of.node))
        self._check(of.rows, query)
        inner = iter(names)
        select = {
            item.name: next(inner) if isinstance(item, Computed) else _spelled(rows, item.column)
            for item in statement.select
        }
        try:
            return CqlQuery(of, query, text=render(statement), select=select)
        except SchemaError as error:
            message = str(error).replace("by()", "GROUP BY")
            raise self._error(message, self.source.words["FROM"]) from error

    def _fields(self, rows: DataFrame) -> dict[str, str]:
        """The fields of structs that are named: each needs a column of its own."""
        fields: dict[str, str] = {}
        for placed in self.source.names:
            if placed.name.lower() in (name.lower() for name in (*rows.columns, *fields)):
                continue
            path = ".".join(quoted(part) for part in placed.name.split("."))
            try:
                _ = rows.select(F.col(path)).schema
            except PySparkException as error:
                message = f"{placed.what} needs a column; got {shown(placed.name)}"
                raise self._error(f"{message}; {cause(str(error))}", placed.at) from error
            fields[placed.name] = path
        return fields

    def _window(self, rows: DataFrame) -> WindowSpec:
        """The window over the columns as the stream spells them, whose types must fit it."""
        spec = self.statement.window
        pattr = tuple(_spelled(rows, name) for name in spec.pattr)
        if spec.rattr == ROW_NUM:
            return replace(spec, pattr=pattr)
        rattr = _spelled(rows, spec.rattr)
        of = column(rows, "RATTR", rattr).dataType
        timed, placed = isinstance(of, TimestampType), self._rattr()
        got = f"{written(placed.name)}: {of.simpleString()}"
        if not timed and not isinstance(of, IntegralType):
            message = f"{placed.what} must be of type timestamp, or a whole number; got {got}"
            raise self._error(message, placed.at)
        if timed != (spec.unit == "time"):
            word = "SLIDE" if spec.range is None else "RANGE"
            need = "a unit of time, such as seconds" if timed else "a plain number, with no unit"
            message = f"{word} needs {need}; the window is over {got}"
            raise self._error(message, self.source.words[word])
        return replace(spec, rattr=rattr, sattr=ROW_NUM if spec.sattr == ROW_NUM else rattr)

    def _timed(self, of: Stream, spec: WindowSpec) -> Stream:
        """The stream, if it can number its rows or say how far it is, as the window needs."""
        name = self.statement.stream
        if spec.rattr == ROW_NUM:
            if of.order:
                return of
            word = "WATTR" if "WATTR" in self.source.words else "RATTR"
            message = f"{word} row-num needs a stream whose rows have an order"
            hint = f"such as {name}=ps.stream(df, order='offset')"
            raise self._error(f"{message}; {hint}", self.source.words[word])
        if of.event_time is not None and of.event_time.lower() == spec.rattr.lower():
            return of
        placed = self._rattr()
        known = f"is {written(of.event_time)}" if of.event_time is not None else "has none"
        message = f"{placed.what} must be the event time of {name}, which {known}"
        hint = f"give ps.stream(df, event_time={spec.rattr!r})"
        raise self._error(f"{message}; got {shown(placed.name)}; {hint}", placed.at)

    def _where(self, of: Stream) -> Stream:
        where, at = self.statement.where, self.source.words["WHERE"]
        if where is None:
            return of
        try:
            return of.where(where)
        except SchemaError as error:
            reason = f"WHERE must be a predicate; {cause(str(error.__cause__))}"
            raise self._refused(error, Placed("WHERE", where, at), of.rows, reason) from error

    def _check(self, rows: DataFrame, query: Query) -> None:
        """Keys and aggregates one by one, so that what does not fit is shown at its place."""
        for placed in self.source.names:
            if placed.what not in ("WATTR", "RATTR", "SATTR"):
                try:
                    check_keys(rows, (placed.name,))
                except SchemaError as error:
                    message = str(error).replace("by()", placed.what)
                    raise self._error(message, placed.at) from error
        for item, at in zip(self.statement.select, self.source.items, strict=True):
            if isinstance(item, PlainColumn):
                continue
            try:
                lower_all(rows, replace(query, keys=(), aggregates={item.name: item.aggregate}))
            except SchemaError as error:
                of = Placed(item.aggregate.function, item.aggregate.column or "", self._inside(at))
                raise self._refused(error, of, rows, _reason(error, of.what)) from error

    def _refused(self, error: SchemaError, of: Placed, rows: DataFrame, otherwise: str) -> CqlError:
        """What Spark refuses in an expression, at its place in the text."""
        spark = error.__cause__
        if not isinstance(spark, PySparkException):
            return self._error(otherwise, of.at)
        at = of.at + _offset(spark, of.name)
        if not str(spark.getCondition()).startswith("UNRESOLVED_COLUMN"):
            return self._error(otherwise, at)
        missing = (spark.getMessageParameters() or {}).get("objectName", "")
        name = missing.strip("`").replace("`.`", ".").replace("``", "`")
        return no_column(
            Placed(of.what, name, at), self.statement.stream, self.source.text, rows.columns
        )

    def _inside(self, at: int) -> int:
        """Where the argument of the call begins that begins at `at`."""
        _name, _bracket, argument, *_ = (t for t in tokenize(self.source.text) if t.at >= at)
        return argument.at

    def _rattr(self) -> Placed:
        """RATTR where it is written, which may be as WATTR."""
        return next(name for name in self.source.names if name.what in ("WATTR", "RATTR"))

    def _error(self, message: str, at: int) -> CqlError:
        return CqlError(message, self.source.text, at)


def _event_time(spec: WindowSpec) -> str | None:
    return None if spec.rattr == ROW_NUM else spec.rattr


def _spelled(rows: DataFrame, name: str) -> str:
    """The name of a column as the stream spells it."""
    return column(rows, "CQL", name).name


def _unlike(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """The names, with something added to those that a key of the stream has already."""
    used, unlike = {name.lower() for name in taken}, []
    for name in names:
        free = name
        while free.lower() in used:
            free += "'"
        used.add(free.lower())
        unlike.append(free)
    return unlike


def _reason(error: SchemaError, function: str) -> str:
    if isinstance(error.__cause__, ParseException):
        return f"{function} needs an SQL expression; {cause(str(error.__cause__))}"
    return str(error)


def _offset(error: PySparkException, expression: str) -> int:
    """Where in the expression Spark has found the error, in characters; 0 if it does not say."""
    context = error.getQueryContext()
    if context:
        return int(context[0].startIndex())
    found = _NOT_PARSED.search(str(error))
    if found is None:
        return 0
    before = expression.split("\n")[: int(found[1]) - 1]
    return sum(len(line) + 1 for line in before) + int(found[2])
