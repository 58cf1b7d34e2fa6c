"""Sums over windows are answered from a sample of the rows, as sums over the rows are."""

from __future__ import annotations

import random
from itertools import count
from pathlib import Path
from threading import Event

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import penstock as ps
from penstock.drops.bounds import unseen
from penstock.drops.kinds import Approximate
from penstock.engine.exactly import exactly
from penstock.engine.kinds import kinds_of_rows
from penstock.engine.part import Part
from penstock.errors import PenstockError
from penstock.network.operators import Operator
from tests.engine.streams import SECOND, START, Files
from tests.engine.test_shedding import PACKETS, balanced, delivered, start

SUMS = {"n": ps.count(), "b": ps.sum("size")}
OF_SUMS = {"packets": ps.sum("n"), "bytes": ps.sum("b")}
HOSTS = ("a", "a", "a", "a", "b", "b", "rare")


def nested(packet: ps.Stream, exact: bool) -> dict[str, ps.WindowQuery]:
    """Sums over tumbling windows and over overlapping ones, of a sample or of all rows."""
    # One aggregate more, so that the windows below are not those that are sampled.
    inner = {**SUMS, "top": ps.max("size")} if exact else SUMS
    outer = {"rows": ps.sum("n"), "sizes": ps.sum("b")} if exact else OF_SUMS
    tumbling = packet.window("5 s").by("host").agg(**inner).results()
    overlapping = packet.window("10 s", every="5 s").by("host").agg(**inner).results()
    asked = {
        "all": tumbling.window("20 s", every="10 s").agg(**outer),
        "by_host": overlapping.window("20 s").by("host").agg(**outer),
    }
    return {n + "_exact": q for n, q in asked.items()} if exact else asked


BATCHES, ROWS = 11, 300
SHARES = {1: 0.5, 2: 0.2, 3: 0.5}
"""Batch → the share that is kept from the next one on; of others, all."""


def packets() -> list[list[dict]]:
    """Batches of 15 s; some rows come late, and a few too late."""
    of, made = random.Random(5), []
    for i in range(BATCHES * ROWS):
        at = START + i * SECOND // 20
        at -= of.randrange(12) * SECOND if of.random() < 0.05 else 0
        host, size = of.choice(HOSTS), of.choice([40, 40, 576, 1500])
        made.append({"ts": at, "host": host, "size": size, "number": i})
    return [made[i : i + ROWS] for i in range(0, len(made), ROWS)]


def test_sums_over_windows_while_shares_change(spark: SparkSession, tmp_path: Path) -> None:
    files = Files(spark, tmp_path, PACKETS)
    for batch in packets():
        files.add(batch)
    packet = ps.stream(
        files.stream(), event_time="ts", slack="4 s", identity="number", name="packets"
    )
    asked = {
        name: query.approximate() for name, query in nested(packet, exact=False).items()
    } | nested(packet, exact=True)
    found: dict[str, dict[int, list[Row]]] = {}
    running: list[ps.NetworkRun] = []
    began = Event()
    numbers = count()

    def look(_: DataFrame) -> None:
        assert began.wait(60)  # the first batch may be faster than the one who started it
        running[0].shed(keep=SHARES.get(next(numbers), 1.0))

    running.append(start(asked, tmp_path / "run", found, look))
    began.set()
    running[0].wait()
    exact = held = told = 0
    for name, keys in (("all", ["window_end"]), ("by_host", ["window_end", "host"])):
        truth = {tuple(r[k] for k in keys): r for r in delivered(found[f"{name}_exact"])}
        got = {tuple(r[k] for k in keys): r for r in delivered(found[name])}
        # A group is missing only if all of its rows are, and of the others one says how many.
        for key in truth.keys() - got.keys():
            others = [row["unseen"] for at, row in got.items() if at[0] == key[0]]
            assert truth[key]["rows"] <= 2 * max(others)  # each is in two windows below
        assert got.keys() <= truth.keys()
        states = set()
        for key, row in got.items():
            wanted = {"packets": truth[key]["rows"], "bytes": truth[key]["sizes"]}
            states.add(row["exact"])
            for answer, value in wanted.items():
                low, high = row[f"{answer}_low"], row[f"{answer}_high"]
                if row["exact"]:
                    assert low == row[answer] == high == value, (key, answer)
                    exact += 1
                    continue
                told += 1
                held += low <= value <= high
                assert low < row[answer] < high
            if row["exact"]:
                assert row["keep"] == 1
            else:
                assert 0.15 < row["keep"] <= 1
                # It may have lost rows; some windows have lost none.
                assert row["sample"] <= wanted["packets"]
        assert states == {True, False}, name
        if name == "all":
            rows = [(r["sample"], truth[k]["rows"]) for k, r in got.items() if r["exact"]]
            assert all(sample == whole for sample, whole in rows)
        else:
            most = {r["unseen"] for r in got.values()}
            assert 0 in most
            assert max(most) == pytest.approx(unseen(0.2, 0.01))
    assert exact
    assert held >= 0.97 * told > 20
    balanced(running[0], asked)


