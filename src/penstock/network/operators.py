"""What a network is made of: each operator is a value that knows what it is fed by.

    source ─► filter ─► map ─► join ─► window aggregate ─► filter ─► window aggregate ─► …
    source ─────────────────► union

Two operators that do the same to the same input are equal, and so they are one operator. What the
engine needs to run them (a DataFrame, a Column) is carried along as a handle that nothing here
looks into; two handles are the same only if they are one object.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from penstock.network.conjuncts import conjuncts, words
from penstock.network.progress import Progress
from penstock.network.query import Query
from penstock.windows import Late


@dataclass(frozen=True, slots=True)
class Handle:
    """Something of the engine's, equal to nothing but itself."""

    of: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Handle) and self.of is other.of

    def __hash__(self) -> int:
        return id(self.of)


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """A Spark SQL expression, as text or as a Column.

    Args:
        text: as the user wrote it, or as Spark shows the Column.
        handle: the Column; None if the text is all.

    >>> Expression("a>1 -- one") == Expression("a > 1"), Expression("'a b'") == Expression("'a  b'")
    (True, False)
    """

    text: str
    handle: Handle | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self._known_by == other._known_by

    def __hash__(self) -> int:
        return hash(self._known_by)

    @property
    def _known_by(self) -> object:
        return self.handle or words(self.text)

    def __str__(self) -> str:
        return " ".join(self.text.split())


@dataclass(frozen=True, slots=True)
class Source:
    """A stream that comes from outside.

    Args:
        name: what the user calls it.
        event_time: its column of event time; None if it has none.
        slack: how far its watermark stays behind, in the unit of the event time.
        late: what becomes of late rows.
        progress: what tells how far it is, if not a slack.
        order: the columns that say in which order rows arrive.
        identity: the columns that tell its rows apart.
        rows: the engine's DataFrame.
        origin: where the rows come from, if it was given as a source.
        never_shed: which rows are never dropped; None if any may be.
        weight: the column that says how many rows a row stands for; None if each is one.
    """

    name: str
    event_time: str | None
    slack: int
    late: Late
    progress: Progress | None
    order: tuple[str, ...]
    identity: tuple[str, ...]
    rows: Handle = field(repr=False)
    origin: Handle | None = field(default=None, repr=False, compare=False)
    never_shed: Expression | None = None
    weight: str | None = None

    def __str__(self) -> str:
        weighted = f" by {self.weight}" if self.weight is not None else ""
        return f"stream {self.name}{weighted}"


@dataclass(frozen=True, slots=True)
class Relation:
    """A stored relation that streams are joined with."""

    name: str
    rows: Handle = field(repr=False)


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows for which a predicate holds; of a conjunction, each part is an operator."""

    input: Operator
    predicate: Expression

    def __str__(self) -> str:
        return f"filter {self.predicate}"


@dataclass(frozen=True, slots=True)
class Map:
    """Columns that are computed from each row.

    Args:
        input: the operator that it is fed by.
        columns: name → expression, in order.
        only: whether these are all columns; otherwise they are added to those of the input.
    """

    input: Operator
    columns: tuple[tuple[str, Expression], ...]
    only: bool

    def __str__(self) -> str:
        listed = (n if n == str(e) else f"{e} AS {n}" for n, e in self.columns)
        return f"{'select' if self.only else 'add'} {', '.join(listed)}"


@dataclass(frozen=True, slots=True)
class Join:
    """Each row with the one row of a relation that it refers to, or without it (a semi-join).

    Args:
        input: the operator that it is fed by.
        relation: the stored relation.
        on: column of the stream, column of the relation.
        semi: whether the relation only says which rows stay.
        added: the columns of the relation that the rows get.
    """

    input: Operator
    relation: Relation
    on: tuple[tuple[str, str], ...]
    semi: bool
    added: tuple[str, ...]

    def __str__(self) -> str:
        on = ", ".join(a if a == b else f"{a} = {b}" for a, b in self.on)
        return f"{'semi-join' if self.semi else 'join'} {self.relation.name} on {on}"


@dataclass(frozen=True, slots=True)
class Union:
    """All rows of several operators."""

    inputs: tuple[Operator, ...]

    def __str__(self) -> str:
        return f"union of {len(self.inputs)}"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The windows of its input.

    Args:
        input: the operator that it is fed by.
        query: window, keys and functions.
        whole: the functions that cannot be merged from panes, and need the rows of each window.
    """

    input: Operator
    query: Query
    whole: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return str(self.query).removeprefix("SELECT ")

    def __hash__(self) -> int:
        query = self.query
        return hash((self.input, query.window, query.keys, *query.aggregates, query.late))


Operator = Source | Filter | Map | Join | Union | Aggregate


def inputs(operator: Operator) -> tuple[Operator, ...]:
    """What an operator is fed by."""
    match operator:
        case Source():
            return ()
        case Union(inputs=several):
            return several
    return (operator.input,)


def upstream(operator: Operator) -> Iterator[Operator]:
    """The operator and all that it is fed by, each once, those first that feed others."""
    seen: set[Operator] = set()

    def walk(one: Operator) -> Iterator[Operator]:
        if one not in seen:
            seen.add(one)
            for fed_by in inputs(one):
                yield from walk(fed_by)
            yield one

    yield from walk(operator)


def kind(operator: Operator) -> str:
    """What the operator is, in a word.

    >>> kind(Union(()))
    'union'
    """
    if isinstance(operator, Join):
        return "semi-join" if operator.semi else "join"
    return type(operator).__name__.lower()


def depth(operator: Operator) -> int:
    """How many aggregates are one above the other, up to this operator."""
    below = max(map(depth, inputs(operator)), default=0)
    return below + isinstance(operator, Aggregate)


def filtered(operator: Operator, predicate: Expression) -> Operator:
    """The operator with a filter above it; a conjunction becomes a filter for each of its parts.

    Queries that begin with the same conditions share them, though they end with others.
    """
    if predicate.handle is not None:
        return Filter(operator, predicate)
    for part in conjuncts(predicate.text):
        operator = Filter(operator, Expression(part))
    return operator


def feeds(operator: Operator) -> tuple[Operator, ...]:
    """The same rows as several operators without a union between them and what they stand on.

        union(a, b) ─► filter        becomes        a ─► filter,  b ─► filter

    They stand on sources, or on aggregates.
    """
    match operator:
        case Source() | Aggregate():
            return (operator,)
        case Union(inputs=several):
            return tuple(feed for one in several for feed in feeds(one))
    return tuple(replace(operator, input=feed) for feed in feeds(operator.input))


def base(feed: Operator) -> Source | Aggregate:
    """What a feed stands on."""
    while not isinstance(feed, Source | Aggregate):
        (feed,) = inputs(feed)
    return feed
