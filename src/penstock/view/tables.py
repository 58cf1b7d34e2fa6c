"""The tables of the terminal's picture: drops, queries, and the latest answers with error bars."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.control.status import QueryStatus, Status
from penstock.view import words
from penstock.view.answers import Answer, Figure, answer
from penstock.view.scene import Scene

WIDE = 110
"""Columns from which on there is room for more."""

_EACH = 3
"""Answers of each query that are shown where there is room."""


def drops(now: Status, lines: int) -> RenderableType:
    """What is dropped where.

    Args:
        now: the run.
        lines: at most so many.
    """
    shown = now.drops if len(now.drops) <= lines else now.drops[: lines - 1]
    arcs = [f"{drop.after} ─► {drop.before}" for drop in shown]
    broad = max(map(len, arcs), default=0)
    first = "would  " if now.phase == "monitor" else "shed   "
    found = [] if now.drops else [Text.assemble((first, "dim"), "nothing")]
    for arc, drop in zip(arcs, shown, strict=True):
        windows = drop.keep is None
        part = f"drop {words.share(drop.drop)}" if windows else f"keep {words.share(drop.keep)}"
        label = ("       " if found else first, "dim")
        of = ", ".join(drop.queries) + (": windows" if windows else "")
        found.append(Text.assemble(label, f"{arc:<{broad}}  ", (f"{part:<11}", "yellow"), of))
    if len(shown) < len(now.drops):
        found.append(Text(f"       and {len(now.drops) - len(shown)} more"))
    for line in found:
        line.no_wrap, line.overflow = True, "ellipsis"
    return Group(*found)


def queries(scene: Scene, now: Status, lines: int, width: int) -> RenderableType:
    """A line for each query, with its latest answer.

    Args:
        scene: the run.
        now: its last batch.
        lines: at most so many, the head left out.
        width: columns that there are.
    """
    wide = width >= WIDE
    table = Table(box=None, padding=(0, 2, 0, 0), expand=True, header_style="dim")
    table.add_column("query", no_wrap=True, overflow="ellipsis", max_width=24)
    more = ("answers", "taken", "windows") if wide else ()
    for name in ("kept", "error", *more):
        table.add_column(name, no_wrap=True, justify="left" if name == "answers" else "right")
    table.add_column("latest answer", no_wrap=True, overflow="ellipsis", ratio=1)
    shown = now.queries if len(now.queries) <= lines else now.queries[: lines - 1]
    for query in shown:
        gone = f", {query.dropped:,} dropped" if query.dropped else ""
        extra = (query.kind, words.count(query.taken), f"{query.delivered:,}{gone}") if wide else ()
        table.add_row(query.name, _kept(query), _error(query), *extra, _newest(scene, query))
    if len(shown) < len(now.queries):
        table.add_row(Text(f"and {len(now.queries) - len(shown)} more", style="dim"))
    return table


def _kept(query: QueryStatus) -> Text:
    share = 1 - query.drop if query.kind == "subset" else query.keep
    return Text(words.share(share), style="yellow" if share < 1 else "")


def _error(query: QueryStatus) -> str:
    if query.kind != "approximate" or query.error == 0:
        return "exact"
    return words.UNKNOWN if query.error is None else f"± {words.share(query.error)}"


def _newest(scene: Scene, query: QueryStatus) -> Text:
    rows = scene.answers.get(query.name)
    if not rows:
        return Text("none yet", style="dim")
    first = answer(rows[0])
    return Text.assemble((f"{first.end} ", "dim"), str(first))


def lines_of_answers(scene: Scene) -> int:
    """How many lines `latest` would like to have."""
    return sum(min(_EACH, len(rows)) for rows in scene.answers.values())


def latest(scene: Scene, lines: int, width: int) -> RenderableType:
    """The latest answers of each query; those of a sample have error bars.

    Args:
        scene: the run.
        lines: at most so many, the head left out.
        width: columns that there are.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), expand=True, header_style="dim")
    table.add_column("latest answers", no_wrap=True, overflow="ellipsis", max_width=24)
    table.add_column("until", no_wrap=True, style="dim")
    table.add_column("of", no_wrap=True, overflow="ellipsis", max_width=24)
    table.add_column("", no_wrap=True, justify="right", overflow="ellipsis")
    bar = max(10, width // 3)
    table.add_column("", no_wrap=True, min_width=bar)
    left = lines
    for name, rows in scene.answers.items():
        found = [answer(row) for row in rows[: min(_EACH, left)]]
        left -= len(found)
        most = max((_top(one) for one in found), default=0.0)
        for number, one in enumerate(found):
            main = one.main
            said = "" if main is None else f"{main.name} {main}"
            drawn = Text() if main is None else whisker(main, most, bar)
            table.add_row("" if number else name, one.end, one.group, said, drawn)
    return table


def _top(one: Answer) -> float:
    if one.main is None:
        return 0.0
    most = one.main.value if one.main.high is None else one.main.high
    return float(most) if isinstance(most, int | float) else 0.0


def whisker(figure: Figure, most: float, width: int) -> Text:
    """A bar as long as the value, with its bounds around the end of it.

    Args:
        figure: the value.
        most: what would be as wide as the whole.
        width: of the whole, in columns.

    >>> whisker(Figure("n", 50, 30.0, 70.0), 100, 11).plain
    '━━━├─●─┤'
    """
    if most <= 0 or not isinstance(figure.value, int | float):
        return Text()

    def at(value: float) -> int:
        return max(0, min(width - 1, round(value / most * (width - 1))))

    end = at(figure.value)
    if figure.low is None or figure.high is None:
        return Text("━" * (end + 1), style="cyan")
    low, high = at(figure.low), at(figure.high)
    line = ["━"] * low + ["─"] * (high - low + 1)
    line[low], line[high] = "├", "┤"
    line[end] = "●"
    text = Text("".join(line))
    text.stylize("cyan", 0, low)
    text.stylize("yellow", low)
    return text
