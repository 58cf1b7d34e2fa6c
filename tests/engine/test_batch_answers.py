"""Batches give what Spark's `window()` gives: every aggregate, every type, every way to compute."""

from __future__ import annotations

import math
import random
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.engine.columns import (
    block_due,
    block_ends,
    block_first_end,
    block_starts,
    pane_ends,
    pane_first_end,
)
from penstock.engine.window_query import Windowed
from penstock.windows import Kind, Ladder, cumulative, evaluate, sliding, spark_aligned
from penstock.windows.aggregates import AVG, COUNT, COUNT_ALL, MIN, SUM
from penstock.windows.oracle import Aggregates, account
from tests.engine.answers import (
    DIRECT,
    PANES,
    SECOND,
    assert_same,
    at,
    frame,
    on_panes,
    ours,
    shaped,
    table,
    theirs,
    types,
)
from tests.strategies import rows_at, time_specs
from tests.windows.test_ladder import rungs_of

START = 1_700_000_000 * SECOND
LAST_EDGE = START % (3 * SECOND) - 1
BIGGEST = 2**63 - 1

# --- every aggregate of every type ----------------------------------------------------------------

WHOLE = {"b": "tinyint", "h": "smallint", "i": "int", "l": "bigint"}
FLOATING = {"f": "float", "d": "double", "x": "double"}
DECIMALS = {"d102": "decimal(10,2)", "d3810": "decimal(38,10)", "d2018": "decimal(20,18)"}
ORDERED = {"s": "string", "day": "date", "at": "timestamp", "yes": "boolean", "bin": "binary"}
LENGTHS = {"iv": "interval day to second", "ym": "interval year to month"}
MOMENTS = ("var_samp", "var_pop", "stddev_samp", "stddev_pop")
NOT_FROM_PANES = ("avg_d3810", "avg_d2018")
UNEVEN = ("15 s", "2 s")


def zoo_rows() -> list[tuple]:
    draw = random.Random(7)
    edges = [
        begin + at_edge * 2 * SECOND + off
        for begin in (0, START)
        for at_edge in range(-7, 8)
        for off in (-1, 0, 1)
    ]
    times = edges + [
        begin + draw.randint(-20 * SECOND, 20 * SECOND) for begin in (0, START) for _ in range(60)
    ]
    times += [-62_135_596_800 * SECOND, 253_402_300_800 * SECOND - 1]  # the years 1 and 9999
    return [zoo_row(draw, t, n) for n, t in enumerate([*times, *[None] * 5])]


def zoo_row(draw: random.Random, t: int | None, n: int) -> tuple:
    key = draw.choice(["a", "b", None, "void"])
    values = (
        draw.randint(-128, 127),
        draw.randint(-(2**15), 2**15 - 1),
        draw.randint(-(2**31), 2**31 - 1),
        draw.randint(-(10**12), 10**12),
        draw.choice([1.5, -0.25, 3e10, math.nan, math.inf, -0.0]),
        draw.randint(-800, 800) / 8,
        draw.choice([math.nan, math.inf, -math.inf, 0.0, -0.0, 2.5, -1e100, 5e-324]),
        Decimal(draw.randint(-(10**10) + 1, 10**10 - 1)).scaleb(-2),
        Decimal(draw.randint(-(10**32), 10**32)).scaleb(-10),
        Decimal(draw.randint(-(10**20) + 1, 10**20 - 1)).scaleb(-18),
        draw.choice(["", "a", "B", "ä", "zz"]),
        date(1900, 1, 1) + timedelta(days=draw.randint(0, 90_000)),
        at(draw.randint(-(10**15), 10**15)),
        draw.random() < 0.5,
        draw.choice([b"", b"\x00", b"\xff\x00", b"ab"]),
        timedelta(microseconds=draw.randint(-(10**14), 10**14)),
        draw.randint(-100, 100),
    )
    empty = key == "void" or n % 11 == 0
    return (t, key, *((None if empty or draw.random() < 0.1 else v) for v in values))


@pytest.fixture(scope="module")
def zoo(spark: SparkSession) -> DataFrame:
    columns = {"t": "bigint", "k": "string"} | WHOLE | FLOATING | DECIMALS | ORDERED | LENGTHS
    columns["ym"] = "int"
    schema = ", ".join(f"{name} {of}" for name, of in columns.items())
    rows = spark.createDataFrame(zoo_rows(), schema)
    made = rows.withColumns(
        {"ts": F.timestamp_micros("t"), "ym": F.expr("make_ym_interval(0, ym)")}
    )
    return made.drop("t").cache()


