"""What a stream has left out is computed from its stored rows, exactly, and lands once."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.engine.backfill_log import Log
from penstock.errors import PenstockError
from tests.engine.streams import SECOND, START, Files, instant

PACKETS = pa.schema(
    [
        ("ts", pa.timestamp("us", tz="UTC")),
        ("host", pa.string()),
        ("size", pa.int64()),
        ("number", pa.int64()),
    ]
)
BATCHES, ROWS = 5, 200


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
    large = packets.where("size > 40").window("10 s", every="5 s")
    return {
        "large": large.by("host").agg(n=ps.count(), b=ps.sum("size")).subset(3),
        "top": by_host.results().window("20 s", every="10 s").agg(top=ps.max("n")).subset(2),
        "whole": packets.window("20 s").agg(n=ps.count()),
    }


def network(folder: str) -> ps.Network:
    return ps.Network(**queries(ps.sources.files(folder, most=1)))


Run = tuple[ps.Network, str, Callable[[], str]]


@pytest.fixture(scope="module")
def ran(
    spark: SparkSession, folder: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[ps.Network, Path, DataFrame]:
    """A run that has lost windows: the network, its folder, its ledger."""
    asked, place = network(folder), tmp_path_factory.mktemp("run")
    run = asked.start(
        str(place / "checkpoint"),
        sinks={name: ps.sinks.parquet(str(place / name)) for name in asked.queries},
        trigger={"availableNow": True},
        drop=0.8,
    )
    run.wait()
    return asked, place, run.ledger()


@pytest.fixture
def checkpoint(ran: tuple[ps.Network, Path, DataFrame]) -> str:
    """Its checkpoint, of which nothing has been backfilled."""
    log = ran[1] / "checkpoint" / "penstock" / "backfill"
    for record in log.iterdir() if log.exists() else ():
        record.unlink()
    return str(ran[1] / "checkpoint")


def gaps(ledger: DataFrame, name: str) -> set:
    fates = F.col("fate").isin("dropped", "revoked")
    return {r["window_end"] for r in ledger.where(fates & (F.col("query") == name)).collect()}


def by_end(rows: list[Row], name: str) -> list[tuple]:
    """The rows of a query as sorted tuples, without what tells where they come from."""
    columns = {"large": ("window_end", "host", "n", "b"), "top": ("window_end", "top")}[name]
    return sorted(tuple(row[column] for column in columns) for row in rows)


def test_gaps_are_filled_with_the_exact_answers_and_nothing_is_done_twice(
    spark: SparkSession, folder: str, ran: tuple[ps.Network, Path, DataFrame], checkpoint: str
) -> None:
    asked, place, ledger = ran
    sinks = {name: ps.sinks.parquet(str(place / name)) for name in ("large", "top")}
    told: list[tuple[str, float]] = []
    dry = asked.backfill(checkpoint, sinks=sinks, dry_run=True)
    assert not Log(checkpoint).revisions()
    done = asked.backfill(checkpoint, sinks=sinks, tell=lambda *args: told.append(args))
    assert (dry.windows, dry.revisions) == (done.windows, done.revisions)
    assert told[-1] == ("revision 1: large, top", 1.0)
    table = spark.read.parquet(folder)
    for name, query in queries(table).items():
        if name == "whole":
            continue
        missing = gaps(ledger, name)
        assert {instant(end) for _, end in done.windows[name]} == {
            end.astimezone(instant(0).tzinfo) for end in missing
        }
        exact = (ps.Network(**{name: query}).batch()[name]).collect()
        found = spark.read.parquet(str(place / name))
        late = found.where("revision = 1").collect()
        assert {row["batch"] for row in late} == {-1}
        assert by_end(late, name) == by_end([r for r in exact if r["window_end"] in missing], name)
        # Each window is there once, from the stream or from the backfill.
        on_time = {row["window_end"] for row in found.where("revision IS NULL").collect()}
        assert on_time
        assert not on_time & missing
    again = asked.backfill(checkpoint, sinks=sinks)
    assert (again.count, again.before) == (0, done.count)
    assert "nothing was left to do" in str(again)
