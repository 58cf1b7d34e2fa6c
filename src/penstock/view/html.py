"""A status and a scene as a small table, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from penstock.control.status import QueryStatus, Status
from penstock.view import words
from penstock.view.scene import Scene
from penstock.view.summary import summary


def pairs(lines: dict[str, str]) -> str:
    """Names and what is said of them, as a table.

    Args:
        lines: name → text.

    >>> pairs({"kept": "<1 %"})
    '<table><tr><th style="text-align:left">kept</th><td>&lt;1 %</td></tr></table>'
    """
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td>{escape(text)}</td></tr>'
        for name, text in lines.items()
    )
    return f"<table>{rows}</table>"


def grid(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], numbers: int = 0) -> str:
    """A table with a head.

    Args:
        head: the names of its columns.
        rows: their values.
        numbers: the last so many columns are numbers, and stand at the right.
    """

    def cells(tag: str, row: tuple[str, ...]) -> str:
        first = len(head) - numbers
        return "".join(
            f"<{tag}{' class=n' if at >= first else ''}>{escape(text)}</{tag}>"
            for at, text in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', head)}</tr></thead><tbody>{body}</tbody></table>"


QUERIES = ("query", "answers", "rows", "dropped", "kept now", "error", "windows", "missing")


def query_row(query: QueryStatus, rows: int, shed: int) -> tuple[str, ...]:
    """What there is to say of a query, as `QUERIES` names it.

    Args:
        query: as it is now.
        rows: that it was to take.
        shed: those of them that were dropped.
    """
    kept = 1 - query.drop if query.kind == "subset" else query.keep
    error = "exact" if query.kind != "approximate" else f"± {words.share(query.error)}"
    return (
        query.name,
        query.kind,
        f"{rows:,}",
        words.share(shed / rows if rows else 0.0),
        words.share(kept),
        "exact" if query.error == 0 else error,
        f"{query.delivered:,}",
        f"{query.dropped:,}",
    )


def status_html(status: Status) -> str:
    """A status as HTML, for `_repr_html_`.

    Args:
        status: of a run.
    """
    target = "" if status.target is None else f", target {words.seconds(status.target)}"
    lines = {
        "batch": f"{status.batch:,}, {words.seconds(status.seconds)}, {status.rows:,} rows",
        "phase": status.phase,
        "in": words.rate(status.arriving),
        "taken": words.rate(status.taking),
        "demand": f"{words.times(status.demand)} of {words.rate(status.capacity)}",
        "response": f"{words.seconds(status.response)}{target}",
        "kept": words.share(status.keep),
        "why": status.reason or "nothing has to be dropped",
    }
    lines |= {"problems": "; ".join(status.problems)} if status.problems else {}
    rows = [query_row(query, query.rows_in, query.shed) for query in status.queries]
    return pairs(lines) + (grid(QUERIES, rows, 6) if rows else "")


def scene_html(scene: Scene) -> str:
    """A run so far as HTML, for `_repr_html_`: its summary, and the last batch.

    Args:
        scene: the run.
    """
    head, now = f"<h4>{escape(scene.title)}</h4>{pairs(summary(scene).lines())}", scene.now
    return head + (status_html(now) if now else "")