def zoo_asked() -> dict:
    asked = {
        "n": ps.count(),
        "expression": ps.sum("i * 2L + coalesce(b, 0)"),
        "of_the_largest": ps.max("struct(i, s)"),
    }

    def ask(function: str, column: str) -> None:
        asked[f"{function}_{column}"] = getattr(ps, function)(column)

    for column in WHOLE | FLOATING | DECIMALS:
        for function in ("sum", "avg"):
            ask(function, column)
    for column in ("l", "f", "x", "d3810", *ORDERED, *LENGTHS):
        for function in ("min", "max"):
            ask(function, column)
    for column in ("x", *ORDERED):
        ask("count", column)
    for column in LENGTHS:
        ask("sum", column)
    for function in MOMENTS:
        ask(function, "d")
    for column in ("x", "l", "d102"):
        ask("var_samp", column)
    return asked


ZOO = zoo_asked()


@pytest.fixture(scope="module")
def zoo_answers(zoo) -> tuple[dict, list]:
    """Spark's answers, computed once, and their types."""
    windows = theirs(zoo, ZOO, UNEVEN)
    return table(windows), types(windows)


@pytest.mark.parametrize("rungs", [DIRECT, PANES, (1, 3), on_panes(1, 2)])
def test_every_aggregate_of_every_type_equals_spark(zoo, zoo_answers, monkeypatch, rungs):
    asked = {n: a for n, a in ZOO.items() if rungs == DIRECT or n not in NOT_FROM_PANES}
    windows = shaped(ours(zoo, asked, UNEVEN), monkeypatch, rungs).dataframe()
    expected, expected_types = zoo_answers
    places = [i for i, name in enumerate(ZOO) if name in asked]
    picked = {where: tuple(row[i] for i in places) for where, row in expected.items()}
    assert_same(table(windows), picked, asked)
    assert types(windows) == [pair for pair in expected_types if pair[0] in windows.columns]


def test_an_average_that_panes_would_round_twice_is_computed_directly(zoo):
    query = ours(zoo, {"rounded": ps.avg("d2018"), "n": ps.count()}, ("12 s", "2 s"))
    assert query.evaluation.rungs == DIRECT
    assert query.evaluation.reason.startswith("rounded cannot be merged from panes")


def test_a_large_mean_does_not_cost_the_variance_its_digits(spark, monkeypatch):
    draw = random.Random(1)
    values = [1e9 + draw.randint(-1000, 1000) / 1024 for _ in range(400)]
    rows = spark.createDataFrame(
        [(at(START + n * SECOND // 20), "a", v) for n, v in enumerate(values)],
        "ts timestamp, k string, v double",
    )
    query = ours(rows, {"v": ps.var_pop("v"), "s": ps.stddev_samp("v")}, ("20 s", "1 s"))
    answers = table(shaped(query, monkeypatch, (1, 4)).dataframe())
    exact = [Fraction(v) for v in values]
    mean = sum(exact) / len(exact)
    squares = sum((v - mean) ** 2 for v in exact)
    variance, deviation = answers[repr((START, START + 20 * SECOND, "a"))]
    # Spark's own error is about 1e-7 here; sums of squares would have no digit left.
    assert variance == pytest.approx(float(squares / 400), rel=1e-6)
    assert deviation == pytest.approx(math.sqrt(squares / 399), rel=1e-6)


@pytest.mark.parametrize("rungs", [DIRECT, PANES])
def test_a_variance_of_huge_equal_values_is_zero_as_in_spark(spark, monkeypatch, rungs):
    rows = spark.createDataFrame(
        [(at(START + n * SECOND), "a", 1e200) for n in range(3)], "ts timestamp, k string, v double"
    )
    asked = {"p": ps.var_pop("v"), "s": ps.stddev_samp("v")}
    answers = table(shaped(ours(rows, asked, ("4 s", "1 s")), monkeypatch, rungs).dataframe())
    assert_same(answers, table(theirs(rows, asked, ("4 s", "1 s"))), asked)


# --- windows: edges, origins, time zones ----------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "origin", "start_time", "rungs"),
    [
        (("10 s", "4 s"), "3 s", "3 seconds", PANES),
        # any point where a window starts will do
        (("9 s", "3 s"), at(START + 6 * SECOND - 1), f"{LAST_EDGE} microseconds", (1, 2)),
        (("7 s", "7 s"), "-250 ms", "-250 milliseconds", DIRECT),
    ],
    ids=["uneven", "an instant", "negative, tumbling"],
)
def test_origin_is_the_start_time_of_spark(zoo, monkeypatch, *, window, origin, start_time, rungs):
    asked = {"n": ps.count(), "s": ps.sum("l")}
    query = shaped(ours(zoo, asked, window, origin=origin), monkeypatch, rungs)
    expected = table(theirs(zoo, asked, window, origin=start_time))
    assert_same(table(query.dataframe()), expected, asked)


@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "America/New_York"])
def test_the_session_time_zone_moves_no_window(spark, monkeypatch, zone):
    changes = [1_710_054_000, 1_730_613_600]  # clocks change in New York
    times = [c + m * 60 + off for c in changes for m in range(-200, 200, 9) for off in (0, 1)]
    asked = {"n": ps.count(), "first": ps.min("ts"), "day": ps.max("to_date(ts)")}
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        rows = spark.createDataFrame([(t,) for t in times], "t bigint")
        rows = rows.select(F.timestamp_seconds("t").alias("ts"))
        query = shaped(ours(rows, asked, ("1 day", "5 h"), keys=()), monkeypatch, (1, 3))
        expected = theirs(rows, asked, ("1 day", "5 h"), keys=())
        assert_same(table(query.dataframe(), keys=0), table(expected, keys=0), asked)
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_times_that_no_calendar_of_python_has(spark, monkeypatch):
    """Milliseconds read as seconds land here; Spark's timestamps reach 290,000 years."""
    seconds = [2_400_000_000_000, 9_000_000_000_000, -9_000_000_000_000]
    rows = spark.createDataFrame([(t, "a") for t in seconds], "t bigint, k string")
    rows = rows.select(F.timestamp_seconds("t").alias("ts"), "k")
    asked = {"n": ps.count()}
    for rungs in (PANES, (1, 2), on_panes(1, 2)):
        query = shaped(ours(rows, asked, ("12 s", "2 s")), monkeypatch, rungs)
        assert_same(table(query.dataframe()), table(theirs(rows, asked, ("12 s", "2 s"))), asked)


