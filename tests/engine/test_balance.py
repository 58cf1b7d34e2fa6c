"""What the accounts say was taken is what panes have counted, which know nothing of the accounts.

    taken = rows in windows + late ones + those without a time

`taken` is what came less what was dropped; the right side is summed from the panes of the query.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

import penstock as ps
from penstock.engine.shedder import LARGE
from tests.engine.streams import SECOND, START, Files
from tests.engine.test_shedding import PACKETS, balanced, delivered, start

BATCHES, EVERY = 5, 30 * SECOND
"""Batches with rows, and how long each of them lasts."""


def batch_of(number: int, rows: int, of: random.Random) -> list[dict]:
    """Some rows have no time, and some are so late that their windows are closed."""
    made = []
    for i in range(rows):
        at: int | None = START + number * EVERY + i * EVERY // rows
        chance = of.random()
        if chance < 0.02:
            at = None
        elif chance < 0.08:
            at = START + number * EVERY - of.randrange(90) * SECOND
        host = of.choice("aaab")
        made.append({"ts": at, "host": host, "size": i % 90, "number": number * rows + i})
    return made


@pytest.mark.parametrize("rows", [500, LARGE + 200])
def test_what_was_taken_is_what_panes_have_counted(
    spark: SparkSession, tmp_path: Path, rows: int
) -> None:
    files, of = Files(spark, tmp_path / "in", PACKETS), random.Random(5)
    made = [batch_of(number, rows, of) for number in range(BATCHES)]
    # One that is much later closes all windows but its own.
    end = START + (BATCHES + 20) * EVERY
    made.append([{"ts": end, "host": "end", "size": 0, "number": 10**9}])
    for some in made:
        files.add(some)
    packet = ps.stream(files.stream(), event_time="ts", slack="5 s", identity="number")
    asked = {
        "sampled": packet.window("10 s").by("host").agg(packets=ps.count()).approximate(),
        "some": packet.window("5 s").agg(n=ps.count()).subset(max_gap=3),
    }
    found: dict[str, dict[int, list[Row]]] = {}
    run = start(asked, tmp_path / "run", found, keep=0.4, drop=0.8)
    run.wait()
    balanced(run, asked)
    books = run.parts[0].shed_accounts()
    assert books is not None
    for name in asked:
        told = run.accounts[name]
        taken = sum(mine["taken"] for batch, mine in books.of(name).items() if batch < BATCHES)
        shed = told["shed_at_stream"] + told["shed_on_the_way"]
        assert 0.2 * BATCHES * rows < shed < 0.9 * BATCHES * rows
        assert min(told["late_lost"], told["no_time"]) > 0
        assert told["rows"] == taken
        nowhere = told["late_lost"] + told["no_time"] + told["in_no_window"]
        if name == "sampled":
            shown = sum(row["sample"] for row in delivered(found[name]))
            assert shown + nowhere == taken
    # Of a window that is given up, rows without a time are none.
    without = sum(row["ts"] is None for some in made for row in some)
    assert run.accounts["some"]["no_time"] == without
