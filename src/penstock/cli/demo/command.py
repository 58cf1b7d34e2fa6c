"""`penstock demo`: a minute of windows over packets; or an overload, and how it is survived."""

from __future__ import annotations

import io
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import penstock as ps
from penstock.cli.demo.exact import Comparison, compare
from penstock.cli.demo.overload import show_overload
from penstock.cli.demo.packets import SECOND, Packets
from penstock.cli.demo.stream import Seen, ask, report
from penstock.cli.demo.view import View, frame, summary
from penstock.cli.failures import FAILED, Verbose, one_line_errors
from penstock.cli.java import check_java
from penstock.cli.session import DEMO, Local, local_spark
from penstock.errors import StreamFailed, UsageError, complaint, did_you_mean

EXAMPLE = "Example: penstock demo --for 20"
KINDS = ("windows", "overload")
SECONDS = 60
PER_BATCH = 20_000
POLL = 0.25
"""Seconds from one look at the stream to the next."""

GRACE = 60
"""Seconds longer that a slow machine is given to close its first window."""


def demo(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="[windows|overload]",
            help="Windows that are checked; or seven queries, and a burst to three times what "
            "this machine can take.",
            show_default="windows",
        ),
    ] = "windows",
    *,
    seconds: Annotated[
        int | None,
        typer.Option("--for", min=5, max=600, metavar="SECONDS", help="How long windows run: 60."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a report of the overload into this folder."),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(hidden=True, help="Where to draw the end of it.")
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Show windows over packets as they arrive, and check them; or show how an overload is met."""
    with one_line_errors(verbose=verbose):
        if kind not in KINDS:
            rule = "must be 'windows' or 'overload'"
            raise UsageError(complaint("demo", rule, kind, did_you_mean(kind, KINDS)))
        if kind == "overload" and seconds is not None:
            rule = "must be left out of demo overload"
            raise UsageError(complaint("--for", rule, seconds, "penstock demo windows has it"))
        if kind == "windows" and report is not None:
            rule = "must be left out of demo windows"
            raise UsageError(complaint("--report", rule, str(report)))
    if kind == "overload":
        show_overload(report, svg, verbose=verbose)
        return
    seconds = SECONDS if seconds is None else seconds
    with one_line_errors(verbose=verbose), View(Console(highlight=False)) as view:
        check_java()
        view.stage("starting Spark")
        with local_spark(DEMO, verbose=verbose) as local:
            packets = Packets(int(datetime.now(UTC).timestamp()) * SECOND, PER_BATCH)
            run, seen = _play(local, packets, seconds, view)
            view.stage("computing the same rows as a batch")
            comparison = compare(
                local.spark, packets, seen.batches, seen.delivered(), seen.accounts
            )
        view.end(summary(run, seen), comparison)
        if svg is not None:
            _draw(svg, run, seen, comparison)
        if not comparison.identical:
            raise typer.Exit(FAILED)


def _play(local: Local, packets: Packets, seconds: float, view: View) -> tuple[ps.Run, Seen]:
    """Runs the stream for that long after its first batch, which takes a while."""
    query = ask(packets.stream(local.spark))
    seen = Seen(seconds)
    view.stage("looking at the first rows")
    run = query.start(
        str(local.scratch / "checkpoint"),
        name="demo",
        foreach_batch=seen.keep,
        trigger={"processingTime": "1 second"},
    )
    with view.open():
        while seen.elapsed < seconds or (not seen.delivered() and seen.elapsed < seconds + GRACE):
            time.sleep(POLL)
            _look(run, seen)
            view.show(seen)
        seen.close()
        run.stop()
        for progress in run.progress:
            seen.note(progress)
        view.show(seen)
    return run, seen


def _look(run: ps.Run, seen: Seen) -> None:
    if not run.query.isActive:
        run.wait()  # raises what has happened
        raise StreamFailed("the stream of the demo has ended by itself")
    progress = report(run)
    if progress is not None:
        seen.note(progress)
    seen.tick()


def _draw(path: Path, run: ps.Run, seen: Seen, comparison: Comparison) -> None:
    paper = Console(record=True, width=100, file=io.StringIO(), force_terminal=True)
    paper.print(frame(seen))
    View(paper).end(summary(run, seen), comparison)
    path.write_text(paper.export_svg(title="penstock demo", unique_id="penstock-demo"))
