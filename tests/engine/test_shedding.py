"""What is shed on Spark: subset answers are never wrong, approximate ones keep their bounds."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import penstock as ps
from penstock.drops.coins import HASH_BITS
from penstock.drops.kinds import Approximate
from penstock.engine.shed_record import Mode
from penstock.errors import PenstockError, UsageError
from penstock.network.operators import Aggregate
from tests.engine.streams import SECOND, START, Files

PACKETS = pa.schema(
    [
        ("ts", pa.timestamp("us", tz="UTC")),
        ("host", pa.string()),
        ("size", pa.int64()),
        ("number", pa.int64()),
    ]
)
BATCHES, ROWS = 6, 400


def packets(seed: int = 3) -> list[dict]:
    """Packets of 6 batches of 20 s, some of them late."""
    of = random.Random(seed)
    made = []
    for i in range(BATCHES * ROWS):
        at = START + i * 50_000
        if of.random() < 0.05:
            at -= of.randrange(12) * SECOND
        host, size = of.choice(["a", "a", "a", "b"]), of.choice([40, 40, 576, 1500])
        made.append({"ts": at, "host": host, "size": size, "number": i})
    return made


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    files, made = Files(spark, folder, PACKETS), packets()
    for i in range(0, len(made), ROWS):
        files.add(made[i : i + ROWS])
    return files.stream()


def queries(rows: DataFrame) -> dict[str, ps.WindowQuery]:
    packet = ps.stream(rows, event_time="ts", slack="2 s", identity="number", name="packets")
    big = packet.where("size > 500")
    # Answers that go to one place have one type by one name: estimates are no whole numbers.
    by_host = packet.window("5 s").by("host").agg(n=ps.count())
    return {
        "sampled": big.window("20 s", every="10 s")
        .by("host")
        .agg(packets=ps.count(), bytes=ps.sum("size"), mean=ps.avg("size"))
        .approximate(),
        "sliding": packet.window("10 s", every="5 s").agg(n=ps.count(), b=ps.sum("size")).subset(3),
        "top": by_host.results().window("20 s", every="10 s").agg(top=ps.max("n")).subset(2),
        "whole": packet.window("10 s").by("host").agg(n=ps.count()),
    }


def start(
    asked: dict[str, ps.WindowQuery],
    checkpoint: Path,
    into: dict[str, dict[int, list[Row]]],
    look: Callable[[DataFrame], None] = lambda _: None,
    **terms: Any,
) -> ps.NetworkRun:
    """Starts a network; answers are kept by query and batch, as a batch that is replayed says.

    All go to one sink, and are told apart here: one for each query is an action for each, which
    takes as long as the batch.
    """
    columns = {name: columns_of(query) for name, query in asked.items()}
    for name in asked:
        into.setdefault(name, {})

    def keep(batch: DataFrame, number: int) -> None:
        look(batch)
        rows = batch.collect()
        for name, mine in columns.items():
            made = Row(*mine)
            into[name][number] = [
                made(*(row[column] for column in mine)) for row in rows if row["query"] == name
            ]

    trigger = {"availableNow": True}
    return ps.Network(**asked).start(str(checkpoint), sink=keep, trigger=trigger, **terms)


def columns_of(query: ps.WindowQuery) -> list[str]:
    """The columns of its answers."""
    keys, names = query.query.keys, list(query.query.aggregates)
    if isinstance(query.answers, Approximate):
        bounds = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
        names = [*bounds, "keep", "sample", "exact", *(["unseen"] if keys else [])]
    return ["window_start", "window_end", *keys, *names]


def delivered(found: dict[int, list[Row]]) -> list[Row]:
    return [row for number in sorted(found) for row in found[number]]


@pytest.fixture(scope="module")
def exact(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    """What the same stream gives when nothing is dropped."""
    folder = tmp_path_factory.mktemp("exact")
    asked = {
        name: query if query.answers is None else _exact(query)
        for name, query in queries(stream(spark, folder)).items()
    }
    found: dict[str, dict[int, list[Row]]] = {}
    start(asked, folder / "run", found).wait()
    return {name: delivered(rows) for name, rows in found.items()}


def _exact(query: ps.WindowQuery) -> ps.WindowQuery:
    return replace(query, answers=None)


def beside(rows: DataFrame) -> dict[str, ps.WindowQuery]:
    """Subset answers and exact ones in one network: they have the same late rows."""
    packet = ps.stream(rows, event_time="ts", slack="2 s", identity="number", name="packets")
    asked = {name: query for name, query in queries(rows).items() if name in ("sliding", "top")}
    by_host = packet.window("5 s").by("host").agg(n=ps.count())
    sliding = packet.window("10 s", every="5 s")
    top = by_host.results().window("20 s", every="10 s")
    return asked | {
        "sliding_exact": sliding.agg(n=ps.count(), b=ps.sum("size"), top=ps.max("size")),
        "top_exact": top.agg(top=ps.max("n"), groups=ps.count()),
    }


def longest_gap(got: list[Row], wanted: list[Row]) -> int:
    ends, mine = sorted({r["window_end"] for r in wanted}), {r["window_end"] for r in got}
    longest = now = 0
    for end in ends:
        now = 0 if end in mine else now + 1
        longest = max(longest, now)
    return longest


def hashed_away(spark: SparkSession, keep: float) -> int:
    """The large packets that a hash of their identity does not keep."""
    limit = int(keep * 2**HASH_BITS)
    numbers = [(r["number"],) for r in packets() if r["size"] > 500]
    hashed = spark.createDataFrame(numbers, "number bigint").selectExpr(
        f"xxhash64(number) & {2**HASH_BITS - 1} AS u"
    )
    return sum(row["u"] >= limit for row in hashed.collect())


def problems(run: ps.NetworkRun) -> list[str]:
    shedder = run.parts[0].shedder
    assert shedder is not None
    return shedder.problems


def balanced(run: ps.NetworkRun, asked: Iterable[str], *, sheds: bool | None = True) -> None:
    """Every row of every batch is accounted for, for every query; it counts once, at any weight.

    Args:
        run: it has ended.
        asked: the names of its queries.
        sheds: whether rows were dropped; None if that depends on what was decided before a restart.
    """
    accounts = run.parts[0].shed_accounts()
    assert accounts is not None
    seen = 0
    for name in asked:
        told = accounts.of(name)
        for progress in run.parts[0].run.progress:
            mine = told[progress["batchId"]]
            assert mine["rows_in"] == progress["numInputRows"]
            gone = mine["shed_at_stream"] + mine["shed_on_the_way"]
            assert mine["rows_in"] == gone + mine["taken"]
            assert min(mine.values()) >= 0
            seen += gone
    assert sheds is None or (seen > 0) == sheds


def test_subset_answers_are_exact_and_approximate_ones_have_bounds(
    spark: SparkSession, tmp_path: Path, exact: dict[str, list[Row]]
) -> None:
    asked = queries(stream(spark, tmp_path))
    found: dict[str, dict[int, list[Row]]] = {}
    run = start(asked, tmp_path / "run", found, keep=0.4, drop=0.9)
    run.wait()
    got = {name: delivered(rows) for name, rows in found.items()}
    assert got["whole"] == exact["whole"]
    for name, gap in (("sliding", 3), ("top", 2)):
        assert set(got[name]) < set(exact[name]), name
        assert 0 < longest_gap(got[name], exact[name]) <= gap, name
    wanted = {(r["window_end"], r["host"]): r for r in exact["sampled"]}
    sampled = {(r["window_end"], r["host"]): r for r in got["sampled"]}
    assert set(sampled) == set(wanted)
    for key, row in sampled.items():
        for answer in ("packets", "bytes", "mean"):
            low, value, high = row[f"{answer}_low"], row[answer], row[f"{answer}_high"]
            assert low <= wanted[key][answer] <= high, (key, answer)
            assert low < value < high
        assert not row["exact"]
        assert 0.3 < row["keep"] < 0.5 or row["sample"] < 60
    # The rows that a hash of their identity keeps are those that were counted.
    lost = hashed_away(spark, 0.4)
    told = run.accounts["sampled"]
    assert (told["shed_at_stream"], told["shed_on_the_way"]) == (0, lost)
    assert told["taken"] == len(packets()) - lost
    balanced(run, asked)
    assert "keep 0.4" in str(run.plan)
    # The ledger has every window that was closed, and says why some are missing.
    ledger = run.ledger().collect()
    for name in ("sliding", "top"):
        mine = {r["window_end"]: r for r in ledger if r["query"] == name}
        ends = {r["window_end"] for r in got[name]}
        begun = [end for end in {r["window_end"] for r in exact[name]} if end >= min(mine)]
        assert set(begun) <= set(mine)
        for end, entry in mine.items():
            assert (entry["fate"] == "delivered") == (end in ends)
            assert (entry["decision"] is not None) == (entry["fate"] in ("dropped", "revoked"))
        assert {"delivered", "dropped"} <= {entry["fate"] for entry in mine.values()}


def test_monitor_changes_no_answer_and_counts_what_would_go(
    spark: SparkSession, tmp_path: Path, exact: dict[str, list[Row]]
) -> None:
    rows, found, told = stream(spark, tmp_path), {}, {}
    modes: tuple[Mode, ...] = ("off", "monitor", "on")
    for mode in modes:
        asked, answers = queries(rows), dict[str, dict[int, list[Row]]]()
        run = start(asked, tmp_path / mode, answers, keep=0.4, drop=0.9, mode=mode)
        run.wait()
        balanced(run, asked, sheds=mode != "off")
        found[mode], told[mode] = answers, run.accounts
    assert found["monitor"] == found["off"] != found["on"]
    for name in ("sliding", "top", "whole"):
        assert delivered(found["monitor"][name]) == exact[name]
    for row, wanted in zip(delivered(found["monitor"]["sampled"]), exact["sampled"], strict=True):
        assert (row["exact"], row["unseen"]) == (True, 0)
        for answer in ("packets", "bytes", "mean"):
            assert row[f"{answer}_low"] == row[answer] == row[f"{answer}_high"] == wanted[answer]
    # What would go is what goes, where it does.
    accounts = ("rows_in", "shed_at_stream", "shed_on_the_way", "taken")
    for name in asked:
        would, did = ([told[mode][name][one] for one in accounts] for mode in ("monitor", "on"))
        assert would == did, name
        assert (would[1] + would[2] > 0) == (name != "whole"), name
    assert told["monitor"]["sampled"]["shed_on_the_way"] == hashed_away(spark, 0.4)


def test_plans_change_between_batches_and_a_damaged_one_drops_nothing(
    spark: SparkSession, tmp_path: Path, exact: dict[str, list[Row]]
) -> None:
    asked = queries(stream(spark, tmp_path))
    found: dict[str, dict[int, list[Row]]] = {name: {} for name in asked}
    plans = tmp_path / "run" / "penstock" / "plans"
    of = random.Random(1)

    def sink(name: str) -> Callable[[DataFrame, int], None]:
        def write(batch: DataFrame, number: int) -> None:
            found[name][number] = batch.collect()
            if name == "whole" and running:
                running[0].shed(
                    keep=of.choice([0.2, 1.0]),
                    drop=of.choice([0.0, 0.5, 1.0]),
                    # What has lost rows stays suppressed in every mode.
                    mode=of.choice(["on", "on", "monitor", "off"]),
                )
                if number == 4:
                    # The batch has read it: only a replay would do so again.
                    (plans / "4").write_bytes(b"{")

        return write

    running: list[ps.NetworkRun] = []
    run = ps.Network(**asked).start(
        str(tmp_path / "run"),
        sinks={name: sink(name) for name in asked},
        trigger={"availableNow": True},
        keep=0.5,
        drop=0.5,
    )
    running.append(run)
    run.wait()
    for name, gap in (("sliding", 3), ("top", 2), ("whole", 0)):
        got = delivered(found[name])
        assert set(got) <= set(exact[name]), name
        assert longest_gap(got, exact[name]) <= gap, name
    balanced(run, asked)
    assert any("batch 4 cannot be read" in said for said in problems(run))
    records = sorted(int(path.name) for path in plans.iterdir())
    assert records == list(range(records[-1] + 1))
    keeps = {
        json.loads((plans / str(n)).read_text())["values"]["orders"]["folds"][0][0]
        for n in records
        if n != 4
    }
    assert len(keeps) > 1


def test_a_restart_goes_on_with_what_was_dropped(spark: SparkSession, tmp_path: Path) -> None:
    folder, made = tmp_path / "in", packets()
    files = Files(spark, folder, PACKETS)
    found: dict[str, dict[int, list[Row]]] = {}
    for half in (made[: 3 * ROWS], made[3 * ROWS :]):
        for i in range(0, len(half), ROWS):
            files.add(half[i : i + ROWS])
        asked = beside(files.stream())
        run = start(asked, tmp_path / "run", found, drop=0.7)
        run.wait()
        balanced(run, asked)
    for name, gap in (("sliding", 3), ("top", 2)):
        got, whole = delivered(found[name]), delivered(found[f"{name}_exact"])
        assert {tuple(row) for row in got} < {row[: len(row) - 1] for row in whole}
        assert 0 < longest_gap(got, whole) <= gap
    # Without a readable plan nothing is delivered that was open, and nothing wrong ever.
    for path in (tmp_path / "run" / "penstock" / "plans").iterdir():
        path.write_bytes(path.read_bytes()[:50])
    more = [
        {**row, "ts": row["ts"] + 200 * SECOND, "number": row["number"] + 10**6}
        for row in made[: 3 * ROWS]
    ]
    # The first two drop nothing: only then is it known how far those before may have dropped.
    for i in range(0, len(more), ROWS):
        files.add(more[i : i + ROWS])
    before = len(delivered(found["sliding"]))
    again: dict[str, dict[int, list[Row]]] = {}
    run = start(beside(files.stream()), tmp_path / "run", again, drop=0.7)
    run.wait()
    assert any("not delivered" in said for said in problems(run))
    begins = [r["window_start"].timestamp() * SECOND for r in delivered(again["sliding"])]
    assert begins  # those that began later are whole
    assert min(begins) > made[-1]["ts"]
    assert before


def test_a_restart_decides_what_one_run_decides(spark: SparkSession, tmp_path: Path) -> None:
    files, made = Files(spark, tmp_path / "in", PACKETS), packets()
    # A stream that ends has one more batch, without rows: here both shall have the same batches.
    setting = "spark.sql.streaming.noDataMicroBatches.enabled"
    spark.conf.set(setting, "false")
    try:
        found: dict[str, dict[str, dict[int, list[Row]]]] = {"once": {}, "twice": {}}
        for half in (made[: 3 * ROWS], made[3 * ROWS :]):
            for i in range(0, len(half), ROWS):
                files.add(half[i : i + ROWS])
            asked = queries(files.stream())
            start(asked, tmp_path / "twice", found["twice"], keep=0.5, drop=0.7).wait()
        asked = queries(files.stream())
        run = start(asked, tmp_path / "once", found["once"], keep=0.5, drop=0.7)
        run.wait()
    finally:
        spark.conf.unset(setting)
    records = [
        {int(one.name): json.loads(one.read_text())["values"] for one in plans.iterdir()}
        for plans in (tmp_path / name / "penstock" / "plans" for name in found)
    ]
    assert sorted(records[0]) == list(range(BATCHES + 1))
    assert records[0] == records[1]
    assert any(record["decisions"]["dropped"] for record in records[0].values())
    assert found["once"] == found["twice"]


def test_rows_that_are_never_shed(spark: SparkSession, tmp_path: Path) -> None:
    rows = stream(spark, tmp_path)
    packet = ps.stream(rows, event_time="ts", identity="number", never_shed="host = 'b'")
    query = packet.window("10 s").by("host").agg(n=ps.count(), b=ps.sum("size")).approximate()
    other = packet.window("5 s").agg(rows=ps.count()).subset(3)
    found: dict[str, dict[int, list[Row]]] = {}
    asked = {"n": query, "some": other}
    run = start(asked, tmp_path / "run", found, keep=0.2, drop=0.9)
    run.wait()
    balanced(run, asked)
    got = delivered(found["n"])
    assert {(r["host"], r["exact"]) for r in got} == {("a", False), ("b", True)}
    rare = sum(r["host"] == "b" for r in packets())
    assert rare < run.accounts["n"]["taken"] < 0.7 * len(packets())
    with pytest.raises(PenstockError, match=r"never_shed must be a predicate.*'host'"):
        ps.stream(rows, event_time="ts", never_shed="hots = 'b'")


def test_what_cannot_be_approximate_or_subset_is_refused(spark: SparkSession) -> None:
    rows = spark.createDataFrame([], "ts timestamp, host string, size bigint")
    packet = ps.stream(rows, event_time="ts")
    top = packet.window("10 s").agg(top=ps.max("size"))
    with pytest.raises(PenstockError, match=r"max\(size\).*subset"):
        ps.Network(top=top.approximate())
    nested = packet.window("10 s").agg(n=ps.count()).results().where("n > 3")
    with pytest.raises(PenstockError, match="subset"):
        ps.Network(n=nested.window("1 minute").agg(n=ps.sum("n")).approximate())
    with pytest.raises(PenstockError, match="max_gap"):
        top.subset(0)
    with pytest.raises(PenstockError, match="confidence"):
        top.approximate(confidence=99)
    n = packet.window("10 s").agg(n=ps.count())
    with pytest.raises(PenstockError, match="asks the same as query n"):
        ps.Network(n=n, some=n.subset(3))
    with pytest.raises(UsageError, match="time windows"):
        ps.Network(last=packet.window(ps.rows(10, 5)).agg(n=ps.count()).subset(2))


def test_answers_of_another_kind_need_another_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = stream(spark, tmp_path / "in")
    packet = ps.stream(rows, event_time="ts", identity="number")
    query = packet.window("10 s").agg(n=ps.count())
    found: dict[str, dict[int, list[Row]]] = {}
    nameless = ps.stream(rows, event_time="ts").window("10 s").agg(n=ps.count()).approximate()
    run = start({"n": nameless}, tmp_path / "nameless", found, keep=0.5)
    run.wait()
    assert any("identity" in said for said in problems(run))
    start({"n": query.subset(2)}, tmp_path / "run", found, drop=0.5).wait()
    # A wider gap is allowed, another kind of answer is not.
    start({"n": query.subset(4)}, tmp_path / "run", found, drop=0.5).wait()
    with pytest.raises(UsageError, match="must belong to the same network"):
        start({"n": query.approximate()}, tmp_path / "run", found)
    with pytest.raises(UsageError, match="mode must be one of"):
        start({"n": query.subset(2)}, tmp_path / "other", found, mode="maybe")
    assert isinstance(query.node, Aggregate)