SEEDS, SECONDS, PER_SECOND = 12, 400, 20
Numbers = dict[str, np.ndarray]


def sampled(spark: SparkSession) -> tuple[DataFrame, Numbers]:
    """Rows of several streams in one, of which something upstream has kept a half or a fifth."""
    of, count = np.random.default_rng(11), SEEDS * SECONDS * PER_SECOND
    at = START + of.integers(0, SECONDS * SECOND, count)
    rows = {
        "at": at,
        "seed": of.integers(0, SEEDS, count),
        "host": of.integers(0, 3, count),
        "size": of.lognormal(5, 0.8, count).astype(int) + 1,
        "stands_for": np.where(at // (30 * SECOND) % 2, 2, 5),
    }
    kept = of.random(count) < 1 / rows["stands_for"]
    table = pa.table({name: values[kept] for name, values in rows.items()})
    return spark.createDataFrame(table).selectExpr("timestamp_micros(at) AS ts", "*"), rows


def truth(rows: Numbers, inner: list[tuple[int, int]], *outer: int) -> dict[tuple, list[float]]:
    """Window and seed → the exact count and sum, row by row."""
    found: dict[tuple, list[float]] = {}
    for length, slide in inner:
        for j in range(length // slide):
            end = (rows["at"] // (slide * SECOND) + 1 + j) * slide * SECOND
            for one in outer:  # an answer comes at the last microsecond of its window
                end = ((end - 1) // (one * SECOND) + 1) * one * SECOND
            for at, seed, size in zip(end, rows["seed"], rows["size"], strict=True):
                sums = found.setdefault((int(at), int(seed)), [0.0, 0.0])
                sums[0] += 1
                sums[1] += float(size)
    return found


@pytest.mark.parametrize("bounds", ["variance", "hoeffding"])
def test_sums_over_windows_of_rows_that_stand_for_several(spark: SparkSession, bounds) -> None:
    frame, rows = sampled(spark)
    packet = ps.stream(frame, "ts", identity="at", weight="stands_for", name="packets")
    tumbling = packet.window("5 s").by("seed", "host").agg(**SUMS).results()
    sliding = packet.window("10 s", every="5 s").by("seed", "host").agg(**SUMS).results()
    renamed = sliding.select("seed", "window_time", count="n", b="b")
    deep = renamed.window("20 s").by("seed").agg(packets=ps.sum("count"), bytes=ps.sum("b"))
    asked = {
        "tumbling": tumbling.window("20 s").by("seed").agg(**OF_SUMS),
        "sliding": sliding.window("20 s").by("seed").agg(**OF_SUMS),
        "deep": deep.results()
        .window("100 s")
        .by("seed")
        .agg(packets=ps.sum("packets"), bytes=ps.sum("bytes")),
        "both": tumbling.union(sliding).window("20 s").by("seed").agg(**OF_SUMS),
    }
    wanted = {
        "tumbling": truth(rows, [(5, 5)], 20),
        "sliding": truth(rows, [(10, 5)], 20),
        "deep": truth(rows, [(10, 5)], 20, 100),
        "both": truth(rows, [(5, 5), (10, 5)], 20),
    }
    network = ps.Network(**{n: q.approximate(bounds=bounds) for n, q in asked.items()})
    answers: dict[str, list[Row]] = {name: [] for name in asked}
    computed = Part(network.graph, kinds=network.kinds)
    for row in computed.together(computed.frame()).collect():
        answers[row["query"]].append(row)
    for name, mine in answers.items():
        total, value, held = 0.0, 0.0, 0
        assert len(mine) == len(wanted[name])
        for row in mine:
            end = round(row["window_end"].timestamp() * SECOND)
            for of, exact in zip(("packets", "bytes"), wanted[name][end, row["seed"]], strict=True):
                held += row[f"{of}_low"] <= exact <= row[f"{of}_high"]
                total, value = total + exact, value + row[of]
            assert not row["exact"]
            assert 0.15 < row["keep"] < 0.6
        assert value == pytest.approx(total, rel=0.025), name
        assert held >= 0.97 * 2 * len(mine), name


def test_exact_sums_over_windows_in_the_form_of_estimates(spark: SparkSession) -> None:
    rows = spark.range(0, 200, 1, 1).selectExpr(f"timestamp_micros({START} + id * 100000) AS ts")
    below = ps.stream(rows, "ts").window("10 s", every="5 s").agg(n=ps.count()).results()
    query = below.select("window_time", seen="n").window("10 s").agg(all=ps.sum("seen"))
    window = (START + 10 * SECOND, START + 20 * SECOND)
    found = exactly({"q": query.node}, {"q": Approximate()}, {"q": [window]})
    (row,) = found.answers["q"].collect()
    # Two windows of 100 rows, in both of which some are.
    assert (row["all"], row["all_low"], row["all_high"]) == (200.0, 200.0, 200.0)
    assert (row["sample"], row["keep"], row["exact"]) == (100, 1.0, True)


def test_what_is_not_a_sum_over_rows_is_refused(spark: SparkSession) -> None:
    rows = spark.createDataFrame([], "ts timestamp, host string, size bigint")
    packet = ps.stream(rows, event_time="ts", identity="host")
    below = packet.window("10 s").by("host").agg(**SUMS, mean=ps.avg("size")).results()
    minute, total = below.window("1 minute"), {"x": ps.sum("n")}
    ps.Network(q=minute.by("host").agg(**total).approximate())
    for refused in (
        below.where("n > 3").window("1 minute").agg(**total),
        below.where("host = 'a'").window("1 minute").agg(**total),
        below.with_columns(n="n * n").window("1 minute").agg(**total),
        minute.by("n").agg(x=ps.sum("b")),
        minute.agg(x=ps.sum("mean")),
        minute.agg(x=ps.avg("n")),
        minute.agg(x=ps.count()),
        minute.agg(x=ps.max("n")),
    ):
        with pytest.raises(PenstockError, match="answers='subset' drops whole windows instead"):
            ps.Network(q=refused.approximate())
        ps.Network(q=refused.subset(3))
    with pytest.raises(PenstockError, match="not over windows, for a floor"):
        ps.Network(q=minute.by("host").agg(**total).approximate(floor=5))


def test_windows_that_others_need_are_not_sampled(spark: SparkSession) -> None:
    rows = spark.createDataFrame([], "ts timestamp, host string, size bigint")
    packet = ps.stream(rows, event_time="ts", identity="host")
    one = packet.window("10 s").agg(n=ps.count())
    other = packet.window("20 s").agg(n=ps.count())
    total = {"x": ps.sum("n")}
    alone = one.results().window("1 minute").agg(**total)
    both = one.results().union(other.results()).window("1 minute").agg(**total)

    def kinds(**queries: ps.WindowQuery) -> list[str | None]:
        network = ps.Network(**queries)
        found: dict[Operator, str] = dict(kinds_of_rows(network.graph, network.kinds).items())
        return [found.get(query.node) for query in (one, other, alone, both)]

    assert kinds(a=alone.approximate()) == ["approximate", None, "approximate", None]
    assert kinds(b=both.approximate()) == ["approximate", "approximate", None, "approximate"]
    assert kinds(a=alone.approximate(), one=one) == ["exact", None, None, None]
    # A sum has no bounds if a part of it is not sampled: then none of it is, nor what needs it.
    mixed = kinds(a=alone.approximate(), b=both.approximate(), other=other.subset(2))
    assert mixed == ["exact", "exact", None, None]


def test_windows_that_are_delivered_too_have_the_bounds_that_they_ask_for(
    spark: SparkSession,
) -> None:
    rows = spark.createDataFrame([], "ts timestamp, host string, w int")
    packet = ps.stream(rows, event_time="ts", identity="host", weight="w")
    one = packet.window("10 s").agg(n=ps.count())
    total = one.results().window("1 minute").agg(x=ps.sum("n"))
    network = ps.Network(a=total.approximate(), one=one.approximate(confidence=0.9))
    part = Part(network.graph, kinds=network.kinds)
    found = [part.approximation(a) for a in part.aggregates]
    assert found == [Approximate(confidence=0.9), Approximate()]


def test_windows_that_are_delivered_too_are_summed_all_the_same(spark: SparkSession) -> None:
    rows = spark.range(0, 40, 1, 1).selectExpr(f"timestamp_micros({START} + id * 1000000) AS ts")
    one = ps.stream(rows, "ts").window("5 s").agg(n=ps.count())
    network = ps.Network(one=one, all=one.results().window("20 s").agg(n=ps.sum("n")))
    part = Part(network.graph)
    listed = part.together(part.frame()).groupBy("query").agg({"n": "collect_list"})
    found = [tuple(row) for row in listed.collect()]
    assert dict(found) == {"one": [5] * 8, "all": [20] * 2}
