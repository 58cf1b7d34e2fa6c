"""A network gives what each of its queries gives alone, as a batch and as a stream."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.engine import folds as engine_folds
from penstock.engine.part import Part
from penstock.network.operators import depth
from penstock.windows import folding
from tests.engine.streams import SECOND, START, Files, instant

HOSTS = [f"host-{i}" for i in range(6)]


def packets(rows: int, seed: int, *, late: bool) -> list[dict]:
    """Packets of some minutes, a few of them late or without a time."""
    of = random.Random(seed)
    made = []
    for i in range(rows):
        at = START + i * 100_000 + of.randrange(50_000)
        if late and of.random() < 0.05:
            at -= of.randrange(40) * SECOND
        made.append(
            {
                "ts": None if late and of.random() < 0.01 else at,
                "host": of.choice(HOSTS),
                "protocol": of.choice(["TCP", "TCP", "UDP", None]),
                "port": of.choice([80, 443, 53]),
                "size": of.randrange(40, 1500),
            }
        )
    return made


SCHEMA = "ts timestamp, host string, protocol string, port int, size bigint"


def frame(spark: SparkSession, rows: list[dict]) -> DataFrame:
    listed = [(instant(r["ts"]), *(r[k] for k in list(r)[1:])) for r in rows]
    return spark.createDataFrame(listed, SCHEMA)


def queries(rows: DataFrame, **terms: Any) -> dict[str, ps.WindowQuery]:
    """Queries of all shapes over one stream."""
    packets = ps.stream(rows, event_time="ts", **terms)
    tcp = packets.where("protocol = 'TCP'")
    web = tcp.where("port = 80")
    by_host = web.window("30 s", every="5 s").by("host").agg(n=ps.count(), bytes=ps.sum("size"))
    return {
        "traffic": packets.window("10 s", every="5 s").agg(n=ps.count(), b=ps.sum("size")),
        "tcp": tcp.window("20 s", every="10 s").by("port").agg(n=ps.count(), top=ps.max("size")),
        "web": by_host,
        "web_minute": web.window("60 s", every="20 s").by("host").agg(mean=ps.avg("size")),
        "kib": packets.with_columns(kib="size / 1024")
        .window("15 s")
        .by("protocol")
        .agg(kib=ps.sum("kib"), spread=ps.stddev_pop("kib")),
        "day": packets.cumulative("1 day", "10 s").agg(n=ps.count("protocol")),
        "busy": by_host.results()
        .where("n > 5")
        .window("60 s")
        .by("host")
        .agg(times=ps.count(), most=ps.max("bytes")),
        "top": by_host.results()
        .window("5 s")
        .agg(most=ps.max("bytes"))
        .results()
        .window("60 s", every="30 s")
        .agg(mean=ps.avg("most"), n=ps.count()),
    }


def alone(asked: dict[str, ps.WindowQuery]) -> dict[str, list[tuple]]:
    return {name: rows_of(query.dataframe()) for name, query in asked.items()}


def rows_of(answers: DataFrame) -> list[tuple]:
    """The rows of an answer; sums of fractions depend on the order of addition."""
    rounded = [
        F.round(c, 6).alias(c) if t in ("double", "float") else F.col(c) for c, t in answers.dtypes
    ]
    return sorted((tuple(r) for r in answers.select(*rounded).collect()), key=repr)


def test_a_batch_of_all_shapes(spark: SparkSession) -> None:
    rows = frame(spark, packets(2000, 1, late=True))
    asked = queries(rows)
    network = ps.Network(**asked)
    assert not network.split.alone
    part = Part(network.graph, folding=[[0, 1, 2, 4]])
    assert [[a for a in asked if asked[a].node in f.aggregates] for f in part.shared.folds] == [
        ["traffic", "tcp", "web", "web_minute", "day"],
        ["kib"],
    ]
    shared = part.frame().persist()
    found = {name: rows_of(answers) for name, answers in part.answers(shared).items()}
    shared.unpersist()
    wanted = alone(asked)
    for name in asked:
        assert found[name] == wanted[name], name
        assert found[name]


def test_equal_operators_are_one(spark: SparkSession) -> None:
    rows = frame(spark, packets(10, 1, late=False))
    stream = ps.stream(rows, event_time="ts")
    a = stream.where("protocol = 'TCP' AND port = 80").window("10 s").agg(n=ps.count())
    b = stream.filter("protocol='TCP'  AND port = 443").window("20 s").agg(n=ps.count())
    network = ps.Network(a=a, b=b)
    kinds = [type(one).__name__ for one in network.graph.operators]
    assert kinds.count("Source") == 1
    assert kinds.count("Filter") == 3
    shared = [one for one, users in network.graph.users.items() if users == ("a", "b")]
    assert [str(one) for one in shared] == ["stream stream", "filter protocol = 'TCP'"]


PACKETS = pa.schema(
    [
        ("ts", pa.timestamp("us", tz="UTC")),
        ("host", pa.string()),
        ("protocol", pa.string()),
        ("port", pa.int32()),
        ("size", pa.int64()),
    ]
)


def stream(spark: SparkSession, folder: Path, *, batches: int = 3) -> DataFrame:
    files = Files(spark, folder, PACKETS)
    made = packets(500 * batches, 7, late=True)
    for i in range(0, len(made), 500):
        files.add(made[i : i + 500])
    return files.stream()


def run_apart(network: ps.Network, checkpoint: Path, into: dict[str, list[tuple]]) -> ps.NetworkRun:
    """Runs a network whose queries have sinks of their own."""

    def keep(name: str) -> Callable[[DataFrame, int], None]:
        return lambda batch, _: into.setdefault(name, []).extend(rows_of(batch))

    sinks = {name: keep(name) for name in network.queries}
    run = network.start(str(checkpoint), sinks=sinks, trigger={"availableNow": True})
    run.wait()
    return run


def run_all(network: ps.Network, checkpoint: Path, into: dict[str, list[tuple]]) -> ps.NetworkRun:
    """Runs a network of windows whose answers go to one sink, which is one action a batch."""
    columns = {}
    for name, asked in network.queries.items():
        assert isinstance(asked, ps.WindowQuery)
        keys, answers = asked.query.keys, asked.query.aggregates
        columns[name] = ("window_start", "window_end", *keys, *answers)

    def keep(batch: DataFrame, _: int) -> None:
        place = {column: i for i, column in enumerate(batch.columns)}
        rows = rows_of(batch)
        for name, mine in columns.items():
            into.setdefault(name, []).extend(
                tuple(row[place[column]] for column in mine)
                for row in rows
                if row[place["query"]] == name
            )

    run = network.start(str(checkpoint), sink=keep, trigger={"availableNow": True})
    run.wait()
    return run


@pytest.mark.parametrize(
    ("late", "slack", "compared", "folded"),
    [
        ("generous", "0 s", ["traffic", "tcp", "busy"], True),
        ("consistent", "5 s", ["tcp", "kib", "top"], False),
    ],
)
def test_a_stream_gives_what_each_query_gives_alone(  # noqa: PLR0917
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    late: str,
    slack: str,
    compared: list[str],
    folded: bool,
) -> None:
    # What panes cost decides whether groups are folded together; and how fine common ones may be.
    monkeypatch.setattr(folding, "PANE", 0)
    monkeypatch.setattr(folding, "WINDOW", 0)
    if not folded:
        monkeypatch.setattr(engine_folds, "_FINER", 0)
    asked = queries(stream(spark, tmp_path), slack=slack, late=late)
    found: dict[str, list[tuple]] = {}
    run = run_all(ps.Network(**asked), tmp_path / "all", found)
    assert all(found.values())
    folds = json.loads((tmp_path / "all" / "penstock" / "folds.json").read_text())
    assert sorted(map(len, folds)) == ([3] if folded else [])
    for name in compared:
        query = asked[name]
        wanted: dict[str, list[tuple]] = {}
        if depth(query.node) > 1:
            single = run_all(ps.Network(**{name: query}), tmp_path / name, wanted)
            told = single.accounts[name]
        else:
            wanted[name] = []
            keep = lambda batch, _, of=wanted[name]: of.extend(rows_of(batch))  # noqa: E731
            path, trigger = str(tmp_path / name), {"availableNow": True}
            one = query.start(path, foreach_batch=keep, trigger=trigger)
            one.wait()
            told = one.accounts
        assert sorted(found[name], key=repr) == sorted(wanted[name], key=repr), name
        assert found[name], name
        for reason in ("no_time", "in_no_window", "late_lost", "late_partial"):
            assert run.accounts[name].get(reason, 0) == told.get(reason, 0), (name, reason)


def test_all_answers_in_one_place(spark: SparkSession, tmp_path: Path) -> None:
    asked = queries(stream(spark, tmp_path))
    plain = {name: asked[name] for name in ("traffic", "tcp", "web")}
    apart: dict[str, list[tuple]] = {}
    run_apart(ps.Network(**plain), tmp_path / "apart", apart)
    together: dict[str, list[tuple]] = {}
    run_all(ps.Network(**plain), tmp_path / "one", together)
    for name in plain:
        assert sorted(together[name], key=repr) == sorted(apart[name], key=repr)
        assert together[name]


def test_rows_without_an_aggregate(spark: SparkSession, tmp_path: Path) -> None:
    rows = ps.stream(stream(spark, tmp_path), event_time="ts")
    big = rows.where("size > 1400").select("host", "size", kib="size / 1024")
    small = rows.where("size < 50")
    counted = rows.window("10 s").agg(n=ps.count())
    found: dict[str, list[tuple]] = {}
    run_apart(ps.Network(big=big, small=small, counted=counted), tmp_path / "run", found)
    made = packets(1500, 7, late=True)
    assert len(found["big"]) == sum(r["size"] > 1400 for r in made)
    assert len(found["small"]) == sum(r["size"] < 50 for r in made)
    assert found["counted"]


def test_joins_and_unions(spark: SparkSession, tmp_path: Path) -> None:
    hosts = spark.createDataFrame(
        [(h, i % 2) for i, h in enumerate(HOSTS)], "name string, rack int"
    )
    few = spark.createDataFrame([(HOSTS[0],), (HOSTS[0],), (HOSTS[3],)], "host string")
    for rows in (frame(spark, packets(1500, 7, late=False)), stream(spark, tmp_path)):
        packet = ps.stream(rows, event_time="ts")
        racked = packet.join(hosts, {"host": "name"}, name="hosts")
        twice = packet.where("port = 80").union(packet.where("size > 500"))
        asked = {
            "racks": racked.window("20 s").by("rack").agg(n=ps.count()),
            "few": packet.semi_join(few, "host").window("20 s", every="10 s").agg(n=ps.count()),
            "twice": twice.window("20 s").by("port").agg(n=ps.count(), b=ps.sum("size")),
            "racks_tcp": racked.where("protocol = 'TCP'").window("20 s").agg(n=ps.count()),
        }
        network = ps.Network(**asked)
        if not rows.isStreaming:
            found = {name: rows_of(answers) for name, answers in network.batch().items()}
            assert found == alone(asked)
            assert all(found.values())
            continue
        got: dict[str, list[tuple]] = {}
        run_all(network, tmp_path / "net", got)
        for name in ("racks", "twice"):
            query = asked[name]
            wanted: list[tuple] = []
            keep = lambda batch, _, of=wanted: of.extend(rows_of(batch))  # noqa: E731
            path, trigger = str(tmp_path / name), {"availableNow": True}
            query.start(path, foreach_batch=keep, trigger=trigger).wait()
            assert sorted(got[name], key=repr) == sorted(wanted, key=repr), name
