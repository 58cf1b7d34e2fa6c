"""Seven queries, first as fast as this machine can, then with a burst to several times of that.

rows/s                 ┌───────┐ BURST x capacity
                       │       │
capacity ┈┈┈┈┈┈┈┈┈┈┈┈┈┈│┈┈┈┈┈┈┈│┈┈┈┈┈┈┈┈┈┈┈┈
CALM x   ──────────────┘       └────────────
         0           BEGIN   + LENGTH    SECONDS
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from penstock import sources
from penstock.cli.asked import Asked
from penstock.cli.failures import FAILED, one_line_errors
from penstock.cli.java import check_java
from penstock.cli.run import played, reported
from penstock.cli.session import RUN, Local, local_spark
from penstock.cli.watch import Watched
from penstock.engine.toml_network import toml_network
from penstock.errors import StreamFailed
from penstock.network.config import Config, parse_config
from penstock.view.live import View
from penstock.view.summary import summary
from penstock.windows.durations import SECOND

FILE = "overload.toml"
CALM, BURST = 0.5, 3.0
"""The rate before and after the burst, and in it, in multiples of what was measured."""

BEGIN, LENGTH, SECONDS = 50, 30, 130
"""When the burst begins, how long it lasts, how long all of it does, in seconds."""

MEASURED = 30
"""Seconds for which it is measured what the machine can take."""

_FLOOD, _AT_ONCE = 800_000, 200_000  # rows a second that are offered, and of a batch at most
_POLL = 0.5


@dataclass(frozen=True, slots=True)
class Rates:
    """How the packets of the demo come.

    Args:
        capacity: rows in a second that this machine can take.
    """

    capacity: float

    def options(self) -> dict[str, Any]:
        """Of the source."""
        burst = (float(BEGIN), float(LENGTH), BURST / CALM)
        return {"rate": CALM * self.capacity, "bursts": [burst]}


def show_overload(report: Path | None, *, verbose: bool) -> None:
    """The demo of an overload; it fails if a row is not accounted for.

    Args:
        report: a folder for the report; None for none.
        verbose: whether the trace of an error is shown.
    """
    with one_line_errors(verbose=verbose), View(Console(highlight=False)) as view:
        check_java()
        view.stage("starting Spark")
        with local_spark(RUN, verbose=verbose) as local:
            found = overload(local, view)
        reported(found, view, report)
        if found.failure is not None:
            raise found.failure
    if summary(found.scene).balanced is False:
        raise typer.Exit(FAILED)


def overload(local: Local, view: View) -> Watched:
    """Measures, and runs the network with a burst.

    Args:
        local: the session.
        view: where it is shown.
    """
    text = (files("penstock.cli.demo") / FILE).read_text(encoding="utf-8")
    config = parse_config(text, FILE)
    view.stage(f"measuring for {MEASURED} s what this machine can take")
    rates = Rates(measured(local, config))
    view.say(
        f"this machine takes {rates.capacity:,.0f} rows/s: {CALM:g} of it will come, "
        f"and from second {BEGIN} on {BURST:g} times of it for {LENGTH} s"
    )
    settings = replace(config.run, length=SECONDS * SECOND)
    return played(local, _Playing(replace(config, run=settings), None, rates), view)


@dataclass(frozen=True, slots=True)
class _Playing(Asked):
    rates: Rates

    def load(self, kind: str, options: Mapping[str, Any]) -> sources.Source:
        """The packets, at the rates of the demo."""
        return sources.named(kind, {**options, **self.rates.options()})


def measured(local: Local, config: Config) -> float:
    """Rows in a second that the network works off, if there is always more to do.

    Args:
        local: the session.
        config: the network.
    """

    def flood(kind: str, options: Mapping[str, Any]) -> sources.Source:
        return sources.named(kind, {**options, "rate": _FLOOD, "most": _AT_ONCE})

    made = toml_network(config, local.spark, flood)
    run = made.network.start(str(local.scratch / "measured"), sinks=made.sinks, mode="off")
    until = time.monotonic() + MEASURED
    while time.monotonic() < until:
        if run.wait(_POLL):
            raise StreamFailed("the stream of the demo has ended by itself")
    run.stop()
    # The first half is left out: Java has to warm up.
    late = run.history[len(run.history) // 2 :]
    if not late:
        raise StreamFailed(f"the stream of the demo had no batch in {MEASURED} s")
    return sum(one.rows for one in late) / sum(one.seconds for one in late)
