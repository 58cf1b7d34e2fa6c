"""What a user asks of a run: a latency, or how much to shed; and what may become of answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from penstock.drops.kinds import AnswerKind, Subset
from penstock.engine.shed_record import MODES, Mode
from penstock.errors import UsageError, complaint
from penstock.network.settings import QuerySettings
from penstock.planning.limits import Limits, Winner
from penstock.windows import parse_duration
from penstock.windows.durations import SECOND, Duration


@dataclass(frozen=True)
class Wanted:
    """How a network is run.

    Args:
        mode: whether rows are dropped, or only counted as if, or neither.
        keep: the share of rows to keep, by hand.
        drop: the share of windows to drop, by hand.
        latency: the target, in seconds; None if it is done by hand.
        limits: what answers may suffer for the target.
    """

    mode: Mode = "on"
    keep: float | Mapping[str, float] = 1.0
    drop: float | Mapping[str, float] = 0.0
    latency: float | None = None
    limits: Limits = field(default_factory=Limits)


def wanted(
    mode: Mode,
    keep: float | Mapping[str, float],
    drop: float | Mapping[str, float],
    latency: Duration | None,
    *,
    limits: tuple[float | None, float | None, Winner],
    kinds: Mapping[str, AnswerKind],
) -> Wanted:
    """What a user has asked for, checked.

    Args:
        mode: "on", "monitor" or "off".
        keep: by hand.
        drop: by hand.
        latency: the target.
        limits: max_error, max_loss, wins.
        kinds: query → what may become of its answers.
    """
    if mode not in MODES:
        raise UsageError(complaint("mode", f"must be one of {', '.join(MODES)}", mode))
    if latency is None:
        if limits != (None, None, "latency"):
            hint = "give latency='3 s' as well"
            raise UsageError(complaint("max_error, max_loss, wins", "need a latency", None, hint))
        return Wanted(mode, keep, drop)
    target = parse_duration(latency, "latency")
    if target <= 0:
        rule, hint = "must be greater than 0", "such as '3 s'"
        raise UsageError(complaint("latency", rule, latency, hint))
    if keep != 1.0 or drop != 0.0:
        rule = "must not be given with a latency, which decides about them"
        raise UsageError(complaint("keep and drop", rule, (keep, drop)))
    if not kinds:
        rule = "needs a query whose answers may suffer"
        hint = "such as query.approximate() or query.subset(max_gap=5)"
        raise UsageError(complaint("latency", rule, "exact answers only", hint))
    return Wanted(mode, latency=target / SECOND, limits=Limits(*limits))


def settings_of(kinds: Mapping[str, AnswerKind]) -> dict[str, QuerySettings]:
    """What the planner has to know of each query that may suffer."""
    found = {}
    for name, kind in kinds.items():
        if kind is not None:
            gap = kind.max_gap if isinstance(kind, Subset) else None
            answers: Literal["subset", "approximate"] = "approximate" if gap is None else "subset"
            found[name] = QuerySettings(name, kind.weight, answers, gap, {}, kind.priority)
    return found
