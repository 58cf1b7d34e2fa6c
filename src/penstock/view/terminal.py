"""A run in a terminal: one picture of it, of the size that there is; or a line for a batch.

packets.toml  shedding                  ━━━━━━━━━━━━╸━━━━━  34 s of 1 min
in 52.1 k/s   demand 3.1 x   backlog 12.3 k
response 2.6 s, target 3 s
     3 s ┈┈┈┈▆┈┈┈
     0 s ▃▃▄▅██▆▅
shed   packets ─► filter 1   keep 31 %   tcp_packets
query  …
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from penstock.control.status import Phase, Status
from penstock.view import words
from penstock.view.parts import wholes
from penstock.view.rooms import Rooms, rooms
from penstock.view.scene import Scene
from penstock.view.strip import Look, strip, top
from penstock.view.summary import Summary, summary
from penstock.view.tables import WIDE, drops, latest, lines_of_answers, queries

STYLES: dict[Phase, str] = {
    "warm-up": "cyan",
    "exact": "green",
    "shedding": "yellow",
    "monitor": "blue",
    "off": "dim",
}
_LABEL, _BETWEEN = 9, 3
_RECENT = 30
"""Batches for which a problem stays on the screen."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When a picture is made.

    Args:
        elapsed: seconds that the run has taken.
        seconds: how long it is to take; None if it has no end.
    """

    elapsed: float
    seconds: float | None = None


def frame(scene: Scene, moment: Moment, width: int = 80, height: int = 23) -> RenderableType:
    """One picture of a run.

    Args:
        scene: the run.
        moment: when it is made.
        width: columns that there are.
        height: lines that there are.
    """
    now = scene.now
    if now is None:
        return Group(_head(scene, now, moment), Text("waiting for the first batch", style="dim"))
    problems = [line for one in scene.statuses[-_RECENT:] for line in one.problems]
    room = rooms(
        height,
        drops=len(now.drops),
        queries=len(now.queries),
        problems=len(problems),
        answers=lines_of_answers(scene),
    )
    so_far = summary(scene)
    parts: list[RenderableType] = [_head(scene, now, moment), *_gap(room, 1), _numbers(now, so_far)]
    parts += [*_gap(room, 2), _plots(scene, now, so_far, room, width)]
    if room.drops:
        parts.append(drops(now, room.drops))
    parts += [*_gap(room, 3), queries(scene, now, room.queries, width)]
    if room.answers:
        parts += [Text(), latest(scene, room.answers, width)]
    parts += _why(now, room, width)
    parts += [_cut(line, "red") for line in problems[len(problems) - room.problems :]]
    return Group(*parts)


def plain(status: Status) -> str:
    """A batch in one line, for a log.

    Args:
        status: when it had ended.
    """
    problem = f"; PROBLEM {'; '.join(status.problems)}" if status.problems else ""
    reason = f"; {status.reason}" if status.reason else ""
    target = "" if status.target is None else f" of {words.seconds(status.target)}"
    return (
        f"{words.clock(status.at)} batch {status.batch} {status.phase}: "
        f"in {words.rate(status.arriving)}, taken {words.rate(status.taking)}, "
        f"demand {words.times(status.demand)}, backlog {words.count(status.backlog)}, "
        f"response {words.seconds(status.response)}{target}, kept {words.share(status.keep)}"
        f"{reason}{problem}"
    )


def _gap(room: Rooms, number: int) -> list[RenderableType]:
    return [Text()] if room.gaps >= number else []


def _head(scene: Scene, now: Status | None, moment: Moment) -> RenderableType:
    grid = Table.grid(expand=True, padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=40)
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1)
    grid.add_column(no_wrap=True, justify="right")
    phase: Phase = now.phase if now else "warm-up"
    bar: RenderableType = Text()
    clock = words.seconds(round(moment.elapsed))
    if moment.seconds is not None:
        done = min(moment.elapsed, moment.seconds)
        bar = ProgressBar(total=moment.seconds, completed=done, complete_style="cyan")
        clock = f"{words.seconds(round(done))} of {words.seconds(moment.seconds)}"
    grid.add_row(Text(scene.title, style="bold"), Text(phase, style=STYLES[phase]), bar, clock)
    return grid


def _numbers(now: Status, so_far: Summary) -> RenderableType:
    grid = Table.grid(padding=(0, 3, 0, 0))
    for _ in range(3):
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(justify="right", no_wrap=True, min_width=10)
    over = now.demand is not None and now.demand > 1
    demand = Text(words.times(now.demand), style="bold yellow" if over else "")
    kept = Text(words.share(now.keep), style="yellow" if now.keep < 1 else "")
    batch = f"{now.batch:,}, {words.seconds(now.seconds)}"
    lost, capacity = words.share(so_far.loss), words.rate(now.capacity)
    came = words.count(so_far.rows)
    grid.add_row("in", words.rate(now.arriving), "demand", demand, "kept", kept)
    grid.add_row("taken", words.rate(now.taking), "capacity", capacity, "lost so far", lost)
    grid.add_row("rows", came, "backlog", words.count(now.backlog), "batch", batch)
    return grid


def _plots(scene: Scene, now: Status, so_far: Summary, room: Rooms, width: int) -> RenderableType:
    held = "" if so_far.held is None else f"; kept in {words.share(so_far.held)} of batches"
    target = "" if now.target is None else f", target {words.seconds(now.target)}"
    judged = "bold" if now.held is None else "bold green" if now.held else "bold red"
    title = Text.assemble("response ", (words.seconds(now.response), judged), target, held)
    wide = width >= WIDE
    each = (width - _BETWEEN) // 2 if wide else width
    whole = wholes(scene.statuses)
    responses = [one.response for one in whole]
    look = Look(each - _LABEL, room.plot)
    left = _plot(title, responses, now.target, words.seconds, look)
    if not wide:
        return left
    title = Text(f"in {words.rate(now.arriving)}, capacity {words.rate(now.capacity)}")
    look = Look(each - _LABEL, room.plot, good="blue", bad="yellow")
    arriving = [one.arriving for one in whole]
    both = Table.grid(padding=(0, _BETWEEN, 0, 0))
    both.add_row(left, _plot(title, arriving, now.capacity, words.count, look))
    return both


def _plot(
    title: Text,
    values: Sequence[float | None],
    limit: float | None,
    label: Callable[[float], str],
    look: Look,
) -> RenderableType:
    marks = {0: label(top(values, limit)), look.height - 1: "0"}
    lines = [
        Text.assemble((f"{marks.get(row, ''):>{_LABEL - 1}} ", "dim"), line)
        for row, line in enumerate(strip(values, look, limit))
    ]
    return Group(title, *lines)


def _why(now: Status, room: Rooms, width: int) -> list[RenderableType]:
    if not now.reason:
        return [Text("why    nothing has to be dropped", style="dim")]
    indent = " " * 7
    lines = textwrap.wrap(now.reason, width, initial_indent=indent, subsequent_indent=indent)
    shown = [_cut(line) for line in lines[: room.reason]]
    if len(lines) > room.reason:  # the rest is cut off where one sees it
        shown[-1] = _cut(" ".join([lines[room.reason - 1], *lines[room.reason :]]))
    first = Text.assemble(("why    ", "dim"), shown[0].plain[7:], no_wrap=True, overflow="ellipsis")
    return [first, *shown[1:]]


def _cut(line: str, style: str = "") -> Text:
    return Text(line, style=style, no_wrap=True, overflow="ellipsis")
