"""The report as one page: its styles, its script and its plots are in it; it asks no network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from penstock.view.html import QUERIES, grid
from penstock.view.panels import Panel, panels, shedding
from penstock.view.report.chart import LEFT, RIGHT, WIDTH, chart
from penstock.view.report.tables import (
    DECISIONS,
    account_rows,
    decision_rows,
    problem_rows,
    query_rows,
)
from penstock.view.scene import Scene
from penstock.view.summary import Summary, summary


def page(scene: Scene) -> str:
    """The page.

    Args:
        scene: the run, all of it.
    """
    found = summary(scene)
    folder = files("penstock.view.report")
    style, script = ((folder / f"page.{end}").read_text(encoding="utf-8") for end in ("css", "js"))
    head, rows = account_rows(scene)
    problems = [(str(batch), text) for batch, text in problem_rows(scene)]
    gaps = [(name, *map(str, gap)) for name, some in scene.gaps.items() for gap in some]
    sections = [
        _section("Over time", _plots(scene)),
        _section("Network", _picture(scene.picture)),
        _section("Queries", _table(QUERIES, query_rows(scene), 6)),
        _section("Accounts", _table(head, rows, len(head) - 1)),
        _section("Windows that were not delivered", _table(("query", "until", "fate"), gaps)),
        _section("Decisions", _table(DECISIONS, decision_rows(scene), long=True)),
        _section("Problems", _table(("batch", "what"), problems)),
    ]
    title = escape(scene.title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Run of {title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>Run of {title}</h1>\n{_verdict(found)}\n{''.join(sections)}</main>\n"
        f"<script>\n{script}</script>\n</body>\n</html>\n"
    )


def _section(title: str, body: str) -> str:
    return f"<section>\n<h2>{title}</h2>\n{body}\n</section>\n" if body else ""


def _picture(drawn: str) -> str:
    return f'<div class="wide picture">{drawn}</div>' if drawn else ""


def _verdict(found: Summary) -> str:
    good = {"target": found.target_held, "accounts": found.balanced}
    names = {True: "good", False: "bad", None: ""}
    rows = "".join(
        f'<div class="{names[good.get(name)]}"><dt>{name}</dt><dd>{escape(text)}</dd></div>'
        for name, text in found.lines().items()
    )
    return f'<dl class="verdict">{rows}</dl>'


def _table(
    head: tuple[str, ...], rows: Sequence[tuple[str, ...]], numbers: int = 0, *, long: bool = False
) -> str:
    if not rows:
        return ""
    return f'<div class="wide{" long" * long}">{grid(head, rows, numbers)}</div>'


def _plots(scene: Scene) -> str:
    if len(scene.statuses) < 2:  # noqa: PLR2004 - one batch is no line
        return ""
    times = [one.at - scene.statuses[0].at for one in scene.statuses]
    bands = shedding(scene.statuses)
    figures = [
        f"<figure><figcaption><b>{escape(one.title)}</b>{_legend(one)}</figcaption>"
        f"{chart(one, times, bands)}</figure>"
        for one in panels(scene.statuses)
    ]
    said = [
        [[line.name, [one.label(v) for v in line.values]] for line in one.lines]
        for one in panels(scene.statuses)
    ]
    values = {"times": times, "left": LEFT, "right": RIGHT, "width": WIDTH, "said": said}
    # A text in a script must not end it.
    data = json.dumps(values).replace("<", "\\u003c")
    note = "<p>Rows are dropped where it is shaded.</p>" if bands else ""
    return (
        f'{note}<div class="plots">{"".join(figures)}</div>'
        f'<script type="application/json" id="values">{data}</script>'
    )


def _legend(panel: Panel) -> str:
    return "".join(
        f'<span class="key {"limit" if line.dashed else f"line-{number}"}">{escape(line.name)}'
        f'<span class="at"></span></span>'
        for number, line in enumerate(panel.lines)
    )
