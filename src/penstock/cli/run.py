"""`penstock run`: a network of a file as a stream, watched while it runs, reported when it ends."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from penstock.cli.asked import Asked, asked
from penstock.cli.failures import Verbose, one_line_errors
from penstock.cli.java import check_java
from penstock.cli.live_page import PageOf, no_page
from penstock.cli.session import RUN, Local, running_spark
from penstock.cli.watch import Watched, watched
from penstock.engine.toml_network import toml_network
from penstock.view.live import View
from penstock.view.report import write_report
from penstock.view.report.write import writable
from penstock.view.summary import summary

EXAMPLE = "Example: penstock run examples/packets.toml --for 60s --mode monitor --report report"


def run(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The network.")],
    *,
    length: Annotated[
        str | None,
        typer.Option("--for", metavar="DURATION", help="How long it runs; else until Ctrl-C."),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            metavar="on|monitor|off",
            help="Drop rows if there are too many; say only what would be dropped; do neither.",
        ),
    ] = None,
    latency: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="How long after a row arrives it is answered."),
    ] = None,
    speed: Annotated[
        float | None,
        typer.Option(metavar="N", help="Play recordings and made-up packets so many times faster."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a report of the run into this folder."),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where it goes on when it is started again."),
    ] = None,
    dashboard: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            help="Serve the live page, and /metrics, on this port; 0 for any that is free.",
            min=0,
            max=65535,
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="HOST", help="Of the live page; other than this machine only with a token."
        ),
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(envvar="PENSTOCK_TOKEN", help="What a browser has to know for the page."),
    ] = None,
    changes: Annotated[
        bool, typer.Option("--changes", help="The page may change the mode; needs a token.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON; all else goes to stderr.")
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Run a network, and show how it does. Ctrl-C ends it; the report is written all the same."""
    with one_line_errors(verbose=verbose), ExitStack() as at_end:
        wanted = asked(
            file, length=length, mode=mode, latency=latency, speed=speed, checkpoint=checkpoint
        )
        if dashboard is None:
            no_page(context)
        spark, _ = wanted.spark, wanted.checkpoint  # variables that are not set are told first
        if report is not None:
            writable(report)
        check_java()
        if as_json:  # a sink may print
            at_end.enter_context(redirect_stdout(sys.stderr))
        view = at_end.enter_context(View(Console(highlight=False, stderr=as_json)))
        view.stage("starting Spark")
        page = None if dashboard is None else PageOf(dashboard, host, token, changes=changes)
        if page is not None:
            page.check()
        with running_spark(RUN, spark, verbose=verbose) as local:
            found = played(local, wanted, view, page)
        reported(found, view, report)
    if as_json:
        print(json.dumps(_values(found, report), indent=2))
    with one_line_errors(verbose=verbose):
        if found.failure is not None:
            raise found.failure


def played(local: Local, wanted: Asked, view: View, page: PageOf | None = None) -> Watched:
    """Starts the network of a file, and shows it until it is over.

    Args:
        local: the session.
        wanted: what is asked for.
        view: where it is shown.
        page: the live page; None for none.
    """
    view.stage("looking at the streams")
    made = toml_network(wanted.config, local.spark, wanted.load)
    settings = wanted.config.run
    running = made.network.start(
        wanted.checkpoint or str(local.scratch / "checkpoint"),
        sink=made.sink,
        sinks=made.sinks,
        trigger=wanted.trigger,
        mode=settings.mode,
        latency=wanted.latency,
        max_error=settings.max_error,
        max_loss=settings.max_loss,
        wins=settings.wins,
    )
    view.stage("waiting for the first batch")
    running = replace(running, title=wanted.config.file)
    if page is None:
        return watched(running, view, wanted.seconds)
    with page.served(running) as address:
        view.stage(f"live page: {address}")
        shown = replace(running, title=f"{running.title}  {address}")
        found = watched(shown, view, wanted.seconds)
    # The page is gone: neither the summary nor a report has its address.
    return replace(found, scene=replace(found.scene, title=running.title))


def reported(found: Watched, view: View, report: Path | None) -> None:
    """Shows the summary of a run, and writes its report.

    Args:
        found: the run.
        view: where it is shown.
        report: a folder; None for no report.
    """
    more: dict[str, str] = {"ended": found.ended}
    if report is not None:
        missing = write_report(report, found.scene)
        more["report"] = str(report / "report.html") + (f"; {missing}" if missing else "")
    view.end(summary(found.scene), more)


def _values(found: Watched, report: Path | None) -> dict[str, object]:
    failure = None if found.failure is None else str(found.failure)
    where = None if report is None else str(report)
    more = {"ended": found.ended, "failure": failure, "report": where}
    return {**summary(found.scene).to_json(), **more}
