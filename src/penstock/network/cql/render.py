"""A statement as canonical CQL text, which reads back as the same statement."""

from __future__ import annotations

from penstock.errors import SpecificationError, complaint
from penstock.network.aggregates import Aggregate
from penstock.network.cql.functions import default_name
from penstock.network.cql.names import backquoted, written
from penstock.network.cql.statement import Item, Joined, PlainColumn, Statement
from penstock.windows import Kind, WindowSpec, format_duration
from penstock.windows.kinds import ROW_NUM, SLIDE_BY_KINDS, TUPLE_KINDS, Unit


def render(statement: Statement) -> str:
    """Writes the statement, one clause a line; names are quoted only where they must be.

    Args:
        statement: one whose window CQL has words for: there are none for a phase or a start.

    >>> from penstock.network.cql import parse
    >>> q4 = "select `seg-id`,COUNT(*) from T[slide 10 rows range 1000 rows wattr row_num]"
    >>> print(render(parse(q4)))
    SELECT `seg-id`, count(*)
    FROM T [RANGE 1000 rows SLIDE 10 rows WATTR row-num]
    """
    lines = [
        "SELECT " + ", ".join(_item(item) for item in statement.select),
        f"FROM {written(statement.stream)} [{_window(statement.window)}]",
    ]
    lines += [_join(statement.stream, join) for join in statement.joins]
    if statement.where is not None:
        lines.append(f"WHERE {statement.where}")
    if statement.group_by:
        lines.append("GROUP BY " + ", ".join(written(name) for name in statement.group_by))
    return "\n".join(lines)


def _item(item: Item) -> str:
    if isinstance(item, PlainColumn):
        column = written(item.column)
        return column if item.name == item.column else f"{column} AS {_alias(item.name)}"
    aggregate = item.aggregate
    default = default_name(aggregate.function, aggregate.column, aggregate.parameter)
    call = _call(aggregate)
    return call if item.name == default else f"{call} AS {_alias(item.name)}"


def _join(stream: str, join: Joined) -> str:
    pairs = (
        f"{written(stream)}.{backquoted(a)} = {written(join.relation)}.{backquoted(b)}"
        for a, b in join.on
    )
    return f"{'SEMI ' if join.semi else ''}JOIN {written(join.relation)} ON {' AND '.join(pairs)}"


def _call(aggregate: Aggregate) -> str:
    if aggregate.fold is not None:
        rule = "has no words for an aggregate of your own"
        raise SpecificationError(complaint("CQL", rule, str(aggregate)))
    column = aggregate.column if aggregate.column is not None else "*"
    # All digits of the quantile, where the aggregate's own text has six.
    more = "" if aggregate.parameter is None else f", {aggregate.parameter!r}"
    return f"{aggregate.function}({column}{more})"


def _alias(name: str) -> str:
    # A dot in the name of a result parts nothing.
    return backquoted(name) if "." in name else written(name)


def _window(spec: WindowSpec) -> str:
    start = 0 if spec.kind in TUPLE_KINDS else None
    if spec.origin != 0 or spec.start != start or spec.kind is Kind.CUMULATIVE:
        rule = "has no words for a phase, a start or a period"
        raise SpecificationError(complaint("CQL", rule, str(spec)))
    parts = ["LANDMARK" if spec.range is None else f"RANGE {_amount(spec.range, spec.unit)}"]
    if spec.kind in SLIDE_BY_KINDS:
        sattr = f"rank({_attribute(spec.sattr)})" if spec.rank else _attribute(spec.sattr)
        parts += [f"RATTR {_attribute(spec.rattr)}", f"SLIDE {_amount(spec.slide, 'rows')}"]
        parts += [f"SATTR {sattr}"]
    else:
        parts += [f"SLIDE {_amount(spec.slide, spec.unit)}", f"WATTR {_attribute(spec.rattr)}"]
    if spec.pattr:
        parts.append("PATTR " + ", ".join(written(name) for name in spec.pattr))
    return " ".join(parts)


def _attribute(name: str) -> str:
    return ROW_NUM if name == ROW_NUM else written(name)


def _amount(amount: int, unit: Unit) -> str:
    if unit == "time":
        return format_duration(amount)
    return str(amount) + {"value": "", "rows": " row" if amount == 1 else " rows"}[unit]
