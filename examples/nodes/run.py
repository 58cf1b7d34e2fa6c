"""Fig. 1 of the paper, on two Spark applications and a broker of its own, with one command.

    python examples/nodes/run.py [coordinator|peers|alone] [seconds]

It fetches Kafka by Maven the first time. For a quarter of the time few rows come, then more than
both nodes can take, and at the end few again; shown is what nodes and coordinator say,
what became of the rows, and the last answers. Ctrl-C ends it.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq

from penstock.bench.fig1 import INPUTS, OUTPUTS, Fig1
from penstock.bench.processes import Feed, Fleet, own_broker
from penstock.errors import PenstockError

FEW, MANY = 0.04, (0.25, 0.6)
"""Of the rate at which both nodes have too much to do; and when that comes, of the time."""


def main(mode: str = "coordinator", seconds: str = "150") -> None:
    """Runs it.

    Args:
        mode: who plans.
        seconds: how long rows come.
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
    shown = dict.fromkeys(names, 0)
    fleet.start(*names)
    fleet.running("A", "B")
    feed.start()
    began = time.monotonic()
    while (past := (time.monotonic() - began) / seconds) < 1:
        feed.rate = figure.rows * (1.0 if MANY[0] <= past < MANY[1] else FEW)
        fleet.wait(1)
        for one in names:
            said = fleet.said(one)
            print(said[shown[one] :], end="", flush=True)
            shown[one] = len(said)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except PenstockError as error:
        sys.exit(str(error))
