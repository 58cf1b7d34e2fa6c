"""The ledger of a run: every window of every query, next to the answers too.

What Spark told nobody, because the driver died, is made up for.
"""

from __future__ import annotations

import json
import time
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.testing import assertDataFrameEqual

import penstock as ps
from penstock.drops.decisions import Decisions, Run
from penstock.drops.targets import Target
from penstock.engine.files import Folder
from penstock.engine.ledger import Ledger
from penstock.engine.ledger_beside import Beside
from penstock.engine.shed_record import Record
from penstock.engine.shedder import Shedder
from penstock.network.operators import Aggregate, Handle, Source
from penstock.network.query import Query
from penstock.windows import tumbling
from tests.engine.streams import SECOND, START, Files
from tests.engine.test_shedding import PACKETS, stream


def shedder(checkpoint: Path) -> Shedder:
    """Of one query with windows of 10 s; window 2 is dropped, and batch N has closed window N."""
    window = tumbling("10 s", on="ts")
    source = Source("s", "ts", 0, "generous", None, (), (), Handle(None))
    node = Aggregate(source, Query(window, (), {"n": ps.count()}))
    part = SimpleNamespace(
        graph=SimpleNamespace(queries={"n": node}),
        shared=SimpleNamespace(number={node: 1}),
        kinds_of_rows={node: "subset"},
    )
    for folder in ("offsets", "commits"):
        (checkpoint / folder).mkdir(parents=True)
    for batch in range(6):
        mark = json.dumps({"batchWatermarkMs": (batch + 1) * 10_000})
        (checkpoint / "offsets" / str(batch)).write_text(f"v1\n{mark}\n")
        if batch < 5:
            (checkpoint / "commits" / str(batch)).write_text("v1")
    made = SimpleNamespace(
        checkpoint=str(checkpoint),
        problems=[],
        part=part,
        targets={"n": Target("n", window, 2)},
        skippable={"n": Target("n", window, 2)},
        record_of=lambda _: Record(Decisions(dropped={"n": (Run(2, 2, by=1),)})),
    )
    return cast("Shedder", made)


TOOK = {"addBatch": 1}


def report(batch: int) -> dict[str, Any]:
    window = {"a": 1, "end": (batch + 1) * 10 * SECOND}
    return {"batchId": batch, "durationMs": TOOK, **told({"delivered": [window]})}


def told(windows: dict[str, Any]) -> dict[str, Any]:
    return {"observedMetrics": {"m_windows": windows}}


def test_batches_that_were_committed_and_not_told_of_are_made_up_for(tmp_path: Path) -> None:
    of = shedder(tmp_path)
    first = Ledger(of, "m")
    first.take([report(1)])
    # Here the driver dies, and of batches 2 and 3 nothing is heard.
    then = Ledger(of, "m")
    then.take([report(4)])
    fates = {row["batch"]: row["fate"] for row in then.rows()}
    assert fates == {1: "delivered", 2: "dropped", 3: "kept", 4: "delivered"}
    # The next one makes up for nothing that is there.
    Ledger(of, "m").take([report(5)])
    assert {row["batch"]: row["fate"] for row in then.rows()} == fates | {5: "delivered"}


def test_a_stream_that_waits_for_rows_tells_of_no_batch(tmp_path: Path) -> None:
    """What it says then has the number of the next batch."""
    ledger = Ledger(shedder(tmp_path), "m")
    ledger.take([report(1)])
    ledger.take([{"batchId": 4, "durationMs": {"latestOffset": 2}, "observedMetrics": {}}])
    ledger.take([report(4)])
    assert {row["batch"]: row["fate"] for row in ledger.rows()}[4] == "delivered"


def beside(folder: Path) -> dict[int, str]:
    """Batch → the fate of its window, as the ledger next to the answers has it."""
    files = (folder / "_ledger").iterdir()
    rows = [json.loads(line) for one in files for line in one.read_text().splitlines()]
    assert len({row["batch"] for row in rows}) == len(rows)
    return {row["batch"]: row["fate"] for row in rows}


def test_next_to_the_answers_it_is_whole_whenever_a_driver_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of, answers = shedder(tmp_path / "checkpoint"), tmp_path / "answers"
    copies = Beside.of(0, ["n"], ps.sinks.parquet(str(answers)), {})
    Ledger(of, "m", copies).take([report(1)])
    write = Folder.write

    def dies(folder: Folder, name: str, content: bytes) -> None:
        if name == "2":
            raise KeyboardInterrupt
        write(folder, name, content)

    with monkeypatch.context() as patched:
        patched.setattr(Folder, "write", dies)
        with pytest.raises(KeyboardInterrupt):
            Ledger(of, "m", copies).take([report(2)])
    then = Ledger(of, "m", copies)
    then.take([report(4)])
    fates = {row["batch"]: row["fate"] for row in then.rows()}
    assert beside(answers) == fates == {1: "delivered", 2: "dropped", 3: "kept", 4: "delivered"}


def test_a_folder_that_cannot_be_written_to_is_told_of_once(tmp_path: Path) -> None:
    of = shedder(tmp_path / "checkpoint")
    (tmp_path / "answers").write_text("no folder")
    ledger = Ledger(of, "m", Beside.of(0, ["n"], ps.sinks.parquet(str(tmp_path / "answers")), {}))
    ledger.take([report(1), report(2)])
    (said,) = of.problems
    assert "cannot be written" in said
    assert len(ledger.rows()) == 2


