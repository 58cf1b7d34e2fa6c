"""How a stream says how far it is, other than by a slack in seconds behind its newest row.

punctuation     rows of the stream that promise 'no more below X', for all rows or for one key
ordered_by      the rows of each key come in order
row_slack       a row comes at most n rows after one that is ahead of it
heartbeat       a timer: what is older than a delay will not come any more
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import SpecificationError, complaint
from penstock.windows import format_duration, parse_duration
from penstock.windows.durations import SECOND, Duration


@dataclass(frozen=True, slots=True)
class Punctuation:
    """Rows for which `where` holds are no data: they promise that no row below `up_to` will come.

    Args:
        where: a Spark SQL predicate over the stream's columns.
        up_to: a column or Spark SQL expression of the type of the event time.
        by: the columns of the key that a promise is for; none if it is for all rows.
    """

    where: str
    up_to: str
    by: tuple[str, ...] = ()

    def __str__(self) -> str:
        of = f" for its {', '.join(self.by)}" if self.by else ""
        return f"punctuation: where {self.where}, no more below {self.up_to}{of}"


@dataclass(frozen=True, slots=True)
class OrderedBy:
    """The rows of each key come in order: a key is as far as its newest row."""

    by: tuple[str, ...]

    def __str__(self) -> str:
        return f"order per key: rows come in order for each {', '.join(self.by)}"


@dataclass(frozen=True, slots=True)
class RowSlack:
    """A row comes at most `rows` rows after one that is ahead of it."""

    rows: int

    def __str__(self) -> str:
        return f"slack {self.rows} rows"


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Every `every` µs of the clock: what is older than `delay` µs will not come any more."""

    every: int
    delay: int

    def __str__(self) -> str:
        return (
            f"heartbeat every {format_duration(self.every)}: "
            f"no more that is older than {format_duration(self.delay)}"
        )


Progress = Punctuation | OrderedBy | RowSlack | Heartbeat


def punctuation(where: str, up_to: str, by: str | tuple[str, ...] = ()) -> Punctuation:
    """Rows of the stream that say how far it is.

    Args:
        where: a Spark SQL predicate: which rows are punctuation, and no data.
        up_to: a column or expression: no more rows below this value of the event time will come.
        by: the column or columns of the key that a promise is for; none if it is for all rows.

    >>> print(punctuation("kind = 'mark'", up_to="ts", by="sensor"))
    punctuation: where kind = 'mark', no more below ts for its sensor
    """
    for name, text in {"where": where, "up_to": up_to}.items():
        if not isinstance(text, str) or not text.strip():
            raise SpecificationError(complaint(name, "must be a Spark SQL expression", text))
    return Punctuation(where, up_to, _columns("by", by))


def ordered_by(*keys: str) -> OrderedBy:
    """The rows of each key come in order; a window over all keys waits for every key seen so far.

    Args:
        keys: the column or columns of the key; none if the whole stream is in order.

    >>> print(ordered_by("sensor"))
    order per key: rows come in order for each sensor
    """
    return OrderedBy(_columns("ordered_by()", keys))


def row_slack(rows: int) -> RowSlack:
    """A row comes at most that many rows after one that is ahead of it.

    Args:
        rows: how many; 0 if the stream is in order.
    """
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 0:
        raise SpecificationError(complaint("rows", "must be a number of rows, 0 or more", rows))
    return RowSlack(rows)


def heartbeat(delay: Duration, every: Duration = "1 second") -> Heartbeat:
    """The clock says how far the stream is, also while no rows come.

    Args:
        delay: rows that are older than this, by the clock, will not come any more.
        every: how often; whole seconds.

    >>> print(heartbeat("30 s"))
    heartbeat every 1 s: no more that is older than 30 s
    """
    often = parse_duration(every, "every")
    if often <= 0 or often % SECOND:
        raise SpecificationError(complaint("every", "must be whole seconds, 1 or more", every))
    return Heartbeat(often, parse_duration(delay, "delay"))


def _columns(what: str, names: object) -> tuple[str, ...]:
    listed = (names,) if isinstance(names, str) else names
    if not isinstance(listed, (tuple, list)) or not all(isinstance(n, str) for n in listed):
        raise SpecificationError(complaint(what, "needs names of columns", names))
    return tuple(listed)
