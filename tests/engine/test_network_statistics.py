"""What a running network says of its operators, streams and queries is what happened."""

from __future__ import annotations

import math
import statistics as naive
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.control.observation import Observation
from penstock.control.snapshot import OperatorStatistics, Snapshot
from penstock.engine import measure
from tests.engine.streams import SECOND, START, Files, instant
from tests.engine.test_network_answers import PACKETS, packets


def test_the_statistics_of_a_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "EVERY", 0.0)
    made = packets(4000, 5, late=False)
    for i, row in enumerate(made):
        row["ts"] = START + i * 20_000 + i % 7
    files = Files(spark, tmp_path, PACKETS)
    for i in range(0, len(made), 1000):
        files.add(made[i : i + 1000])
    packet = ps.stream(files.stream(), event_time="ts", name="packets")
    tcp = packet.where("protocol = 'TCP'")
    web = tcp.where("port = 80")
    asked = {
        "bytes": tcp.window("10 s", every="5 s").agg(bytes=ps.sum("size")),
        "hosts": web.window("10 s").by("host").agg(n=ps.count(), bytes=ps.sum("size")),
    }
    run = ps.Network(**asked).start(
        str(tmp_path / "run"),
        sink=lambda batch, _: batch.collect() and None,
        trigger={"availableNow": True},
    )
    run.wait()
    (known,) = run.statistics().parts

    # The last batch is learnt from when the next one has ended.
    assert known.batches == 3
    assert known.streams["packets"].rows == 3000
    share = sum(r["protocol"] == "TCP" for r in made) / len(made)
    first = known.operators["filter 1"]
    assert first.rows_in == 3000
    assert first.selectivity == pytest.approx(share, abs=0.1)  # of a sample of one in 64
    both = sum(r["protocol"] == "TCP" and r["port"] == 80 for r in made) / len(made)
    second = known.operators["filter 2"]
    assert second.rows_in == pytest.approx(first.rows_out)
    assert second.selectivity == pytest.approx(both / share, abs=0.15)

    sizes = [r["size"] for r in made if r["protocol"] == "TCP"]
    query = known.queries["bytes"]
    assert query.mean is not None
    assert query.deviation is not None
    assert query.mean == pytest.approx(naive.mean(sizes), rel=0.05)
    assert query.deviation == pytest.approx(naive.pstdev(sizes), rel=0.05)
    assert query.rows_per_window == pytest.approx(500 * share, rel=0.1)
    assert set(known.groups["hosts"]) <= {(r["host"],) for r in made}
    assert known.groups["hosts"]
    assert math.isfinite(known.worst["hosts"].hardness)
    shown = str(run.statistics())
    for name in ("packets", "filter 1", "bytes", "hosts"):
        assert name in shown
    assert {row["of"] for row in run.statistics().table()} == {"stream", "operator", "query"}


def test_accounts_add_up(spark: SparkSession, tmp_path: Path) -> None:
    """Rows in = rows that count + late + without a time, for each query."""
    made = packets(1500, 9, late=True)
    for row in made[1400:1420]:
        row["ts"] = START + 5 * SECOND  # its window was closed by the first batch
    files = Files(spark, tmp_path, PACKETS)
    for i in range(0, len(made), 500):
        files.add(made[i : i + 500])
    # A last row, far ahead, moves the watermark past all others.
    files.add([{**made[0], "ts": START + 9_000 * SECOND, "protocol": "TCP"}])
    files.add([{**made[0], "ts": START + 9_001 * SECOND, "protocol": "TCP"}])
    packet = ps.stream(files.stream(), event_time="ts")
    tumbling = packet.where("protocol = 'TCP'").window("10 s").agg(n=ps.count())
    counted: list[int] = []

    def sink(batch: DataFrame, _: int) -> None:
        counted.extend(row["n"] for row in batch.collect())

    run = ps.Network(n=tumbling).start(
        str(tmp_path / "run"), sink=sink, trigger={"availableNow": True}
    )
    run.wait()
    told = run.accounts["n"]
    rows = sum(r["protocol"] == "TCP" for r in made)  # the window of the last two is open
    assert told["rows"] == rows
    assert told["no_time"] > 0
    assert told["late_lost"] > 0
    assert sum(counted) == rows - told["no_time"] - told["late_lost"] - told["in_no_window"]


ROWS, MOST = 900, 300


@dataclass(frozen=True)
class Played:
    """What a run has told of itself, and when the windows ended that a query has delivered."""

    observations: list[Observation]
    known: Snapshot
    largest: list[datetime]

    @property
    def told(self) -> Mapping[str, OperatorStatistics]:
        return self.known.operators


@pytest.fixture(scope="module")
def played(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A network with operators on windows, over a recording that is read in parts."""
    made = [{"ts": instant(START + i * 100_000), "size": i % 10} for i in range(ROWS)]
    source = ps.sources.replay(made, speed=None, most=MOST)
    packet = ps.stream(source, event_time="ts", name="packets")
    each = packet.where("size > 4").window("5 s").by("size").agg(n=ps.count())
    large = each.results().where("size > 6")
    largest: list[datetime] = []

    def keep(batch: DataFrame, _: int) -> None:
        largest.extend(r["window_end"] for r in batch.where("query = 'largest'").collect())

    network = ps.Network(
        large=large.window("10 s").agg(n=ps.count()), largest=large.where("size = 9")
    )
    run = network.start(
        str(tmp_path_factory.mktemp("played")), sink=keep, trigger={"availableNow": True}
    )
    run.wait()
    (measure,) = (part.measure for part in run.parts)
    assert measure is not None
    return Played(list(measure.observations), run.statistics().parts[0], largest)


def test_operators_on_windows_are_counted(played: Played) -> None:
    # Two of three batches are learnt from. The second has closed the windows in the 30 s of the
    # first, but for the last of them; each has the sizes 5 to 9.
    closed = MOST // 50 - 1
    assert {name: (one.rows_in, one.rows_out) for name, one in played.told.items()} == {
        "packets": (2 * MOST, 2 * MOST),
        "filter 1": (2 * MOST, pytest.approx(MOST, rel=0.5)),  # of a sample
        "aggregate 1": (pytest.approx(MOST, rel=0.5), 5 * closed),
        "filter 2": (5 * closed, 3 * closed),
        "filter 3": (3 * closed, closed),
        "large": (3 * closed, 0),  # nothing stands on it
    }
    assert len(set(played.largest)) == len(played.largest) >= closed


def test_a_recording_tells_how_many_rows_wait(played: Played) -> None:
    waited = [observation.backlog["packets"] for observation in played.observations]
    assert waited == [ROWS - MOST, ROWS - 2 * MOST]
    assert played.known.streams["packets"].backlog == ROWS - 2 * MOST