def test_a_large_overlap_is_the_same_by_ladder_and_directly(spark, monkeypatch):
    """Spark's own `window()` takes minutes to plan it."""
    rows = frame(spark, [{"ts": START + n * 333 * SECOND, "k": "a", "v": n} for n in range(9)])
    asked, sums = {"n": ps.count(), "s": ps.sum("v")}, []
    for rungs in (DIRECT, (1, 10, 100), on_panes(*(1 << n for n in range(10)))):
        windows = shaped(ours(rows, asked, ("2 h", "10 s")), monkeypatch, rungs).dataframe()
        row = F.xxhash64("window_start", "window_end", "n", "s").cast("decimal(38)")
        sums += windows.agg(F.count("*"), F.sum("n"), F.sum(row)).collect()
    assert sums[0] == sums[1] == sums[2]
    assert sums[0][:2] == (720 + 8 * 333 // 10, 9 * 720)


LADDERS = [
    Ladder(sliding(12, 2, on="ts"), (1, 2, 4)),
    Ladder(sliding(29, 3, on="ts", origin=-7), (1, 2, 8)),
    Ladder(sliding(11, 4, on="ts", origin=5)),
    Ladder(sliding(7, 7, on="ts", origin=3)),
    Ladder(cumulative(35, 5, on="ts", origin=3), (1, 3, 6)),
    Ladder(cumulative(8, 1, on="ts", origin=-2), (1, 2, 4, 8)),
]


def test_columns_are_the_formulas_of_the_ladder(spark):
    times = [*range(-60, 60), -START - 1, START + 1]
    t, asked = F.col("t"), []
    for ladder in LADDERS:
        starts = block_starts(t, ladder)
        asked.append(F.array(*starts))
        asked += [pane_ends(starts[0], ladder.spec), pane_first_end(starts[0], ladder.spec)]
        for rung, start in enumerate(starts):
            on = F.lit(rung)
            asked += [block_ends(start, on, ladder), block_due(start, on, ladder)]
            asked.append(block_first_end(start, on, ladder))
    rows = spark.createDataFrame([(t,) for t in times], "t bigint").select("t", *asked).collect()
    for row in rows:
        given_t, *found = row
        expected: list = []
        for ladder in LADDERS:
            blocks = list(ladder.blocks(given_t))
            expected.append([block.start for block in blocks])
            expected.append(list(Ladder(ladder.spec).ends(blocks[0])))
            expected.append(ladder.span(blocks[0])[0])
            for block in blocks:
                ends = list(ladder.ends(block))
                expected += [ends, min(ends, default=None), ladder.span(block)[0]]
        assert found == expected


@pytest.mark.parametrize("rungs", [DIRECT, PANES, (1, 3), on_panes(1, 2, 4)])
def test_cumulative_windows_are_the_rows_of_their_period_so_far(zoo, monkeypatch, rungs):
    asked = {"n": ps.count(), "s": ps.sum("l"), "a": ps.avg("d102"), "v": ps.var_pop("d")}
    windowed = ps.stream(zoo, "ts").cumulative("14 s", every="2 s", origin="3 s")
    windows = shaped(windowed.by("k").agg(**asked), monkeypatch, rungs).dataframe()
    micros = "(unix_micros(ts) - 3000000)"
    period = f"{micros} - pmod({micros}, 14000000) + 3000000"
    first = f"{micros} - pmod({micros}, 2000000) + 5000000"
    by_hand = (
        zoo.where("ts IS NOT NULL")
        .selectExpr("*", f"{period} AS begin", f"{first} AS first")
        .selectExpr("*", "explode(sequence(first, begin + 14000000, 2000000)) AS end")
        .groupBy(
            F.timestamp_micros("begin").alias("window_start"),
            F.timestamp_micros("end").alias("window_end"),
            "k",
        )
        .agg(*(F.expr(str(a)).alias(name) for name, a in asked.items()))
    )
    assert_same(table(windows), table(by_hand), asked)


def test_rows_between_windows_are_counted_and_in_none(spark):
    rows = [{"ts": START + n * SECOND // 2, "k": "ab"[n % 2], "v": n} for n in range(-30, 30)] + [
        {"ts": None, "k": "a", "v": 1}
    ]
    spec = spark_aligned("3 s", "10 s", on="ts", origin="1 s")
    query = ours(
        frame(spark, rows), {"n": ps.count(), "s": ps.sum("v")}, ("3 s", "10 s"), origin="1 s"
    )
    folds: Aggregates = {"n": (COUNT_ALL, None), "s": (SUM, "v")}
    assert table(query.dataframe()) == oracle_table(evaluate(rows, spec, ["k"], folds))
    expected = account(rows, spec)
    assert query.accounts["no_time"] == expected.no_time == 1
    assert query.accounts["in_no_window"] == expected.in_no_window > 30


@pytest.mark.parametrize("way", [DIRECT, PANES, (1, 3), on_panes(1, 2, 4)])
def test_the_first_windows_are_partial_where_the_stream_begins(spark, monkeypatch, way):
    rows = [{"ts": START + n * SECOND // 2, "k": "a", "v": n} for n in range(-6, 40)]
    spec = sliding("8 s", "1 s", on="ts", start=START)
    windowed = ps.stream(frame(spark, rows), "ts").window(spec).by("k")
    query = shaped(windowed.agg(n=ps.count(), s=ps.sum("v")), monkeypatch, way)
    folds: Aggregates = {"n": (COUNT_ALL, None), "s": (SUM, "v")}
    found = table(query.dataframe())
    assert found == oracle_table(evaluate(rows, spec, ["k"], folds))
    assert (2, 1) in found.values()  # one second of the stream, and nothing before it
    assert query.accounts["in_no_window"] == 6


def oracle_table(results: list[dict]) -> dict[str, tuple]:
    """The oracle's answers in the shape of `table`."""
    rows = [tuple(result.values()) for result in results]
    return {repr(row[:3]): row[3:] for row in rows}


@st.composite
def windows_and_ways(draw: st.DrawFn):
    spec = draw(time_specs(Kind.SLIDING, Kind.TUMBLING, Kind.CUMULATIVE))
    gap = spec.range is not None and spec.range < spec.slide
    if gap or draw(st.booleans()):
        return spec, DIRECT
    rungs = draw(rungs_of(spec))
    return spec, on_panes(*rungs) if len(rungs) > 1 and draw(st.booleans()) else rungs


@settings(max_examples=5, phases=[Phase.explicit, Phase.generate])  # to shrink takes minutes
@given(
    windows=windows_and_ways(),
    rows=rows_at(st.none() | st.integers(-60_000, 60_000), max_size=60),
)
def test_batches_equal_the_oracle(spark, windows, rows):
    spec, rungs = windows
    rows = [{"ts": row["ts"], "k": row["key"], "v": row["value"]} for row in rows]
    asked = {
        "n": ps.count(),
        "c": ps.count("v"),
        "s": ps.sum("v"),
        "m": ps.min("v"),
        "a": ps.avg("v"),
    }
    folds: Aggregates = {
        "n": (COUNT_ALL, None),
        "c": (COUNT, "v"),
        "s": (SUM, "v"),
        "m": (MIN, "v"),
        "a": (AVG, "v"),
    }
    with pytest.MonkeyPatch.context() as patch:
        windowed = Windowed(ps.stream(frame(spark, rows), "ts"), spec)
        query = shaped(windowed.by("k").agg(**asked), patch, rungs)
        answers = table(query.dataframe())
    assert_same(answers, oracle_table(evaluate(rows, spec, ["k"], folds)), asked)
    if answers:
        expected = account(rows, spec)
        assert query.accounts["no_time"] == expected.no_time
        assert query.accounts["in_no_window"] == expected.in_no_window


# --- keys and names -------------------------------------------------------------------------------
