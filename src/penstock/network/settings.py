"""What a TOML file says of one stream, one relation, one query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from penstock.network.progress import Progress
from penstock.windows import Late

AnswerKind = Literal["approximate", "subset"]
ANSWERS: tuple[AnswerKind, ...] = ("approximate", "subset")


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """A stream, as `ps.stream` takes it.

    Args:
        source: what kind of source it comes from, such as "kafka".
        options: of that source; `${NAME}` in them is a variable of the environment.
        slack: a duration, or a plain number where the event time is one.
        place: the file and the table.
    """

    name: str
    source: str
    options: Mapping[str, Any]
    event_time: str | None
    slack: int | str
    late: Late
    progress: Progress | None
    order: tuple[str, ...]
    identity: tuple[str, ...]
    place: str = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RelationSettings:
    """A stored relation, as Spark reads it; `${NAME}` is a variable of the environment."""

    name: str
    path: str
    format: str
    schema: str | None
    options: Mapping[str, Any]
    place: str = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """What is wanted of a query's answers.

    Args:
        weight: how much it counts beside the others.
        answers: "approximate" gives all windows with an error bound; "subset" leaves some out.
        max_gap: how many windows in a row may be left out; None if any number.
        sink: where the answers go; `${NAME}` in it is a variable of the environment.
        priority: its level; 1 is the highest, and a lower one gets what is left.
    """

    name: str
    weight: float
    answers: AnswerKind
    max_gap: int | None
    sink: Mapping[str, Any]
    priority: int = 1
