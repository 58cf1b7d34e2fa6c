"""The tables of a report as rows of text, whatever they are written in."""

from __future__ import annotations

from dataclasses import replace

from penstock.control.status import Status
from penstock.view import words
from penstock.view.html import query_row
from penstock.view.parts import part_of
from penstock.view.scene import Scene
from penstock.view.summary import summary

_FIRST = ("rows_in", "shed_at_stream", "shed_on_the_way", "taken")
_WORDS = {
    "rows_in": "rows",
    "shed_at_stream": "dropped where they enter",
    "shed_on_the_way": "dropped on the way",
    "taken": "taken",
    "late_lost": "too late",
    "late_partial": "partly too late",
    "no_time": "without a time",
    "in_no_window": "in no window",
    "broken": "against a promise",
}
_STEP = 0.05
"""A change of the share that is kept which is worth a line of the decision log."""


def query_rows(scene: Scene) -> list[tuple[str, ...]]:
    """A row for each query; rows and errors are since the start."""
    found, errors = [], summary(scene).errors
    now = scene.now
    for query in now.queries if now else ():
        mine = [q for one in scene.statuses for q in one.queries if q.name == query.name]
        rows, shed = sum(q.rows_in for q in mine), sum(q.shed for q in mine)
        error = errors.get(query.name, query.error)
        found.append(query_row(replace(query, error=error), rows, shed))
    return found


def account_rows(scene: Scene) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """What became of the rows of each query: the head, and the rows."""
    known = {what: None for of in scene.accounts.values() for what in of}
    columns = [*(c for c in _FIRST if c in known), *(c for c in known if c not in _FIRST)]
    head = ("query", *(_WORDS.get(column, column.replace("_", " ")) for column in columns))
    rows = [
        (name, *(f"{of[c]:,}" if c in of else "" for c in columns))
        for name, of in scene.accounts.items()
    ]
    return head, rows


def problem_rows(scene: Scene) -> list[tuple[int, str]]:
    """The batch and the line of each problem."""
    return [(one.batch, line) for one in scene.statuses for line in one.problems]


def decisions(scene: Scene) -> list[Status]:
    """The batches after which something else was decided than before, newest first."""
    found: list[Status] = []
    before: dict[str, Status] = {}  # what is decided for a part has nothing to do with another
    for one in scene.statuses:
        last = before.get(part_of(one))
        if last is None or last.phase != one.phase or abs(last.keep - one.keep) >= _STEP:
            found.append(one)
            before[part_of(one)] = one
    return found[::-1]


def decision_rows(scene: Scene) -> list[tuple[str, ...]]:
    """The decision log: when, what, and why."""
    return [
        (
            words.clock(one.at),
            f"{one.batch:,}",
            one.phase,
            words.share(one.keep),
            "; ".join(
                f"{d.after} > {d.before} "
                + (
                    f"keep {words.share(d.keep)}"
                    if d.keep is not None
                    else f"drop {words.share(d.drop)} of windows"
                )
                for d in one.drops
            ),
            one.reason or "nothing has to be dropped",
        )
        for one in decisions(scene)
    ]


DECISIONS = ("time", "batch", "phase", "kept", "drops", "why")
