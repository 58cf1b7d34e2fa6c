"""The SVG elements of boxes and edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from penstock.network.render.labels import Label, wrapped

WIDTH, BETWEEN = 250, 56
"""Of a box, and from one layer to the next, in pixels."""

_PAD, _LINE, _HEAD = 11, 15, 23
_COLUMNS, _NAME, _MOST = 34, 28, 3  # characters of a line and of a name; lines

STYLE = """\
.penstock { font-family: system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif; font-size: 13px; }
.penstock .back { fill: #ffffff; }
.penstock .box { stroke-width: 1.2; fill: #f6f7f9; stroke: #8a94a3; }
.penstock .stream .box { fill: #e3f0fd; stroke: #2f7fc1; }
.penstock .aggregate .box { fill: #fdf3df; stroke: #b9862a; }
.penstock .query .box { fill: #e4f5e7; stroke: #35914a; }
.penstock .shared .box { stroke-width: 3; }
.penstock .edge { fill: none; stroke: #8a94a3; stroke-width: 1.4; }
.penstock .arrow { fill: #8a94a3; }
.penstock text { fill: #1d2530; }
.penstock .name { font-weight: 600; }
.penstock .what, .penstock .count { fill: #56606e; }
.penstock .text { font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; \
font-size: 11px; }
.penstock .note { fill: #a3341f; font-size: 12px; }
.penstock .count { font-size: 12px; font-weight: 600; text-anchor: end; }
@media (prefers-color-scheme: dark) {
.penstock .back { fill: #14181e; }
.penstock .box { fill: #20262e; stroke: #7b8696; }
.penstock .stream .box { fill: #12304b; stroke: #5aa7e6; }
.penstock .aggregate .box { fill: #3a2f17; stroke: #d9aa55; }
.penstock .query .box { fill: #16351f; stroke: #5fc079; }
.penstock .edge { stroke: #7b8696; }
.penstock .arrow { fill: #7b8696; }
.penstock text { fill: #e6eaf0; }
.penstock .what, .penstock .count { fill: #a5afbd; }
.penstock .note { fill: #ff9d86; }
}"""


@dataclass(frozen=True, slots=True)
class Box:
    """A box of the picture: its words, and how they are broken into lines."""

    words: Label
    lines: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def height(self) -> int:
        """In pixels."""
        return _HEAD + _LINE * (len(self.lines) + len(self.notes)) + _PAD


def box(words: Label) -> Box:
    """The box for these words."""
    lines = wrapped(words.text, _COLUMNS, _MOST)
    if words.kind == "aggregate":
        # What it is grouped by comes first in it already.
        asked, bracket, window = words.text.partition(" GROUP BY ")[0].rpartition(" [")
        lines = wrapped(asked, _COLUMNS, _MOST) + wrapped((bracket + window).strip(), _COLUMNS, 2)
    return Box(words, tuple(lines), tuple(wrapped(words.note, _COLUMNS, 2)))


def drawn_box(one: Box, x: float, y: float) -> str:
    """The box with its upper left corner at x, y; its whole text is its tooltip."""
    words = one.words
    classes = f"operator {words.kind}" + (" shared" if words.shared else "")
    name = words.name.removeprefix(f"{words.kind} ")
    whole = f"{words.kind} {name}: {words.text}"
    whole += f"\nshared by {', '.join(words.users)}" if words.shared else ""
    whole += f"\n{words.note}" if words.note else ""
    count = f"\N{MULTIPLICATION SIGN} {len(words.users)}" if words.shared else ""
    room = _NAME - len(words.kind) - len(count)
    name = name if len(name) <= room else name[: room - 1] + "…"
    begin = f'<text x="{x + _PAD:g}" y="{y + _HEAD - 3:g}"><tspan class="what">{words.kind}</tspan>'
    lines = [
        f'<g class="{classes}"><title>{escape(whole)}</title>',
        f'<rect class="box" x="{x:g}" y="{y:g}" width="{WIDTH}" height="{one.height}" rx="6"/>',
        f'{begin} <tspan class="name">{escape(name)}</tspan></text>',
    ]
    if count:
        lines.append(_text("count", x + WIDTH - _PAD, y + _HEAD - 3, count))
    down = y + _HEAD
    for css, several in (("text", one.lines), ("note", one.notes)):
        for line in several:
            down += _LINE
            lines.append(_text(css, x + _PAD, down, line))
    return "\n".join([*lines, "</g>"])


def _text(css: str, x: float, y: float, line: str) -> str:
    return f'<text class="{css}" x="{x:g}" y="{y:g}">{escape(line)}</text>'


def drawn_edge(ends: Sequence[tuple[float, float]], passes: Sequence[tuple[float, float]]) -> str:
    """A curve from the right of a box to the left of another.

    Args:
        ends: where it begins and ends.
        passes: where it enters each layer that it passes; it crosses that on a straight line.
    """
    begin, end = ends
    stops = [begin, *(p for x, y in passes for p in ((x, y), (x + WIDTH, y))), end]
    path = f"M{begin[0]:g},{begin[1]:g}"
    for number, ((ax, ay), (bx, by)) in enumerate(pairwise(stops)):
        middle = (ax + bx) / 2
        across = number % 2 == 1
        path += f" H{bx:g}" if across else f" C{middle:g},{ay:g} {middle:g},{by:g} {bx:g},{by:g}"
    x, y = end
    arrow = f"M{x:g},{y:g} l-8,-4 v8 z"
    return f'<path class="edge" d="{path}"/>\n<path class="arrow" d="{arrow}"/>'
