"""CQL text over streams: what it asks is a window query; what does not fit is shown at its place.

ps.cql("SELECT max(speed) FROM Traffic [RANGE 5 min SLIDE 1 min WATTR ts]", Traffic=df)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType, TimestampType

from penstock.engine.cql_errors import Pointer, reason
from penstock.engine.failures import cause
from penstock.engine.opening import stream
from penstock.engine.results import conditions
from penstock.engine.schema import check_keys, column, lower_all
from penstock.engine.step import quoted
from penstock.engine.stream import Stream
from penstock.engine.window_query import WindowQuery
from penstock.errors import SchemaError, SpecificationError, complaint, did_you_mean
from penstock.network import operators
from penstock.network.cql import CqlError, Statement, check_columns, parse, render
from penstock.network.cql.errors import nearest, shown
from penstock.network.cql.names import written
from penstock.network.cql.statement import Computed, Placed, PlainColumn, Source
from penstock.network.cql.tokens import tokenize
from penstock.network.operators import Aggregate, Operator
from penstock.network.outline import unlike, with_select_list
from penstock.network.query import Query
from penstock.windows import WindowSpec
from penstock.windows.kinds import ROW_NUM


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
        return with_select_list(Aggregate(self.stream.node, self.query), self.select)

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
    binder = Binder(statement, statement.source)
    return binder.query(binder.find(streams, named))


@dataclass(frozen=True, slots=True)
class Binder:
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
        with_fields = rows.withColumns({n: F.expr(path) for n, path in fields.items()})
        spec = self._window(with_fields)
        if isinstance(given, Stream):
            of = given.with_columns(**fields) if fields else given
        else:  # its event time may be a field
            of = stream(with_fields if fields else rows, _event_time(spec), name=statement.stream)
        rows = of.rows
        of = self._point.where(self._timed(of, spec), statement.where, self.source.words["WHERE"])
        keys = tuple(_spelled(rows, key) for key in statement.keys)
        names = unlike(statement.aggregates, (*keys, *spec.pattr))
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
        message += f"; got {shown(placed.name)}"
        if isinstance(of.node, operators.Source):
            message += f"; give ps.stream(df, event_time={spec.rattr!r})"
        raise self._error(message, placed.at)

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
                why = reason(error, of.what)
                raise self._point.refused(error, of, rows, why) from error

    def _inside(self, at: int) -> int:
        """Where the argument of the call begins that begins at `at`."""
        _name, _bracket, argument, *_ = (t for t in tokenize(self.source.text) if t.at >= at)
        return argument.at

    def _rattr(self) -> Placed:
        """RATTR where it is written, which may be as WATTR."""
        return next(name for name in self.source.names if name.what in ("WATTR", "RATTR"))

    @property
    def _point(self) -> Pointer:
        return Pointer(self.source.text, self.statement.stream)

    def _error(self, message: str, at: int) -> CqlError:
        return self._point.error(message, at)


def _event_time(spec: WindowSpec) -> str | None:
    return None if spec.rattr == ROW_NUM else spec.rattr


def _spelled(rows: DataFrame, name: str) -> str:
    """The name of a column as the stream spells it."""
    return column(rows, "CQL", name).name
