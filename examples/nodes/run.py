"""Fig. 1 of the paper, on two Spark applications and a broker of its own, with one command.

    python examples/nodes/run.py [coordinator|peers|alone] [seconds]

It fetches Kafka by Maven the first time. Few rows come until it is known how many, then more than
both nodes can take until a plan is in force for a while, and few again until it is lifted; shown is
what nodes and coordinator say, what became of the rows, and the last answers. A machine that is
slow takes longer, up to three times the seconds that are given. Nodes that plan alone say nothing
of this: they go by the time. Ctrl-C ends it.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from penstock.bench.fig1 import INPUTS, OUTPUTS, Fig1
from penstock.bench.processes import Feed, Fleet, own_broker
from penstock.errors import PenstockError

FEW, MANY = 0.04, (0.25, 0.6)
"""Of the rate at which both nodes have too much to do; and when that comes, of the time, where
nobody says what the phase is."""

STAYS, LATEST = 15.0, 3.0
"""Seconds that a plan is in force before few rows come again; and times the seconds that are given,
after which it ends whatever has been reached."""


@dataclass
class Course:
    """How many rows come: few, too many, and few again, as nodes and coordinator get on.

    Args:
        speaker: whose phases count: the coordinator, or node A among peers; "" if nobody plans.
        seconds: how long it takes if nobody plans.
    """

    speaker: str
    seconds: float
    _stage: int = field(default=0, init=False)
    _in_force: float | None = field(default=None, init=False)

    def share(self, past: float, report: Mapping[str, Any], said: str) -> float | None:
        """Of the rate at which nodes have too much to do, what is to come now; None at the end.

        Args:
            past: seconds since the start.
            report: the last one of node A.
            said: all that the speaker has said.
        """
        if past >= self.seconds * (LATEST if self.speaker else 1):
            return None
        if not self.speaker:
            return 1.0 if MANY[0] <= past / self.seconds < MANY[1] else FEW
        phases = re.findall(rf" {self.speaker} (in force|lifted):", said)
        if self._stage == 0:
            known = [name for name, rate in report.get("rates", {}).items() if rate]
            self._stage = int(set(INPUTS) <= set(known))
        elif self._stage == 1:
            if self._in_force is None and "in force" in phases:
                self._in_force = past
            since = past if self._in_force is None else self._in_force
            # A plan counts from the next batch on, and that takes as long as it takes.
            shed = [rows["shed"] for rows in report.get("accounts", {}).values()]
            if past - since >= STAYS and min(shed, default=0) > 0:
                self._stage = 2
        elif phases[-1:] == ["lifted"]:
            return None
        return 1.0 if self._stage == 1 else FEW


def main(mode: str = "coordinator", seconds: str = "150") -> None:
    """Runs it.

    Args:
        mode: who plans.
        seconds: how long rows come, about.
    """
    with (
        tempfile.TemporaryDirectory(prefix="penstock-") as name,
        own_broker(Path(name) / "kafka") as broker,
    ):
        folder = Path(name)
        figure = Fig1(broker.servers, folder, "fig1", mode=mode)
        file = folder / "fig1.toml"
        file.write_text(figure.text)
        print(figure.text)
        topics = [broker.topic(1, f"fig1.{one}") for one in INPUTS]
        fleet, feed = Fleet(file, folder), Feed(broker.servers, topics, FEW * figure.rows)
        try:
            run(fleet, feed, figure, float(seconds))
        except KeyboardInterrupt:
            print("stopped")
        finally:
            feed.stop()
            fleet.stop()
        for node in ("A", "B"):
            for box, rows in fleet.report(node).get("accounts", {}).items():
                print(f"{node} {box}: {rows}")
        for output in OUTPUTS:
            answers = pq.read_table(folder / output).to_pylist()
            print(f"{output}: {len(answers)} answers, such as {answers[-1:]}")


def run(fleet: Fleet, feed: Feed, figure: Fig1, seconds: float) -> None:
    """Few rows, too many, and few again.

    Args:
        fleet: the processes.
        feed: the rows.
        figure: the pipeline.
        seconds: how long.
    """
    names = ["A", "B", *(["coordinator"] if figure.mode == "coordinator" else [])]
    speaker = {"coordinator": "coordinator", "peers": "A"}.get(figure.mode, "")
    shown = dict.fromkeys(names, 0)
    fleet.start(*names)
    fleet.running("A", "B", seconds=LATEST * seconds)
    feed.start()
    course, began = Course(speaker, seconds), time.monotonic()
    while True:
        said = {one: fleet.said(one) for one in names}
        for one in names:
            print(said[one][shown[one] :], end="", flush=True)
            shown[one] = len(said[one])
        past = time.monotonic() - began
        share = course.share(past, fleet.report("A"), said.get(speaker, ""))
        if share is None:
            return
        feed.rate = share * figure.rows
        fleet.wait(1)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except PenstockError as error:
        sys.exit(str(error))
