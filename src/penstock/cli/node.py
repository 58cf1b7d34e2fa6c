"""`penstock node`: one node of a pipeline, as a Spark application of its own."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.asked import checkpoint_of, lasting, spark_settings, with_connector
from penstock.cli.failures import Verbose, one_line_errors
from penstock.cli.java import check_java
from penstock.cli.session import RUN, Size, running_spark
from penstock.cli.watch import interrupts
from penstock.engine.fleet.bus import BusDown
from penstock.engine.fleet.node import NodeRun
from penstock.engine.fleet.report import report as report_of
from penstock.errors import UsageError, complaint, did_you_mean
from penstock.fleet.pipeline import MODES, Pipeline, read_pipeline
from penstock.nodes import load_plans

EXAMPLE = "Example: penstock node examples/nodes/pipeline.toml --node A"

_TURN, _PAUSE, _REPORT = 0.25, 2.0, 1.0
"""Seconds from one look at the control topic to the next, until a broker is looked for again, and
from one report to the next."""


def node(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The pipeline.")],
    name: Annotated[str, typer.Option("--node", metavar="NAME", help="Which of its nodes.")],
    *,
    length: Annotated[
        str | None,
        typer.Option("--for", metavar="DURATION", help="How long it runs; else until Ctrl-C."),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where all nodes go on when they are started again."),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(metavar="|".join(MODES), help="Who plans, if not as the file says."),
    ] = None,
    plans: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Use these plans, of `penstock plan --advance`."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write accounts and more into this file, as JSON."),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Run one node of a pipeline: its share of the queries, and what it sheds for others."""
    with one_line_errors(verbose=verbose):
        pipeline = chosen(read_pipeline(file), mode)
        seconds = None if length is None else lasting("--for", length) / 1e6
        made = None if plans is None else load_plans(plans)
        spark = with_connector(spark_settings(pipeline.run, pipeline.file))
        kept = checkpoint or checkpoint_of(pipeline.run, pipeline.file)
        check_java()
        with running_spark(_size(pipeline, name), spark, verbose=verbose) as local:
            folder = kept or str(local.scratch / "checkpoint")
            run = NodeRun(pipeline, name, f"{folder}/{name}", os.environ, say(name), made)
            _watched(run, seconds, report)


def chosen(pipeline: Pipeline, mode: str | None) -> Pipeline:
    """The pipeline, planned by who is asked for.

    Args:
        pipeline: as its file says.
        mode: None for what the file says.
    """
    if mode is None:
        return pipeline
    if mode not in MODES:
        rule = f"must be one of {', '.join(MODES)}"
        raise UsageError(complaint("--mode", rule, mode, did_you_mean(mode, MODES)))
    return pipeline.planned_by(mode)


def say(name: str) -> Callable[[str], None]:
    """A log for all that a node, or the coordinator, has to say.

    Args:
        name: who speaks.
    """

    def line(text: str) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        print(f"{at} {name} {text}", file=sys.stderr, flush=True)

    return line


def _watched(run: NodeRun, seconds: float | None, report: Path | None) -> None:
    began = time.monotonic()
    try:
        with interrupts() as came:
            _started(run, came)
            written = 0.0
            while not came.wait(_TURN):
                run.turn()
                if report is not None and time.monotonic() - written >= _REPORT:
                    _write(report, run)
                    written = time.monotonic()
                if seconds is not None and time.monotonic() - began >= seconds:
                    break
    finally:
        run.stop_streams()
        if report is not None:
            _write(report, run)
        run.log(f"ended: {json.dumps(report_of(run)['accounts'])}")
        run.stop()


def _started(run: NodeRun, came: threading.Event) -> None:
    """Starts a node as soon as there is a broker."""
    while not came.is_set():
        try:
            run.start()
        except BusDown as error:
            run.log(f"waits: {error}")
            came.wait(_PAUSE)
        else:
            run.log("running")
            return


def _write(path: Path, run: NodeRun) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(report_of(run)), encoding="utf-8")
    part.replace(path)


def _size(pipeline: Pipeline, name: str) -> Size:
    nodes = len(pipeline.network.nodes)
    cores, memory = pipeline.size(name)
    return Size(share=RUN.share / nodes, most=memory or RUN.most, cores=cores)
