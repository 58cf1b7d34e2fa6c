"""What is written at an operator: its name, what it does, who needs it."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from penstock.network.graph import Graph
from penstock.network.operators import Filter, Join, Map, Operator, Source, Union, kind


@dataclass(frozen=True, slots=True)
class Label:
    """The words at a box.

    Args:
        kind: what it is, such as "filter".
        name: what it is called; unique among the boxes of its kind.
        text: what it does, on one line.
        users: the queries that need it.
        answers: the queries whose answers it gives, other than one that it is named after.
        note: what the caller has to say about it.
    """

    kind: str
    name: str
    text: str
    users: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    note: str = ""

    @property
    def shared(self) -> bool:
        """Whether several queries stand on it."""
        return len(self.users) > 1


def label(graph: Graph, operator: Operator, note: str = "") -> Label:
    """What is written at an operator of the graph."""
    name = graph.names[operator]
    answers = (query for query, of in graph.queries.items() if of == operator and query != name)
    return Label(
        "stream" if isinstance(operator, Source) else kind(operator),
        name,
        plain(_does(graph, operator)),
        graph.users[operator],
        tuple(answers),
        plain(note),
    )


def _does(graph: Graph, operator: Operator) -> str:
    match operator:
        case Source(event_time=None, progress=told):
            return f"no event time; {told}" if told else "no event time"
        case Source(event_time=time, progress=told):
            return f"event time {time}" + (f"; {told}" if told else "")
        case Filter(predicate=predicate):
            return str(predicate)
        case Join() | Map():
            # The first word is the kind of the operator, or says as much.
            return str(operator) if isinstance(operator, Map) else str(operator).partition(" ")[2]
        case Union(inputs=several):
            return "of " + ", ".join(graph.names[one] for one in several)
    return str(operator)


def plain(text: str) -> str:
    r"""The text on one line, with nothing in it that a terminal or XML would stumble over.

    >>> plain("a\n  = '\x00'")
    "a = '?'"
    """
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))


def wrapped(text: str, width: int, most: int) -> list[str]:
    """The text in lines; where it does not fit, the last one ends with an ellipsis.

    Args:
        text: on one line.
        width: characters of a line.
        most: lines.

    >>> wrapped("protocol = 'TCP' OR protocol = 'UDP'", 20, 1), wrapped("", 20, 1)
    (["protocol = 'TCP' OR…"], [])
    """
    lines = textwrap.wrap(text, width, break_on_hyphens=False)
    if len(lines) > most:
        last = lines[most - 1]
        lines = [*lines[: most - 1], last[: width - 1].rstrip() + "…"]
    return lines
