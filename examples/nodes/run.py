"""Fig. 1 of the paper, on two Spark applications and a broker of its own, with one command.

    python examples/nodes/run.py [coordinator|peers|alone] [seconds]

It fetches Kafka by Maven the first time, makes more rows than both nodes can take, and shows what
nodes and coordinator say, and what became of the rows. Ctrl-C ends it.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from penstock.bench.kafka.broker import Broker
from penstock.bench.kafka.jars import jars
from penstock.bench.pipeline import Feed, Fleet, make_topics, text

RATE, UNIT = 250, 4e-3
"""Rows per second of each input, and seconds that a row is believed to take."""


def main(mode: str = "coordinator", seconds: str = "120") -> None:
    """Runs it.

    Args:
        mode: who plans.
        seconds: how long rows come.
    """
    found = jars("broker")
    if isinstance(found, str):
        sys.exit(found)
    with tempfile.TemporaryDirectory(prefix="penstock-") as name:
        folder = Path(name)
        (folder / "kafka").mkdir()
        broker = Broker(found, folder / "kafka")
        broker.start()
        file = folder / "pipeline.toml"
        file.write_text(text(broker, folder, name="fig1", mode=mode, unit=UNIT, rate=RATE))
        print(file.read_text())
        make_topics(broker, "fig1")
        fleet, feed = Fleet(file, folder), Feed(broker, "fig1", RATE)
        names = ["A", "B", *(["coordinator"] if mode == "coordinator" else [])]
        shown = dict.fromkeys(names, 0)
        try:
            for one in names:
                fleet.start(one)
            fleet.running("A", "B")
            feed.start()
            until = time.monotonic() + float(seconds)
            while time.monotonic() < until:
                time.sleep(1)
                fleet.check()
                for one in names:
                    said = fleet.said(one)
                    print(said[shown[one] :], end="", flush=True)
                    shown[one] = len(said)
        except KeyboardInterrupt:
            print("stopped")
        finally:
            feed.stop()
            fleet.stop()
            for one in ("A", "B"):
                print(one, fleet.report(one).get("accounts"))
            broker.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
