"""`penstock coordinate`: hears the nodes of a pipeline, and hands out plans. Starts no Spark."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.asked import lasting
from penstock.cli.failures import Verbose, one_line_errors
from penstock.cli.node import say
from penstock.cli.watch import interrupts
from penstock.engine.fleet.bus import Bus, BusDown
from penstock.engine.fleet.node import with_variables
from penstock.errors import UsageError, complaint
from penstock.fleet.coordinator import Coordinator
from penstock.fleet.pipeline import Pipeline, read_pipeline

EXAMPLE = "Example: penstock coordinate examples/nodes/pipeline.toml"

_TURN = 0.25
"""Seconds from one look at the control topic to the next."""


def coordinate(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The pipeline.")],
    *,
    length: Annotated[
        str | None,
        typer.Option("--for", metavar="DURATION", help="How long it runs; else until Ctrl-C."),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Plan for the nodes of a pipeline: it may be stopped, and started again, at any time."""
    with one_line_errors(verbose=verbose):
        pipeline = with_variables(read_pipeline(file), os.environ)
        if pipeline.control.mode != "coordinator":
            rule = "must have mode = 'coordinator' in its table [control]"
            raise UsageError(complaint(str(file), rule, pipeline.control.mode))
        seconds = None if length is None else lasting("--for", length) / 1e6
        _coordinated(pipeline, seconds)


def _coordinated(pipeline: Pipeline, seconds: float | None) -> None:
    log = say("coordinator")
    name, period = pipeline.control.name, pipeline.period
    coordinator = Coordinator(pipeline.network, name, period, time.time, log)
    bus = Bus(pipeline.control)
    began, created = time.monotonic(), False
    with interrupts() as came:
        while not came.wait(_TURN):
            try:
                if not created:
                    bus.create([pipeline.control.topic])
                    created = True
                for data in bus.poll():
                    coordinator.hear(data)
                bus.send(coordinator.tick())
            except BusDown as error:
                log(f"waits: {error}")
            while coordinator.mailbox.reports:
                log(coordinator.mailbox.reports.popleft())
            if seconds is not None and time.monotonic() - began >= seconds:
                break
    bus.close()
