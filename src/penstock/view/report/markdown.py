"""The summary of a run in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.view.html import QUERIES
from penstock.view.report.tables import account_rows, problem_rows, query_rows
from penstock.view.scene import Scene
from penstock.view.summary import summary


def markdown(scene: Scene, pictures: Sequence[str] = ()) -> str:
    """What a run came to, for a pull request or an e-mail.

    Args:
        scene: all of it.
        pictures: files beside it that are shown in it.
    """
    lines = [f"# Run of {_safe(scene.title)}", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {_safe(text)} |" for name, text in summary(scene).lines().items()]
    lines += ["", "## Queries", "", *table(QUERIES, query_rows(scene), 6)]
    head, rows = account_rows(scene)
    if rows:
        said = "Each row of a query is dropped or taken."
        lines += ["", "## Accounts", "", said, "", *table(head, rows, len(head) - 1)]
    problems = problem_rows(scene)
    if problems:
        lines += ["", "## Problems", "", *(f"- batch {n}: {_safe(text)}" for n, text in problems)]
    if pictures:
        lines += ["", "## Over time", "", *(f"![{name}]({name})" for name in pictures)]
    return "\n".join(lines) + "\n"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: int) -> list[str]:
    """The lines of a table.

    Args:
        head: the names of its columns.
        rows: their values.
        numbers: the last so many columns are numbers.

    >>> table(("query", "rows"), [("web", "9")], 1)
    ['| query | rows |', '|---|---:|', '| web | 9 |']
    """
    ends = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    body = [f"| {' | '.join(map(_safe, row))} |" for row in rows]
    return [f"| {' | '.join(head)} |", f"|{'|'.join(ends)}|", *body]


def _safe(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
