"""Seven queries, first as fast as this machine can, then with a burst to several times of that.

rows/s                     ┌───┐ BURST x capacity
                         ┌─┘   │
capacity ┈┈┈┈┈┈┈┈┈┈┈┈┈┈┌─┘┈┈┈┈┈│┈┈┈┈┈┈┈┈┈┈┈┈
CALM x   ──────────────┘       └────────────
         0           BEGIN   + LENGTH    SECONDS       it rises in STEPS, one each APART seconds
"""

from __future__ import annotations

import io
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
from penstock.cli.demo.arriving import FLOW, Flows
from penstock.cli.failures import FAILED, one_line_errors
from penstock.cli.java import check_java
from penstock.cli.run import played, reported
from penstock.cli.session import OVERLOAD, Local, local_spark
from penstock.cli.watch import Watched
from penstock.engine.toml_network import toml_network
from penstock.errors import StreamFailed
from penstock.network.config import Config, parse_config
from penstock.view.live import View
from penstock.view.scene import Scene
from penstock.view.summary import summary
from penstock.view.terminal import Moment, frame
from penstock.windows.durations import SECOND

FILE = "overload.toml"
CALM, BURST = 0.4, 3.0
"""The rate before and after the burst, and in it, in multiples of what was measured."""

BEGIN, LENGTH, SECONDS = 35, 45, 110
"""When the burst begins, how long it lasts, how long all of it does, in seconds."""

STEPS, APART = 5, 4
"""Nobody can drop rows of a batch that is running: one that comes all at once is late."""

MEASURED, DROPPING = 50, (18, 30)
"""Seconds for which it is measured what the machine can take, and from when to when of them rows
are dropped: so Java warms up, with dropping as well."""

WIDTH, HEIGHT = 110, 29
"""Of the picture: columns, lines."""

_FLOOD, _AT_ONCE = 8_000_000, 4_000_000  # rows a second that are offered, and of a batch at most
_KEEP = 0.3
_POLL = 0.5


def flows(capacity: float) -> Flows:
    """The packets of the demo.

    Args:
        capacity: rows in a second that this machine can take.
    """
    times = (BURST / CALM) ** (1 / STEPS)
    steps = [
        (float(BEGIN + APART * step), float(LENGTH - APART * step), times) for step in range(STEPS)
    ]
    return Flows(sources.packets(CALM * capacity / FLOW, burstiness=0.0, bursts=steps, seed=7))


def show_overload(report: Path | None, svg: Path | None = None, *, verbose: bool) -> None:
    """The demo of an overload; it fails if a row is not accounted for.

    Args:
        report: a folder for the report; None for none.
        svg: where to draw it; None for nowhere.
        verbose: whether the trace of an error is shown.
    """
    with one_line_errors(verbose=verbose), Remembering(Console(highlight=False)) as view:
        check_java()
        view.stage("starting Spark")
        with local_spark(OVERLOAD, verbose=verbose) as local:
            found = overload(local, view)
        reported(found, view, report)
        if svg is not None and view.burst is not None:
            draw(svg, view.burst, found.scene)
        if found.failure is not None:
            raise found.failure
    if summary(found.scene).balanced is False:
        raise typer.Exit(FAILED)


class Remembering(View):
    """Shows a run, and remembers how it looked in the last third of the burst, if it shed then."""

    burst: tuple[Scene, Moment] | None = None

    def show(self, scene: Scene, moment: Moment) -> None:
        """Shows the run as it is now."""
        late = BEGIN + 2 * LENGTH / 3 <= moment.elapsed < BEGIN + LENGTH
        if late and scene.now is not None and scene.now.phase == "shedding":
            self.burst = scene, moment
        super().show(scene, moment)


def draw(path: Path, then: tuple[Scene, Moment], scene: Scene) -> None:
    """Draws the run as it was at a moment, and the summary of all of it.

    Args:
        path: where to.
        then: as it was.
        scene: all of it.
    """
    paper = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    paper.print(frame(*then, width=WIDTH, height=HEIGHT))
    View(paper).end(summary(scene), {})
    path.write_text(paper.export_svg(title="penstock demo", unique_id="penstock-demo"))


def overload(local: Local, view: View) -> Watched:
    """Measures, and runs the network with a burst.

    Args:
        local: the session.
        view: where it is shown.
    """
    text = (files("penstock.cli.demo") / FILE).read_text(encoding="utf-8")
    config = parse_config(text, FILE)
    view.stage(f"measuring for {MEASURED} s what this machine can take")
    capacity = measured(local, config)
    view.say(
        f"this machine takes {capacity:,.0f} rows/s: {CALM:g} of it will come, "
        f"and from second {BEGIN} on {BURST:g} times of it for {LENGTH} s"
    )
    settings = replace(config.run, length=SECONDS * SECOND)
    return played(local, _Playing(replace(config, run=settings), None, flows(capacity)), view)


@dataclass(frozen=True, slots=True)
class _Playing(Asked):
    packets: Flows

    def load(self, kind: str, options: Mapping[str, Any]) -> sources.Source:
        """The packets, as the demo has them come."""
        del kind, options
        return self.packets


def measured(local: Local, config: Config) -> float:
    """Rows in a second that the network works off, if there is always more to do.

    Args:
        local: the session.
        config: the network.
    """
    flood = Flows(sources.packets(_FLOOD / FLOW, burstiness=0.0, most=_AT_ONCE // FLOW))
    made = toml_network(config, local.spark, lambda *_: flood)
    # With a target, though one that is never missed: so the code is that of the run to come, and it
    # is warm when that begins.
    run = made.network.start(str(local.scratch / "measured"), sinks=made.sinks, latency="1 hour")
    began = time.monotonic()
    while (passed := time.monotonic() - began) < MEASURED:
        for part in run.parts:
            assert part.shedder is not None  # noqa: S101 - all answers are approximate
            drops = DROPPING[0] <= passed < DROPPING[1]
            part.shedder.floor = part.shedder.ordering.by_hand(_KEEP if drops else 1.0, 0.0)
        if run.wait(_POLL):
            raise StreamFailed("the stream of the demo has ended by itself")
    run.stop()
    whole = [one for one in run.history if not one.shed]
    late = whole[len(whole) * 2 // 3 :]  # before, Java was not warm
    if not late:
        raise StreamFailed(f"the stream of the demo had no batch in {MEASURED} s")
    return sum(one.rows for one in late) / sum(one.seconds for one in late)
