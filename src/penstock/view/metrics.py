"""A run as Prometheus' metrics. Names end in their unit; counters count since the start.

The demand is told as it is before anything is dropped: an autoscaler that looked at the rows that
are worked off would see a machine that is busy and content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, get_args

from penstock.control.status import Phase, Status
from penstock.view import prometheus
from penstock.view.accounts import FATES, balanced
from penstock.view.parts import after, last_batches
from penstock.view.prometheus import CONTENT_TYPE, counter, gauge
from penstock.view.scene import Scene

if TYPE_CHECKING:
    from prometheus_client.core import Metric

__all__ = ["CONTENT_TYPE", "Totals", "exposition"]

_OF_THE_RUN = (
    ("latency_target_seconds", "target", "Latency target."),
    ("arriving_rows_per_second", "arriving", "Rows that arrive in a second."),
    ("taking_rows_per_second", "taking", "Rows worked off in a second, without dropped ones."),
    (
        "capacity_rows_per_second",
        "capacity",
        "Rows that could be worked off in a second if none were dropped.",
    ),
    (
        "demand_ratio",
        "demand",
        "Arriving rows in multiples of the capacity, before anything is dropped.",
    ),
    ("backlog_rows", "backlog", "Rows that wait."),
    ("batch_seconds", "seconds", "Time that the last batch took."),
    ("admitted_ratio", "keep", "Share of rows that the controller lets in from the next batch on."),
    ("last_batch_timestamp_seconds", "at", "When the last batch ended, since the epoch."),
)
_SINCE = "since the first scrape, and of batches before it that are still remembered."


@dataclass(slots=True)
class Totals:
    """What a scene tells of single batches, counted over all of them; older ones are forgotten.

    Kept from one scrape to the next, so that nothing is counted twice, and nothing backwards.
    """

    known: dict[str, int] = field(default_factory=dict)
    batches: int = 0
    rows: int = 0
    shed: int = 0
    problems: int = 0

    def take(self, statuses: Iterable[Status]) -> None:
        """Counts the batches that are new."""
        new = after(statuses, self.known)
        self.known |= last_batches(new)
        self.batches += len(new)
        self.rows += sum(status.rows for status in new)
        self.shed += sum(status.shed for status in new)
        self.problems += sum(len(status.problems) for status in new)


def exposition(scene: Scene, totals: Totals | None = None) -> bytes:
    """The metrics in the format that Prometheus reads.

    Args:
        scene: of the run.
        totals: of earlier scrapes, which are brought up to date; None if this is the only one.
    """
    totals = Totals() if totals is None else totals
    totals.take(scene.statuses)
    return prometheus.text(lambda: _metrics(scene, totals))


def _metrics(scene: Scene, totals: Totals) -> Iterator[Metric]:
    info = gauge("run_info", "Always 1; its label is the title of the run.", "title")
    info.add_metric([scene.title], 1)
    yield info
    for name, meaning, value in (
        ("batches", f"Batches, {_SINCE}", totals.batches),
        ("rows", f"Rows that the streams brought, {_SINCE}", totals.rows),
        ("rows_lost", f"Rows dropped where they entered, that no query got, {_SINCE}", totals.shed),
        ("problems", f"Things that went wrong while the stream went on, {_SINCE}", totals.problems),
    ):
        family = counter(name, meaning)
        family.add_metric([], value)
        yield family
    yield from _accounts(scene)
    now = scene.now
    if now is not None:
        yield from _run(now)
        yield from _queries(now)


def _accounts(scene: Scene) -> Iterator[Metric]:
    came = counter("query_rows", "Rows of the query's streams, since the start.", "query")
    shed = counter("rows_shed", "Rows dropped, since the start, by where.", "query", "reason")
    taken = counter("rows_taken", "Rows that went on to its filters, since the start.", "query")
    other = counter(
        "rows_not_counted",
        "Taken rows that count in no window or not in all of theirs, since the start.",
        *("query", "reason"),
    )
    right = gauge("accounts_balanced", "1 if every row is accounted for, else 0.", "query")
    for query, account in scene.accounts.items():
        came.add_metric([query], account.get("rows_in", 0))
        shed.add_metric([query, "at_stream"], account.get("shed_at_stream", 0))
        shed.add_metric([query, "on_the_way"], account.get("shed_on_the_way", 0))
        taken.add_metric([query], account.get("taken", 0))
        for reason in sorted(account.keys() - {"rows_in", *FATES}):
            other.add_metric([query, reason], account[reason])
        if (sums := balanced(account)) is not None:
            right.add_metric([query], sums)
    yield from (came, shed, taken, other, right)


def _run(now: Status) -> Iterator[Metric]:
    response = gauge(
        "response_seconds",
        "Time from the arrival of a row until its batch was delivered, in the last batch.",
        "quantile",
    )
    for quantile, value in (("0.5", now.median), ("0.95", now.response)):
        if value is not None:
            response.add_metric([quantile], value)
    yield response
    for name, key, meaning in _OF_THE_RUN:
        family = gauge(name, meaning)
        if (value := getattr(now, key)) is not None:  # what nobody knows is not told as 0
            family.add_metric([], value)
        yield family
    drops = gauge("drops", "Drops that are in force from the next batch on.")
    drops.add_metric([], len(now.drops))
    yield drops
    phase = gauge("phase", "1 for what the run does, 0 for what it does not.", "phase")
    for one in get_args(Phase):
        phase.add_metric([one], one == now.phase)
    yield phase


def _queries(now: Status) -> Iterator[Metric]:
    keep = gauge("keep_ratio", "Share of rows that are kept from the next batch on.", "query")
    drop = gauge("drop_ratio", "Share of windows that are dropped from the next batch on.", "query")
    error = gauge("expected_error_ratio", "Relative error expected of the answers.", "query")
    windows = counter("windows", "Windows since the start, by their fate.", "query", "fate")
    for query in now.queries:
        keep.add_metric([query.name], query.keep)
        drop.add_metric([query.name], query.drop)
        if query.error is not None:
            error.add_metric([query.name], query.error)
        windows.add_metric([query.name, "delivered"], query.delivered)
        windows.add_metric([query.name, "dropped"], query.dropped)
    yield from (keep, drop, error, windows)
