"""What a TOML file says of one stream, one relation, one query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from penstock.network.progress import Progress
from penstock.windows import Late

AnswerKind = Literal["approximate", "subset"]
ANSWERS: tuple[AnswerKind, ...] = ("approximate", "subset")

Per = Literal["window", "group"]
PER: tuple[Per, ...] = ("window", "group")

Mode = Literal["on", "monitor", "off"]
MODES: tuple[Mode, ...] = ("on", "monitor", "off")

Winner = Literal["latency", "answers"]
WINNERS: tuple[Winner, ...] = ("latency", "answers")


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """A stream, as `ps.stream` takes it.

    Args:
        source: what kind of source it comes from, such as "kafka".
        options: of that source; `${NAME}` in them is a variable of the environment.
        slack: a duration, or a plain number where the event time is one.
        weight: the column that says how many rows a row stands for; None if each is one.
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
    weight: str | None
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
        confidence: how often the exact answer is within the bounds; None if it is not said.
        asked: whether the query itself says what kind of answers it wants.
        per: whether a window is left out for all groups, or for each by itself.
        floor: rows that a group keeps in a window at least, about; None for no such thing.
    """

    name: str
    weight: float
    answers: AnswerKind
    max_gap: int | None
    sink: Mapping[str, Any]
    priority: int = 1
    confidence: float | None = None
    asked: bool = False
    per: Per = "window"
    floor: int | None = None


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How a network is run.

    Args:
        latency: how long after the arrival of its rows an answer is due, in microseconds.
        mode: "on" drops rows, "monitor" only says which, "off" does neither.
        checkpoint: a folder; None for one that goes with the run.
        trigger: from one batch to the next, in microseconds; 0 for a run that ends when it has read
            what there is; None if it is not said.
        length: of the run, in microseconds; None if it has no end.
        sink: where the answers go of queries without a sink of their own.
        spark: settings of Spark's session.
        max_error: the relative error that approximate answers may be expected to have.
        max_loss: the share of its windows that a query with subset answers may lose.
        wins: what is kept where the latency needs more than that.
    """

    latency: int | None = None
    mode: Mode = "on"
    checkpoint: str | None = None
    trigger: int | None = None
    length: int | None = None
    sink: Mapping[str, Any] = field(default_factory=dict)
    spark: Mapping[str, str] = field(default_factory=dict)
    max_error: float | None = None
    max_loss: float | None = None
    wins: Winner = "latency"
