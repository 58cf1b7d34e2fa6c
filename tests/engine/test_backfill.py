"""What a stream has left out is computed from its stored rows, exactly, and lands once."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from threading import Event

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.drops.ledger import interpolate
from penstock.engine.backfill import Backfill
from penstock.engine.backfill_log import Log, Revision
from penstock.engine.part import Part
from penstock.engine.shedder import Shedder
from penstock.engine.stored import Tables
from penstock.errors import PenstockError
from penstock.network.operators import Handle
from penstock.sources.kafka import AHEAD
from penstock.sources.retention import Held
from tests.engine.streams import SECOND, START, Files
from tests.engine.streams import instant as instant_of
from tests.engine.test_shedding import balanced

PACKETS = pa.schema(
    [
        ("ts", pa.timestamp("us", tz="UTC")),
        ("host", pa.string()),
        ("size", pa.int64()),
        ("number", pa.int64()),
    ]
)
BATCHES, ROWS = 5, 200


def instant(micros: int) -> datetime:
    found = instant_of(micros)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Packets in 5 files of 20 s, some of them late."""
    of, files = random.Random(5), Files(spark, tmp_path_factory.mktemp("packets"), PACKETS)
    made = []
    for i in range(BATCHES * ROWS):
        late = of.randrange(12) if of.random() < 0.05 else 0
        at = START + i * 100_000 - late * SECOND
        made.append({"ts": at, "host": of.choice("aab"), "size": i % 97, "number": i})
    for i in range(0, len(made), ROWS):
        files.add(made[i : i + ROWS])
    return str(files.folder / "source")


def queries(rows: DataFrame | ps.sources.Source) -> dict[str, ps.WindowQuery]:
    packets = ps.stream(rows, "ts", slack="2 s", name="packets")
    by_host = packets.window("5 s").by("host").agg(n=ps.count())
    large = packets.where("size > 40")
    return {
        "large": large.window("10 s", every="5 s").by("host").agg(b=ps.sum("size")).subset(3),
        "top": by_host.results().window("20 s", every="10 s").agg(top=ps.max("n")).subset(2),
        "sampled": large.window("10 s").by("host").agg(b=ps.sum("size")).approximate(),
    }


JUMP = START + 70 * SECOND
COLUMNS = {
    "large": ("window_start", "window_end", "host", "b"),
    "top": ("window_start", "window_end", "top"),
    "sampled": ("window_start", "window_end", "host", "b"),
}

Ran = tuple[ps.Network, Path, DataFrame]


