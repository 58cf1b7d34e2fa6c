"""What a CQL text asks for; it knows where in the text its names stand."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.network.aggregates import Aggregate
from penstock.windows import WindowSpec


@dataclass(frozen=True, slots=True)
class PlainColumn:
    """A column in the SELECT list.

    Args:
        name: the name in the result.
        column: the name in the stream.
    """

    name: str
    column: str


@dataclass(frozen=True, slots=True)
class Computed:
    """An aggregate in the SELECT list.

    Args:
        name: the name in the result: after AS, or else as Spark would call it.
        aggregate: the aggregate.
    """

    name: str
    aggregate: Aggregate


Item = PlainColumn | Computed
"""What stands between two commas of the SELECT list."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A name that must be a column of the stream.

    Args:
        what: what it is there, such as "WATTR".
        name: the name, without quotes.
        at: where it begins, in characters from 0.
    """

    what: str
    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a statement; all places are in characters from 0.

    Args:
        text: the whole text.
        names: the names that must be columns, in the order of the text.
        items: where each item of the SELECT list begins.
        words: where the words of the window clause stand; with FROM and WHERE, what follows them.
    """

    text: str
    names: tuple[Placed, ...]
    items: tuple[int, ...]
    words: dict[str, int]


@dataclass(frozen=True, slots=True)
class Joined:
    """A stored relation that the rows are joined with.

    Args:
        relation: its name.
        on: column of the stream, column of the relation.
        semi: whether the relation only says which rows stay.
        at: where the name of the relation begins.
        places: where the columns of each pair begin.
    """

    relation: str
    on: tuple[tuple[str, str], ...]
    semi: bool
    at: int = field(default=0, compare=False)
    places: tuple[tuple[int, int], ...] = field(default=(), compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """A CQL text as values; two texts that ask for the same are equal.

    Args:
        select: the SELECT list, in order.
        stream: the name after FROM.
        window: the window in brackets.
        where: the predicate, in Spark's SQL; None if there is none.
        group_by: the columns after GROUP BY; none if there is no such clause.
        joins: the relations that rows are joined with before anything else.
        source: the text, and where its names stand; None if it was not made from text.

    A name is a string without quotes. Its parts are joined by dots, so `a`.`b` and `a.b` are one:
    the column of that name, or else the field of column a.

    >>> from penstock.network.aggregates import count
    >>> from penstock.windows import rows
    >>> q4 = Statement(
    ...     select=(PlainColumn("seg-id", "seg-id"), Computed("n", count())),
    ...     stream="Traffic",
    ...     window=rows(1000, 10, by="seg-id"),
    ... )
    >>> q4.keys, q4.aggregates
    (('seg-id',), {'n': Aggregate(function='count', ...)})

    Li et al., SIGMOD 2005, §2, §3.2.
    """

    select: tuple[Item, ...]
    stream: str
    window: WindowSpec
    where: str | None = None
    group_by: tuple[str, ...] = ()
    joins: tuple[Joined, ...] = ()
    source: Source | None = field(default=None, compare=False, repr=False)

    @property
    def keys(self) -> tuple[str, ...]:
        """The grouping columns: those after GROUP BY, then those of PATTR that are selected.

        Without GROUP BY, as in Q3, Q4 and Q5 of the paper, they are the selected columns.
        """
        # Spark takes `s` and `S` for one column; the first spelling stays.
        keys = {name.lower(): name for name in self.group_by}
        for item in self.select:
            if isinstance(item, PlainColumn):
                keys.setdefault(item.column.lower(), item.column)
        return tuple(keys.values())

    @property
    def aggregates(self) -> dict[str, Aggregate]:
        """Result column → aggregate, in the order of the SELECT list."""
        return {item.name: item.aggregate for item in self.select if isinstance(item, Computed)}
