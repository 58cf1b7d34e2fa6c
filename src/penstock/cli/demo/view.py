"""How the run looks: live in a terminal, now and then a line elsewhere, a summary at the end."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.bar import Bar
from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

import penstock as ps
from penstock.cli.demo.exact import Comparison
from penstock.cli.demo.packets import SECOND
from penstock.cli.demo.stream import TITLE, Answer, Seen
from penstock.view.staged import Staged

TOP = 8
"""Hosts that are shown."""

LINE_EVERY = 5
"""Seconds from one plain line to the next."""

_WORDS = {
    "late_lost": "too late",
    "late_partial": "partly too late",
    "no_time": "without a time",
    "in_no_window": "in no window",
    "broken": "against a promise",
}


class View(Staged):
    """What is shown while the stream runs; as a context it leaves no spinner behind.

    Args:
        console: where to.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._next_line = 0.0

    def show(self, seen: Seen) -> None:
        """Shows the run as it is now."""
        if self._live is not None:
            self._live.update(frame(seen), refresh=True)
        elif seen.elapsed >= self._next_line and seen.batches:
            self._next_line = seen.elapsed + LINE_EVERY
            self.console.print(plain(seen), highlight=False, markup=False, soft_wrap=True)

    def end(self, lines: dict[str, str], comparison: Comparison) -> None:
        """Shows the summary: folded to the width of a terminal, one line for each elsewhere."""
        self._status.stop()
        verdict = f"exact: {comparison}"
        if not self.console.is_terminal:
            whole = [f"{name:<10}{text}" for name, text in lines.items()]
            self.console.out("\n".join([*whole, verdict]), highlight=False)
            return
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column()
        for name, text in lines.items():
            grid.add_row(name, Text(text))
        style = "bold green" if comparison.identical else "bold red"
        self.console.print(Text(), grid, Text(verdict, style=style))


def frame(seen: Seen) -> RenderableType:
    """One picture of the run, of at most 18 lines and 80 columns."""
    return Group(_clock(seen), Text(), _numbers(seen), Text(), _top(seen), Text(), _lost(seen))


def plain(seen: Seen) -> str:
    """The run in one line."""
    batch = seen.batch_ms[-1] if seen.batch_ms else 0
    lost = seen.accounts["late_lost"] + seen.accounts["late_partial"]
    return (
        f"{seen.elapsed:3.0f} s  {seen.rows:,} rows in, {seen.per_second:,.0f} per second; "
        f"batch {batch:,} ms; {len(seen.delivered()):,} windows; "
        f"late {lost:,}, no time {seen.accounts['no_time']:,}"
    )


def summary(run: ps.Run, seen: Seen) -> dict[str, str]:
    """What the run was, in the end, line by line."""
    delivered = seen.delivered()
    ends, hosts = (len({getattr(a, name) for a in delivered}) for name in ("end", "host"))
    rate = f"{seen.per_second:,.0f} rows per second"
    lines = {
        "rows in": f"{seen.rows:,} in {seen.batches} batches, {rate}",
        "windows": f"{len(delivered):,} delivered, of {hosts} hosts at {ends} ends",
    }
    for line in run.explained.splitlines()[1:]:
        name, _, text = line.partition(" ")
        lines[name] = text.strip()
    lines["accounts"] = ", ".join(f"{name} {seen.accounts[name]:,}" for name in _WORDS)
    return lines


def _clock(seen: Seen) -> RenderableType:
    grid = Table.grid(expand=True, padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1)
    grid.add_column(no_wrap=True, justify="right")
    done = min(seen.elapsed, seen.seconds)
    bar = ProgressBar(total=seen.seconds, completed=done, pulse=not seen.batches)
    clock = f"{done:.0f} of {seen.seconds:.0f} s" if seen.batches else "first batch"
    grid.add_row(Text(TITLE, style="bold"), bar, clock)
    return grid


def _numbers(seen: Seen) -> RenderableType:
    grid = Table.grid(padding=(0, 3, 0, 0))
    for _ in range(2):
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(justify="right", no_wrap=True, min_width=10)
    batch = f"{seen.batch_ms[-1]:,} ms" if seen.batch_ms else "-"
    grid.add_row("rows in", f"{seen.rows:,}", "windows delivered", f"{len(seen.delivered()):,}")
    grid.add_row("rows per second", f"{seen.per_second:,.0f}", "duration of a batch", batch)
    return grid


def _top(seen: Seen) -> RenderableType:
    delivered = seen.delivered()
    end = max((answer.end for answer in delivered), default=None)
    latest = sorted((a for a in delivered if a.end == end), key=lambda a: -a.bytes)[:TOP]
    table = Table(
        expand=True, box=None, padding=(0, 2, 0, 0), title_justify="left", title_style="bold"
    )
    table.title = _title(latest)
    for name in ("host", "packets", "mean B", "max B", "MB"):
        table.add_column(name, justify="left" if name == "host" else "right", header_style="dim")
    table.add_column("", ratio=1)
    most = max((answer.bytes for answer in latest), default=1)
    for a in latest:
        numbers = (f"{a.packets:,}", f"{a.mean:,.0f}", f"{a.largest:,}", f"{a.bytes / 1e6:,.2f}")
        table.add_row(a.host, *numbers, Bar(most, 0, a.bytes, color="cyan"))
    for _ in range(TOP - len(latest)):
        table.add_row()
    return table


def _title(latest: list[Answer]) -> str:
    if not latest:
        return "waiting for the first window to close"
    start, end = (
        datetime.fromtimestamp(at / SECOND, UTC).strftime("%H:%M:%S")
        for at in (latest[0].start, latest[0].end)
    )
    return f"hosts with most bytes from {start} to {end}"


def _lost(seen: Seen) -> RenderableType:
    text = Text("not counted in full: ", style="dim")
    parts = [f"{seen.accounts[name]:,} {words}" for name, words in _WORDS.items()]
    return text.append(", ".join(parts[:3]), style="yellow")
