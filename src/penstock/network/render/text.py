"""The picture of a network in a terminal.

packets: event time ts; shared by all 2 queries
├─ filter 1: port = 80
│  └─ web: count(*) AS n [RANGE 1 min SLIDE 10 s WATTR ts]
└─ all: count(*) AS n [RANGE 30 s SLIDE 5 s WATTR ts]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.network.graph import Graph
from penstock.network.operators import Operator, Source, Union, inputs
from penstock.network.render.labels import Label, label

_ARROW = " ─► "


def text(graph: Graph, notes: Mapping[Operator, str] | None = None) -> str:
    """The network as trees that begin with the streams, then the way to each query.

    Each operator is drawn once; where it is fed by a second one, only its name stands there.

    Args:
        graph: the network.
        notes: what else is to be said of an operator, such as "keep 0.4, 120,000 rows/s".
    """
    width = max(map(len, graph.queries))
    ways = [f"  {name:<{width}}  {_way(graph, of)}" for name, of in graph.queries.items()]
    return "\n\n".join([trees(graph, notes), "\n".join(["queries", *ways])])


def trees(graph: Graph, notes: Mapping[Operator, str] | None = None) -> str:
    """The trees alone.

    Args:
        graph: the network.
        notes: as for `text`.
    """
    drawing = _Drawing(graph, notes or {})
    return "\n\n".join("\n".join(drawing.tree(source)) for source in graph.sources)


class _Drawing:
    def __init__(self, graph: Graph, notes: Mapping[Operator, str]) -> None:
        self.graph = graph
        self.notes = notes
        self.drawn: set[Operator] = set()

    def tree(
        self, operator: Operator, indent: str = "", above: tuple[str, ...] = ()
    ) -> Iterator[str]:
        """The line of an operator, and below it those that it feeds."""
        self.drawn.add(operator)
        words = label(self.graph, operator, self.notes.get(operator, ""))
        yield _line(words, self.graph, above)
        fed = self.graph.fed[operator]
        for number, one in enumerate(fed, start=1):
            last = number == len(fed)
            branch, below = ("└─", "   ") if last else ("├─", "│  ")
            if one in self.drawn:
                yield f"{indent}{branch}► {self.graph.names[one]}, drawn above"
                continue
            first, *rest = self.tree(one, indent + below, words.users)
            yield f"{indent}{branch} {first}"
            yield from rest


def _line(words: Label, graph: Graph, above: tuple[str, ...]) -> str:
    parts = [f"{words.name}: {words.text}"]
    if words.shared:
        parts.append(f"shared by {_users(words, above, graph)}")
    if words.answers:
        parts.append(f"answers {', '.join(words.answers)}")
    return "; ".join(parts) + (f"  ({words.note})" if words.note else "")


def _users(words: Label, above: tuple[str, ...], graph: Graph) -> str:
    if words.users == above:
        return f"the same {len(above)}"
    every = len(words.users) == len(graph.queries)
    return f"all {len(words.users)} queries" if every else ", ".join(words.users)


def _way(graph: Graph, operator: Operator) -> str:
    """The operators from the streams to this one."""
    name = graph.names[operator]
    match operator:
        case Source():
            return name
        case Union(inputs=several):
            return f"({' + '.join(_way(graph, one) for one in several)}){_ARROW}{name}"
    return _way(graph, inputs(operator)[0]) + _ARROW + name
