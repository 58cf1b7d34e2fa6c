"""The aggregate functions that CQL knows by name, and what their results are called."""

from __future__ import annotations

from collections.abc import Callable

from penstock.errors import did_you_mean
from penstock.network import aggregates
from penstock.network.aggregates import Aggregate
from penstock.network.cql.cursor import Cursor
from penstock.network.cql.errors import nearest, shown
from penstock.network.cql.tokens import Token, tokenize

QUANTILES: dict[str, Callable[[str, float], Aggregate]] = {
    "approx_percentile": aggregates.approx_percentile,
    "percentile_approx": aggregates.approx_percentile,
}
"""The functions of an expression and a quantile."""

FUNCTIONS: dict[str, Callable[[str], Aggregate]] = {
    "count": aggregates.count,
    "sum": aggregates.sum,
    "avg": aggregates.avg,
    "mean": aggregates.avg,
    "min": aggregates.min,
    "max": aggregates.max,
    "var_samp": aggregates.var_samp,
    "variance": aggregates.var_samp,
    "var_pop": aggregates.var_pop,
    "stddev_samp": aggregates.stddev_samp,
    "stddev": aggregates.stddev_samp,
    "std": aggregates.stddev_samp,
    "stddev_pop": aggregates.stddev_pop,
    "approx_count_distinct": aggregates.approx_count_distinct,
}
"""The functions of one expression; some have a second name, as in Spark."""


def aggregate(cursor: Cursor) -> tuple[Aggregate, str]:
    """Takes a call such as `max(speed)`; returns the aggregate, and the name of its result.

    >>> aggregate(Cursor("STDDEV(speed / 2)"))[1]
    'stddev(speed / 2)'
    """
    word = cursor.take()
    function = word.text.lower()
    known = [*FUNCTIONS, *QUANTILES]
    if word.kind == "name" or function not in known:
        hint = nearest(function, known) or did_you_mean(function, known)
        raise cursor.error(f"expected an aggregate function; got {word}; {hint}", word)
    arguments = _arguments(cursor)
    # `count(*)` is the number of rows; a star in front of anything else is not.
    if function == "count" and [token.text for token in arguments[0]] == ["*"]:
        _refuse_more(cursor, function, arguments, 1)
        return aggregates.count(), default_name(function, None)
    _refuse_words(cursor, function, arguments[0][0])
    column = cursor.source(arguments[0])
    if function in FUNCTIONS:
        _refuse_more(cursor, function, arguments, 1)
        return FUNCTIONS[function](column), default_name(function, column)
    _refuse_more(cursor, function, arguments, 2)
    quantile = _quantile(cursor, function, arguments)
    return QUANTILES[function](column, quantile), default_name(function, column, quantile)


def default_name(function: str, column: str | None, quantile: float | None = None) -> str:
    """What Spark would call the result: `count(1)` for count(*), and no backquotes.

    Spark writes expressions in its own way, `sum((a * b))`; here they stay as they are written, but
    for spaces and comments. The third number that Spark names for a percentile does not exist here.

    Args:
        function: its name, in lower case.
        column: the expression; None for count(*).
        quantile: the share of the values, where the function has one.

    >>> default_name("count", None), default_name("max", "`seg-id`  + 1")
    ('count(1)', 'max(seg-id + 1)')
    >>> default_name("approx_percentile", "speed", 0.5)
    'approx_percentile(speed, 0.5)'
    """
    if column is None:
        return f"{function}(1)"
    inside, end = "", 0
    for token in tokenize(column):
        gap = " " if token.at > end and token.text else ""
        inside, end = inside + gap + token.name, token.end
    return f"{function}({inside})" if quantile is None else f"{function}({inside}, {quantile!r})"


def _arguments(cursor: Cursor) -> list[list[Token]]:
    """The arguments between the parentheses; none of them is empty."""
    opening = cursor.expect("(")
    arguments: list[list[Token]] = [[]]
    while not cursor.at(")"):
        if cursor.token.kind == "end" or cursor.at(";"):
            raise cursor.error("'(' is not closed", opening)
        if not cursor.at(","):
            arguments[-1] += cursor.nested()
            continue
        if not arguments[-1]:
            raise cursor.expected("an expression")
        cursor.take()
        arguments.append([])
    if not arguments[-1]:
        raise cursor.expected("an expression")
    cursor.take()
    return arguments


def _refuse_words(cursor: Cursor, function: str, first: Token) -> None:
    if first.kind == "symbol" and first.text == "*":
        hint = "only count takes *" if function != "count" else "count(*) has nothing besides"
        raise cursor.error(f"expected an expression; got '*'; {hint}", first)
    if first.kind == "word" and first.text.upper() == "DISTINCT":
        hint = "approx_count_distinct counts different values"
        raise cursor.error(f"{function} has no DISTINCT; {hint}", first)


def _refuse_more(cursor: Cursor, function: str, arguments: list[list[Token]], most: int) -> None:
    if len(arguments) > most:
        takes = "one argument" if most == 1 else f"{most} arguments"
        raise cursor.error(f"{function} takes {takes}; got {len(arguments)}", arguments[most][0])


def _quantile(cursor: Cursor, function: str, arguments: list[list[Token]]) -> float:
    if len(arguments) == 1:
        message = f"{function} needs a quantile too, such as 0.5; got one argument"
        raise cursor.error(message, arguments[0][0])
    first, *more = arguments[1]
    if more or first.kind != "number" or not 0 <= float(first.text) <= 1:
        got = shown(cursor.source(arguments[1]))
        raise cursor.error(f"expected a quantile, a number from 0 to 1; got {got}", first)
    return float(first.text)
