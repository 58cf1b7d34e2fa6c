"""Many queries over one frame: every operator is a column that says which rows pass it.

    ts  size  port    filter 1: port = 80    filter 2: size > 1000 (of filter 1)
    …   1500    80    true                   true
    …     40    80    true                   false
    …    900   443    false                  false     (never evaluated: it might fail)

No row is dropped on the way, for another query may want it. A row is then exploded into the
queries that it is for (`tag`), and the scan and the parse are done once for all of them. What an
operator calls its columns is not what the frame calls them: two queries may have given one name to
two things.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.engine.apart import apart
from penstock.engine.columns import bits
from penstock.engine.operators import as_column
from penstock.engine.schema import OURS
from penstock.engine.step import quoted
from penstock.errors import UsageError, complaint
from penstock.network.operators import Filter, Join, Map, Operator

_AT_ONCE = 12
"""Columns that are computed in one piece of code."""


@dataclass
class Flow:
    """A frame with a column for each operator, and for each value that operators compute.

    Args:
        frame: all columns that are added begin with `OURS`.
        named: operator → what it calls its columns → what the frame calls them.
        passed: operator → the column that says which rows pass it; None for all rows.
    """

    frame: DataFrame
    named: dict[Operator, dict[str, str]] = field(default_factory=dict)
    passed: dict[Operator, str | None] = field(default_factory=dict)
    _values: dict[tuple[Operator, str], str] = field(default_factory=dict)
    _views: dict[Operator, DataFrame] = field(default_factory=dict)
    _computed: int = 0

    @classmethod
    def over(cls, base: Operator, rows: DataFrame) -> Flow:
        """The flow of a stream; its own columns keep their names."""
        return cls(rows, {base: {name: name for name in rows.columns}}, {base: None})

    def add(self, feed: Operator) -> None:
        """Adds an operator, and those that it stands on, unless they are there."""
        if feed in self.named:
            return
        assert isinstance(feed, Filter | Map | Join)  # noqa: S101 - feeds have no unions
        self.add(feed.input)
        names, passed = self.named[feed.input], self.passed[feed.input]
        match feed:
            case Filter(predicate=predicate):
                holds = F.coalesce(self._guarded(feed.input, as_column(predicate)), F.lit(False))
                passed = self._compute(feed.input, {"passed": holds})["passed"]
            case Map(columns=columns, only=only):
                kept = {n.lower(): n for n in names}
                plain = {n: names[kept[n.lower()]] for n, e in columns if _is_itself(n, str(e))}
                computed = {
                    name: self._guarded(feed.input, as_column(expression))
                    for name, expression in columns
                    if name not in plain
                }
                new = self._compute(feed.input, computed)
                taken = {name.lower() for name, _ in columns}
                rest = {} if only else {n: o for n, o in names.items() if n.lower() not in taken}
                names = rest | {name: plain.get(name) or new[name] for name, _ in columns}
            case Join():
                names, passed = self._join(feed)
        self.named[feed], self.passed[feed] = names, passed

    def value(self, feed: Operator, text: str) -> str:
        """The column of the frame with the values of a column or expression of an operator."""
        spelled = {name.lower(): ours for name, ours in self.named[feed].items()}
        if text.lower() in spelled:
            return spelled[text.lower()]
        if (feed, text) not in self._values:
            value = self._guarded(feed, F.expr(text))
            self._values[feed, text] = self._compute(feed, {"value": value})["value"]
        return self._values[feed, text]

    def view(self, feed: Operator) -> DataFrame:
        """The columns of an operator under its own names, to check expressions against.

        They stay as they are, whatever is added to the frame: Spark looks through them once.
        """
        if feed not in self._views:
            self._views[feed] = self.frame.select(*self._named(feed))
        return self._views[feed]

    def passes(self, feed: Operator) -> Column:
        """Whether a row passes the operator."""
        passed = self.passed[feed]
        return F.lit(True) if passed is None else F.col(passed)

    def mask(self, feeds: Sequence[Operator]) -> str:
        """The column of the frame with a bit for each of the operators that a row passes."""
        mask = bits(enumerate(map(self.passes, feeds)))
        name = f"{OURS}mask_{len(self.frame.columns)}"
        self.frame = self.frame.select("*", mask.alias(name))
        return name

    def cut(self) -> None:
        """What comes after is another piece of code (`apart`)."""
        passed = [name for name in self.frame.columns if name in self.passed.values()]
        self.frame = apart(self.frame, passed)

    def _named(self, feed: Operator) -> list[Column]:
        return [F.col(quoted(ours)).alias(name) for name, ours in self.named[feed].items()]

    def _is_plain(self, feed: Operator) -> bool:
        """Whether the frame calls the operator's columns as it does itself, and has no others."""
        own = {name for name in self.frame.columns if not name.startswith(OURS)}
        names = self.named[feed]
        return set(names) == own and all(name == ours for name, ours in names.items())

    def _guarded(self, feed: Operator, value: Column) -> Column:
        """A value that is only computed for rows that pass: of others it might fail."""
        passed = self.passed[feed]
        return value if passed is None else F.when(F.col(passed), value)

    def _compute(self, feed: Operator, values: Mapping[str, Column]) -> dict[str, str]:
        """Adds columns that are computed from those of an operator; how the frame calls them."""
        if not values:
            return {}
        before = self.frame.columns
        new = {name: f"{OURS}c_{len(before) + i}" for i, name in enumerate(values)}
        computed = [value.alias(new[name]) for name, value in values.items()]
        self._computed += len(computed)
        if self._computed > _AT_ONCE:
            self.cut()
            self._computed = len(computed)
        if self._is_plain(feed):
            self.frame = self.frame.select("*", *computed)
            return new
        # Columns that the stream has step aside for those of the operator, and come back.
        ours = [name for name in before if name.startswith(OURS)]
        aside = {n: f"{OURS}aside_{i}" for i, n in enumerate(before) if n not in ours}
        hidden = [F.col(quoted(name)).alias(away) for name, away in aside.items()]
        named = self.frame.select(*ours, *hidden, *self._named(feed))
        named = named.select(*ours, *aside.values(), *computed)
        back = [F.col(away).alias(name) for name, away in aside.items()]
        self.frame = named.select(*back, *ours, *new.values())
        return new

    def _join(self, join: Join) -> tuple[dict[str, str], str]:
        relation = join.relation.rows.of
        assert isinstance(relation, DataFrame)  # noqa: S101 - only DataFrames are put there
        number = len(self.frame.columns)
        keys = {f"{OURS}key_{number}_{i}": pair for i, pair in enumerate(join.on)}
        added = {name: f"{OURS}joined_{number}_{i}" for i, name in enumerate(join.added)}
        found = f"{OURS}found_{number}"
        theirs = relation.select(
            *(F.col(quoted(other)).alias(key) for key, (_, other) in keys.items()),
            *(F.col(quoted(name)).alias(ours) for name, ours in added.items()),
        )
        if join.semi:
            theirs = theirs.distinct()
        else:
            _check_unique(join, theirs, list(keys))
        names = self.named[join.input]
        spelled = {name.lower(): ours for name, ours in names.items()}
        same = [
            self._guarded(join.input, F.col(quoted(spelled[mine.lower()]))) == F.col(key)
            for key, (mine, _) in keys.items()
        ]
        theirs = theirs.select("*", F.lit(True).alias(found))
        joined = self.frame.join(F.broadcast(theirs), same, "left").drop(*keys)
        self.frame = joined.withColumn(found, F.col(found).isNotNull())
        return names | added, found


def _is_itself(name: str, text: str) -> bool:
    return text.lower() in (name.lower(), quoted(name).lower())


def _check_unique(join: Join, relation: DataFrame, keys: list[str]) -> None:
    """A row must refer to one row of the relation: with two, it would count twice."""
    counted = relation.dropna(subset=keys).groupBy(*keys).count()
    found = counted.where("count > 1").first()
    if found is not None:
        rule = "must have each key once, for a row to refer to one of its rows"
        hint = "leave out the others, or use semi_join()"
        raise UsageError(complaint(f"join() {join.relation.name}", rule, tuple(found)[:-1], hint))
