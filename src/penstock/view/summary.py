"""A run in a few figures: whether the target was held, what was lost, whether the books balance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from penstock.control.status import Status
from penstock.view import words
from penstock.view.accounts import balanced
from penstock.view.scene import Scene

_P95, _P50 = 0.95, 0.5
_PIECES = 20
"""Of the rows of a batch, in the order in which they arrived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a run came to.

    Args:
        title: of the network.
        batches: that ended.
        seconds: from the first end of a batch to the last.
        rows: that came.
        warm_up: batches in which the run still learnt; the target is not judged by them.
        target: the latency target, in seconds; None if none was given.
        p95: the 95th percentile of the response times, by rows, in seconds; None if nobody knows.
        held: the share of batches that kept the target; None if there were none to judge.
        demand: the highest, in multiples of the capacity; None if nobody knows.
        loss: the share of the rows of all queries that was dropped.
        windows: of queries with subset answers that were delivered.
        missing: those that were dropped.
        errors: query → the relative error that was expected of its answers, in the mean by rows.
        balanced: whether every row is accounted for; None if there are no accounts.
        astray: queries whose accounts do not balance.
        problems: how many lines of them.
    """

    title: str
    batches: int = 0
    seconds: float = 0.0
    rows: int = 0
    warm_up: int = 0
    target: float | None = None
    p95: float | None = None
    held: float | None = None
    demand: float | None = None
    loss: float = 0.0
    windows: int = 0
    missing: int = 0
    errors: Mapping[str, float]
    balanced: bool | None = None
    astray: tuple[str, ...] = ()
    problems: int = 0

    @property
    def target_held(self) -> bool | None:
        """Whether 95 % of the rows were answered in time; None if nobody knows."""
        if self.target is None or self.p95 is None:
            return None
        return self.p95 <= self.target

    @property
    def error(self) -> tuple[str, float] | None:
        """The query whose expected error is the greatest, and that error."""
        return max(self.errors.items(), key=lambda one: one[1], default=None)

    def to_json(self) -> dict[str, Any]:
        """Plain values, with the verdict."""
        return {**asdict(self), "target_held": self.target_held}

    def lines(self) -> dict[str, str]:
        """What there is to say, line by line."""
        return {
            "rows": f"{self.rows:,} in {self.batches:,} batches, {words.seconds(self.seconds)}",
            "target": self._target(),
            "demand": f"at most {words.times(self.demand)} of the capacity",
            "loss": self._loss(),
            "error": self._error(),
            "accounts": self._accounts(),
            "problems": f"{self.problems:,}" if self.problems else "none",
        }

    def _target(self) -> str:
        if self.target is None:
            return "none was given"
        if self.p95 is None or self.held is None:
            return f"{words.seconds(self.target)}; no batch to judge it by yet"
        verdict = "held" if self.target_held else "not held"
        left = f" ({self.warm_up} of warm-up left out)" if self.warm_up else ""
        return (
            f"{verdict}: 95 % of rows answered within {words.seconds(self.p95)}, asked for "
            f"{words.seconds(self.target)}; kept in {words.share(self.held)} of batches{left}"
        )

    def _loss(self) -> str:
        whole = self.windows + self.missing
        windows = f"; {self.missing:,} of {whole:,} windows with subset answers" if whole else ""
        return f"{words.share(self.loss)} of the rows of all queries{windows}"

    def _error(self) -> str:
        if self.error is None:
            return "none expected: every answer is exact"
        name, most = self.error
        return f"± {words.share(most)} expected of {name}, the most of {len(self.errors)} queries"

    def _accounts(self) -> str:
        if self.balanced is None:
            return "none were kept"
        if self.balanced:
            return "balanced: every row of every query is dropped or taken"
        return f"NOT balanced: {', '.join(self.astray)}"


def summary(scene: Scene) -> Summary:
    """What a run came to.

    Args:
        scene: all of it.
    """
    statuses = scene.statuses
    judged = [one for one in statuses if one.phase != "warm-up"]
    known = [one for one in judged if one.held is not None]
    last = scene.now
    rows, shed = _loss(scene)
    astray = tuple(name for name, of in scene.accounts.items() if balanced(of) is False)
    kept = any(balanced(of) is not None for of in scene.accounts.values())
    return Summary(
        title=scene.title,
        batches=len(statuses),
        seconds=statuses[-1].at - statuses[0].at if statuses else 0.0,
        rows=sum(one.rows for one in statuses),
        warm_up=len(statuses) - len(judged),
        target=last.target if last else None,
        p95=_percentile(known),
        held=sum(bool(one.held) for one in known) / len(known) if known else None,
        demand=max((one.demand for one in judged if one.demand is not None), default=None),
        loss=shed / rows if rows else 0.0,
        windows=sum(query.delivered for query in last.queries) if last else 0,
        missing=sum(query.dropped for query in last.queries) if last else 0,
        errors=_errors(statuses),
        balanced=not astray if kept else None,
        astray=astray,
        problems=sum(len(one.problems) for one in statuses),
    )


def _percentile(statuses: Sequence[Status]) -> float | None:
    """The response time that 95 % of rows did not exceed, as far as batches tell."""
    found = sorted(piece for one in statuses for piece in _pieces(one))
    left = _P95 * sum(rows for _, rows in found)
    for response, rows in found:
        left -= rows
        if left <= 0:
            return response
    return found[-1][0] if found else None


def _pieces(one: Status) -> list[tuple[float, float]]:
    """Response times of the rows of a batch: they came one after the other, and end together."""
    if one.response is None:
        return []
    rows = max(one.rows, 1) / _PIECES
    median = one.response if one.median is None else one.median
    collected = (one.response - median) / (_P95 - _P50)
    shares = ((piece + 0.5) / _PIECES for piece in range(_PIECES))
    return [(median + (share - _P50) * collected, rows) for share in shares]


def _loss(scene: Scene) -> tuple[int, int]:
    """Rows of all queries, and those of them that were dropped."""
    books = [of for of in scene.accounts.values() if "rows_in" in of]
    if books:
        shed = sum(of.get("shed_at_stream", 0) + of.get("shed_on_the_way", 0) for of in books)
        return sum(of["rows_in"] for of in books), shed
    return sum(one.rows for one in scene.statuses), sum(one.shed for one in scene.statuses)


def _errors(statuses: Sequence[Status]) -> dict[str, float]:
    total: dict[str, tuple[float, int]] = {}
    for one in statuses:
        for query in one.queries:
            if words.known(query.error):
                error, rows = total.get(query.name, (0.0, 0))
                weight = max(query.rows_in, 1)
                total[query.name] = error + query.error * weight, rows + weight
    means = {name: error / rows for name, (error, rows) in total.items()}
    return {name: mean for name, mean in means.items() if mean > 0}
