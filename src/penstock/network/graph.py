"""A network is a set of named queries over operators; equal operators are one.

It knows which operators there are, which queries stand on each, and in which order they come. What
it cannot be is said before anything starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from penstock.errors import SpecificationError, complaint
from penstock.network.operators import (
    Aggregate,
    Operator,
    Source,
    depth,
    inputs,
    kind,
    upstream,
)


@dataclass(frozen=True)
class Graph:
    """The operators of all queries.

    Args:
        queries: name of a query → the operator whose rows are its answers.
    """

    queries: Mapping[str, Operator]

    def __post_init__(self) -> None:
        if not self.queries:
            hint = "such as ps.Network(bytes=query)"
            raise SpecificationError(complaint("a network", "needs a query", None, hint))
        named: dict[str, Source] = {}
        for source in self.sources:
            other = named.setdefault(source.name.lower(), source)
            if other is not source:
                rule = "must be the name of one stream only"
                hint = "give each a name of its own: ps.stream(df, name=…)"
                raise SpecificationError(complaint("stream", rule, source.name, hint))

    @cached_property
    def operators(self) -> tuple[Operator, ...]:
        """All operators, each once, those first that feed others."""
        found: dict[Operator, None] = {}
        for operator in self.queries.values():
            found |= dict.fromkeys(upstream(operator))
        return tuple(found)

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """The streams that come from outside."""
        return tuple(operator for operator in self.operators if isinstance(operator, Source))

    @cached_property
    def names(self) -> dict[Operator, str]:
        """What each operator is called, in pictures and statistics: its kind and a number.

        A stream is called by its name, and an aggregate by that of the query that it answers.
        """
        numbers: dict[str, int] = {}
        answers = {operator: name for name, operator in reversed(list(self.queries.items()))}
        names: dict[Operator, str] = {}
        for operator in self.operators:
            if isinstance(operator, Source):
                names[operator] = operator.name
            elif isinstance(operator, Aggregate) and operator in answers:
                names[operator] = answers[operator]
            else:
                word = kind(operator)
                numbers[word] = numbers.get(word, 0) + 1
                names[operator] = f"{word} {numbers[word]}"
        return names

    @cached_property
    def users(self) -> dict[Operator, tuple[str, ...]]:
        """The queries that need each operator; one that has several is shared."""
        users: dict[Operator, list[str]] = {operator: [] for operator in self.operators}
        for name, of in self.queries.items():
            for operator in upstream(of):
                users[operator].append(name)
        return {operator: tuple(names) for operator, names in users.items()}

    @cached_property
    def fed(self) -> dict[Operator, tuple[Operator, ...]]:
        """The operators that each one feeds."""
        fed: dict[Operator, list[Operator]] = {operator: [] for operator in self.operators}
        for operator in self.operators:
            for one in dict.fromkeys(inputs(operator)):
                fed[one].append(operator)
        return {operator: tuple(those) for operator, those in fed.items()}

    @property
    def depth(self) -> int:
        """How many aggregates are one above the other."""
        return max(map(depth, self.queries.values()))

    def components(self) -> list[Graph]:
        """Networks that have no stream in common; a union joins those of its inputs."""
        parts: list[tuple[set[Operator], dict[str, Operator]]] = []
        for name, operator in self.queries.items():
            mine: set[Operator] = {one for one in upstream(operator) if isinstance(one, Source)}
            queries = {name: operator}
            apart = []
            for theirs, of in parts:
                if theirs & mine:
                    mine, queries = mine | theirs, of | queries
                else:
                    apart.append((theirs, of))
            parts = [*apart, (mine, queries)]
        return [Graph(queries) for _, queries in parts]