def test_a_window_whose_record_is_lost_is_lost_unless_it_was_delivered(tmp_path: Path) -> None:
    of = shedder(tmp_path)
    cast("Any", of).record_of = lambda batch: None if batch < 3 else Record(lost=1)
    nothing = {"durationMs": TOOK, **told({"delivered": []})}
    ledger = Ledger(of, "m")
    ledger.take([report(1), {"batchId": 2, **nothing}, {"batchId": 3, **nothing}])
    assert [row["fate"] for row in ledger.rows()] == ["delivered", "lost", "lost"]


def test_every_window_of_every_query_is_in_it_and_next_to_its_answers(
    spark: SparkSession, tmp_path: Path
) -> None:
    packet = ps.stream(
        stream(spark, tmp_path / "in"), event_time="ts", identity="number", name="packets"
    )
    rare = packet.where("number % 200 = 7").window("5 s")
    asked = {
        "some": packet.window("5 s").agg(n=ps.count()).subset(2),
        "whole": packet.window("10 s").agg(b=ps.sum("size")),
        "rare": rare.agg(m=ps.avg("size")).approximate(),
        "mine": packet.window("10 s").agg(b=ps.max("size")).subset(3),
    }
    answers, others = str(tmp_path / "answers"), str(tmp_path / "others")
    run = ps.Network(**asked).start(
        str(tmp_path / "checkpoint"),
        sink=ps.sinks.parquet(answers, partition_by="query"),
        sinks={"rare": ps.sinks.parquet(others), "mine": lambda *_: None},
        trigger={"availableNow": True},
        drop=0.6,
        keep=0.3,
    )
    run.wait()
    entered = run.ledger().persist()
    fates: dict[str, dict[datetime, str]] = {name: {} for name in asked}
    for row in entered.collect():
        assert row["window_end"] not in fates[row["query"]]
        fates[row["query"]][row["window_end"]] = row["fate"]
    delivered = {
        name: {row["window_end"] for row in spark.read.parquet(path).where(which).collect()}
        for name, path, which in (
            ("some", answers, "query = 'some'"),
            ("whole", answers, "query = 'whole'"),
            ("rare", others, "true"),
        )
    }
    for name, ends in delivered.items():
        assert {end for end, fate in fates[name].items() if fate == "delivered"} == ends, name
        step = {b - a for a, b in pairwise(sorted(fates[name]))}
        assert len(step) == 1, name  # none is left out
    assert set(fates["whole"].values()) == {"delivered"}
    assert {"delivered", "dropped"} <= set(fates["some"].values())
    assert set(fates["rare"].values()) == {"delivered", "unseen"}
    for path, names in ((answers, ["some", "whole"]), (others, ["rare"])):
        copy = spark.read.json(f"{path}/_ledger").selectExpr(
            "query",
            "CAST(window_start AS timestamp) AS window_start",
            "CAST(window_end AS timestamp) AS window_end",
            "fate",
            "CAST(decision AS bigint) AS decision",
            "batch",
        )
        mine = entered.where(F.col("query").isin(names))
        assertDataFrameEqual(copy, mine)
        # Who reads the answers does not see it.
        assert "fate" not in pq.read_table(path).column_names
        assert "fate" not in spark.read.parquet(path).columns
        assert pq.read_table(path).num_rows == spark.read.parquet(path).count()


def test_a_window_that_is_given_up_when_it_is_open_and_one_without_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Batches of 10 s, windows of 20 s; from batch 2 on, as many are dropped as may be.

    batches        | 0  | 1  | 2  | 3  | …
    some      |---------|---------|         it is known of rows up to 10 s when batch 2 is decided:
              0         20        40        the first window is open, and has lost no row yet
    """
    files = Files(spark, tmp_path / "in", PACKETS)
    begin = START - START % (20 * SECOND)
    for batch in range(8):
        times = range(batch * 10, batch * 10 + 10)
        hosts = {t: "b" if t in (3, 65) else "a" for t in times}
        files.add(
            [
                {"ts": begin + t * SECOND, "host": host, "size": 1, "number": t}
                for t, host in hosts.items()
            ]
        )
    packet = ps.stream(files.stream(), event_time="ts", identity="number", name="packets")
    asked = {
        "some": packet.window("20 s").agg(n=ps.count()).subset(1),
        "rare": packet.where("host = 'b'").window("20 s").agg(b=ps.max("size")).subset(1),
    }
    running: list[ps.NetworkRun] = []
    shown = set[int]()

    def sink(rows: DataFrame, number: int) -> None:
        for row in rows.collect():
            if row["query"] == "some":
                shown.add(round(row["window_end"].timestamp()) - begin // SECOND)
        while not running:
            time.sleep(0.01)
        running[0].shed(drop={"some": 0.0 if number < 1 else 1.0, "rare": 0.0})

    run = ps.Network(**asked).start(
        str(tmp_path / "run"), sink=sink, trigger={"availableNow": True}
    )
    running.append(run)
    run.wait()
    fates: dict[str, dict[int, tuple[str, int | None]]] = {name: {} for name in asked}
    for row in run.ledger().collect():
        end = round(row["window_end"].timestamp()) - begin // SECOND
        fates[row["query"]][end] = row["fate"], row["decision"]
    assert fates["rare"] == {
        20: ("delivered", None),
        40: ("empty", None),
        60: ("empty", None),
    }
    assert fates["some"][20] == ("revoked", 2)
    assert {end for end, (fate, _) in fates["some"].items() if fate == "delivered"} == shown