@pytest.fixture(scope="module")
def ran(spark: SparkSession, folder: str, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A run that has lost windows, and has jumped: the network, its folder, its ledger."""
    network = ps.Network(**queries(ps.sources.files(folder, most=1)))
    place, running, started = tmp_path_factory.mktemp("run"), list[ps.NetworkRun](), Event()

    def jump(batch: DataFrame, number: int) -> None:
        ps.sinks.parquet(str(place / "top")).write(batch, number)
        if number == 1:
            assert started.wait(60)
            running[0].skip_to(instant(JUMP))

    sinks = {name: ps.sinks.parquet(str(place / name)) for name in network.queries}
    run = network.start(
        str(place / "checkpoint"),
        sinks={**sinks, "top": jump},
        trigger={"availableNow": True},
        drop=0.5,
        keep=0.5,
    )
    running.append(run)
    started.set()
    run.wait()
    balanced(run, network.queries)
    return network, place, run.ledger().persist()


@pytest.fixture
def checkpoint(ran: Ran) -> str:
    """Its checkpoint, of which nothing has been backfilled."""
    log = ran[1] / "checkpoint" / "penstock" / "backfill"
    for record in log.iterdir() if log.exists() else ():
        record.unlink()
    return str(ran[1] / "checkpoint")


def ends(ledger: DataFrame, name: str, *fates: str) -> set[datetime]:
    mine = ledger.where((F.col("query") == name) & F.col("fate").isin(*fates))
    return {row["window_end"] for row in mine.collect()}


def plain(rows: list[Row], name: str) -> list[tuple]:
    """The rows of a query as sorted tuples, without what tells where they come from."""
    return sorted(tuple(row[column] for column in COLUMNS[name]) for row in rows)


def naive(time: datetime) -> datetime:
    return time.replace(tzinfo=None)


def test_what_was_jumped_over_is_in_the_ledger_and_later_windows_come_again(
    spark: SparkSession, ran: Ran
) -> None:
    _, place, ledger = ran
    until = naive(instant(JUMP))
    for name in COLUMNS:
        found = spark.read.parquet(str(place / name)).where("batch >= 0").collect()
        skipped = ends(ledger, name, "skipped")
        assert len(skipped) > 2
        assert not {row["window_end"] for row in found} & skipped
        assert ends(ledger, name, "delivered") == {row["window_end"] for row in found}
        begun = {row["window_start"] for row in found}
        assert max(begun) >= until
        # Some of batch 0 and 1 were delivered before the jump was asked for.
        assert all(start >= until or start < naive(instant(START + 40 * SECOND)) for start in begun)
    fates = {row["fate"] for row in ledger.where("query = 'sampled'").collect()}
    assert {"skipped", "delivered"} <= fates <= {"skipped", "delivered", "unseen", "empty"}
    assert ends(ledger, "large", "dropped", "revoked")


def test_gaps_are_filled_with_the_exact_answers_and_nothing_is_done_twice(
    spark: SparkSession, folder: str, ran: Ran, checkpoint: str
) -> None:
    network, place, ledger = ran
    sinks = {name: ps.sinks.parquet(str(place / name)) for name in COLUMNS}
    told: list[tuple[str, float]] = []
    dry = network.backfill(checkpoint, sinks=sinks, dry_run=True)
    assert not Log(checkpoint).revisions()
    done = network.backfill(checkpoint, sinks=sinks, tell=lambda *args: told.append(args))
    assert (dry.windows, dry.revisions, dry.dry) == (done.windows, done.revisions, True)
    assert told[-1] == ("revision 1: large, top, sampled", 1.0)
    table = queries(spark.read.parquet(folder))
    for name, query in table.items():
        missing = ends(ledger, name, "dropped", "revoked", "skipped")
        assert {naive(instant(end)) for _, end in done.windows[name]} == missing
        (exact,) = ps.Network(**{name: replace(query, answers=None)}).batch().values()
        found = spark.read.parquet(str(place / name))
        late = found.where("revision = 1").collect()
        assert {row["batch"] for row in late} == {-1}
        wanted = [row for row in exact.collect() if row["window_end"] in missing]
        assert wanted
        assert plain(late, name) == plain(wanted, name)
        # Each window is there once, from the stream or from the backfill.
        on_time = {row["window_end"] for row in found.where("revision IS NULL").collect()}
        assert on_time
        assert not on_time & missing
        if name == "sampled":
            assert {(r["exact"], r["keep"], r["b_low"] == r["b_high"]) for r in late} == {
                (True, 1.0, True)
            }
            assert min(row["sample"] for row in late) > 0
    again = network.backfill(checkpoint, sinks=sinks)
    assert (again.count, again.before) == (0, done.count)
    assert "nothing was left to do" in str(again)


def test_a_backfill_that_failed_is_done_again_under_its_number(ran: Ran, checkpoint: str) -> None:
    network, _, ledger = ran
    landed: dict[int, set] = {}

    def fails(batch: DataFrame, number: int) -> None:
        raise ConnectionError("the sink is away")

    def keeps(batch: DataFrame, number: int) -> None:
        landed[number] = {(row["revision"], row["window_end"]) for row in batch.collect()}

    middle = instant(START + 50 * SECOND)
    with pytest.raises(ConnectionError):
        network.backfill(checkpoint, sink=fails, query="top", until=middle)
    # The rest of the windows are another revision.
    done = network.backfill(checkpoint, sink=keeps, query="top")
    assert done.revisions == (1, 2)
    missing = ends(ledger, "top", "dropped", "revoked", "skipped")
    assert landed[-1] == {(1, end) for end in missing if end <= naive(middle)}
    assert landed[-2] == {(2, end) for end in missing if end > naive(middle)}
    before = dict(landed)
    landed.clear()
    assert network.backfill(checkpoint, sink=keeps, query="top").count == 0
    assert network.backfill(checkpoint, sink=keeps, query="top", again=True).revisions == (1, 2)
    assert landed == before


def test_windows_whose_records_may_be_deleted_are_gone(ran: Ran, checkpoint: str) -> None:
    network, _, ledger = ran
    (source,) = network.graph.sources
    asked = Backfill(network, checkpoint, ("top",))
    first = START + 30 * SECOND  # the oldest record that is left
    week = 7 * 86_400 * SECOND
    asked.__dict__["held"] = {source: [Held("t", 0, 9, first - AHEAD, week), Held("t", 1, 0, None)]}
    found, gone = asked.possible()
    # Windows over windows of 5 s: those that end in the first 5 s need earlier rows.
    lost = {end for start, end in asked.missing["top"] if start + 1 - 5 * SECOND <= first}
    assert {end for _, end in gone["top"]} == lost
    assert lost
    (left,) = found
    assert {end for _, end in left.windows["top"]} == {e for _, e in asked.missing["top"]} - lost
    report = asked.report(found, gone)
    oldest = min(start for start, _ in left.windows["top"]) + 1 - 5 * SECOND
    assert report.to_json()["kept_until"] == {
        "packets": instant(oldest + week).isoformat(" ").replace("+00:00", "Z")
    }
    assert "gone " in str(report)
    assert report.missing == len(ends(ledger, "top", "dropped", "revoked", "skipped"))
    # A revision that has landed is not replaced by less.
    Log(checkpoint).write(Revision(1, dict(asked.missing), frozenset({"top"})))
    asked = Backfill(network, checkpoint, ("top",), again=True)
    asked.__dict__["held"] = {source: [Held("t", 0, 9, first - AHEAD)]}
    assert asked.possible()[0] == []


def test_rows_that_are_stored_elsewhere(
    spark: SparkSession, folder: str, ran: Ran, checkpoint: str
) -> None:
    network, _, _ = ran
    rows = spark.read.parquet(folder).select("*", F.lit("").alias("file_path"))
    with pytest.raises(PenstockError, match=r"stored packets must be a table.*file_row"):
        network.backfill(checkpoint, sink=print, query="top", stored={"packets": rows})
    sink = ps.sinks.memory("elsewhere")
    rows = rows.select("*", F.lit(0).cast("bigint").alias("file_row")).where("size < 0")
    network.backfill(checkpoint, sink=sink, query="top", stored={"packets": rows})
    assert sink.rows == 0


def test_what_cannot_be_backfilled_is_said(
    spark: SparkSession, folder: str, ran: Ran, checkpoint: str, tmp_path: Path
) -> None:
    network, _, _ = ran
    with pytest.raises(PenstockError, match="query must be known in the network, got 'tip'"):
        network.backfill(checkpoint, query="tip", dry_run=True)
    with pytest.raises(PenstockError, match=r"needs a sink for every query.*large"):
        network.backfill(checkpoint)
    with pytest.raises(PenstockError, match="checkpoint must be that of a network that has run"):
        network.backfill(str(tmp_path), dry_run=True)
    top = queries(ps.sources.files(folder))["top"]
    with pytest.raises(PenstockError, match="must belong to the same network"):
        ps.Network(top=top).backfill(checkpoint, dry_run=True)
    # The same queries over rows that nobody keeps.
    rate = ps.sources.rate(1)
    (source,) = network.graph.sources
    unkept = replace(source, origin=Handle(rate))
    with pytest.raises(PenstockError, match=r"packets must be stored.*rate source.*stored="):
        Tables().rows(unkept, [(0, 1)])
    exact = ps.stream(ps.sources.files(folder), "ts").window("10 s").agg(n=ps.count())
    part = Part(ps.Network(n=exact).graph)
    with pytest.raises(PenstockError, match="skip_to\\(\\) needs queries that may lose windows"):
        Shedder(part, "").skip_to(0)


def test_gaps_are_interpolated_as_the_pure_function_does(spark: SparkSession) -> None:
    """D12: each group by itself, in the JVM."""
    of, n = random.Random(2), 40
    gap = {i for i in range(n) if of.random() < 0.4} | {0, n - 1}
    rows = [
        (instant(i * SECOND), instant((i + 1) * SECOND), host, of.randrange(10**6), of.random())
        for i in range(n)
        for host in ("a", "b", None)
        if i not in gap and of.random() < 0.8
    ]
    answers = spark.createDataFrame(
        rows, "window_start timestamp, window_end timestamp, host string, n bigint, x double"
    )
    lost = [("q", instant(i * SECOND), instant((i + 1) * SECOND), "dropped") for i in gap]
    other = ("other", instant(SECOND), instant(2 * SECOND), "dropped")
    empty = ("q", instant(n * SECOND), instant((n + 1) * SECOND), "empty")
    ledger = spark.createDataFrame(
        [*lost, other, empty],
        "query string, window_start timestamp, window_end timestamp, fate string",
    )
    packets = ps.stream(spark.createDataFrame([], "ts timestamp, host string, size bigint"), "ts")
    asked = packets.window("1 s").by("host").agg(n=ps.count(), x=ps.avg("size")).named("q")
    found = ps.interpolated(answers, ledger, asked)
    assert found.columns == ["window_start", "window_end", "host", "n", "x", "interpolated"]
    got = sorted((r["host"] or "", r["window_end"], *r[3:]) for r in found.collect())
    wanted = []
    for host in ("a", "b", None):
        mine = {naive(end): (float(k), x) for _, end, of_host, k, x in rows if of_host == host}
        all_ends = sorted([*mine, *(naive(instant((i + 1) * SECOND)) for i in gap)])
        filled = [
            interpolate([(_micros(e), mine[e][c] if e in mine else None) for e in all_ends])
            for c in (0, 1)
        ]
        for end, (_, count, marked), (_, x, _) in zip(all_ends, *filled, strict=True):
            if count is not None:
                wanted.append((host or "", end, count, x, marked))
    assert got == sorted(wanted)
    assert any(row[-1] for row in got)
    with pytest.raises(PenstockError, match="needs a query of a network"):
        ps.interpolated(answers, ledger, replace(asked, name=None))


def _micros(time: datetime) -> int:
    return int(time.timestamp() * SECOND)
