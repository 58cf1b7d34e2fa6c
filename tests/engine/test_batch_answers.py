"""Batches give what Spark's `window()` gives: every aggregate, every type, every way to compute."""

from __future__ import annotations

import ast
import contextlib
import math
import random
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame, SparkSession, Window
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
from penstock.engine.stream import Stream
from penstock.engine.window_query import Windowed
from penstock.errors import PenstockError, SchemaError
from penstock.windows import Kind, Ladder, cumulative, evaluate, sliding, spark_aligned
from penstock.windows.aggregates import AVG, COUNT, COUNT_ALL, MIN, SUM
from penstock.windows.oracle import Aggregates, account
from tests.engine.answers import (
    DIRECT,
    PANES,
    SECOND,
    assert_same,
    at,
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


def frame(spark: SparkSession, rows: list[dict]) -> DataFrame:
    made = spark.createDataFrame(
        [(row["ts"], row.get("k", row.get("key")), row.get("v", row.get("value"))) for row in rows],
        "t bigint, k string, v bigint",
    )
    return made.select(F.timestamp_micros("t").alias("ts"), "k", "v")


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
        windowed = Windowed(Stream(frame(spark, rows), "ts"), spec)
        query = shaped(windowed.by("k").agg(**asked), patch, rungs)
        answers = table(query.dataframe())
    assert_same(answers, oracle_table(evaluate(rows, spec, ["k"], folds)), asked)
    if answers:
        expected = account(rows, spec)
        assert query.accounts["no_time"] == expected.no_time
        assert query.accounts["in_no_window"] == expected.in_no_window


# --- keys and names -------------------------------------------------------------------------------

KEYS = {
    "a.b": "string",
    "Sp ace": "int",
    "ba`ck": "string",
    "UPPER": "date",
    "db": "double",
    "st": "struct<x:double,y:string>",
    "ar": "array<double>",
    "bi": "binary",
    "no": "void",
}


def keyed(spark: SparkSession) -> DataFrame:
    draw = random.Random(3)
    numbers = [math.nan, -math.nan, 0.0, -0.0, math.inf, None]
    rows = [
        (
            START + draw.randint(0, 12) * SECOND,
            draw.choice(["x", None]),
            draw.choice([1, None]),
            draw.choice(["y", ""]),
            draw.choice([date(1969, 12, 31), None]),
            draw.choice(numbers),
            draw.choice([(number, None) for number in numbers] + [None]),
            draw.choice([[number] for number in numbers] + [[], None]),
            draw.choice([b"", b"\x00", None]),
            draw.randint(-9, 9),
        )
        for _ in range(150)
    ]
    columns = {name: of for name, of in KEYS.items() if name != "no"}
    typed = ", ".join(f"`{name.replace('`', '``')}` {of}" for name, of in columns.items())
    made = spark.createDataFrame(rows, f"t bigint, {typed}, `my col` bigint")
    return made.select(
        F.timestamp_micros("t").alias("event.time"), "*", F.lit(None).alias("no")
    ).drop("t")


@pytest.mark.parametrize("rungs", [DIRECT, (1, 2)])
def test_keys_and_names_of_every_sort(spark, monkeypatch, rungs):
    rows = keyed(spark)
    asked = {"n": ps.count(), "s.um": ps.sum("`my col`"), "Ma`x": ps.max("`event.time`")}
    query = ours(rows, asked, ("6 s", "1 s"), keys=KEYS, time="event.time")
    windows = shaped(query, monkeypatch, rungs).dataframe()
    expected = theirs(rows, asked, ("6 s", "1 s"), keys=KEYS, time="event.time")
    assert windows.columns == expected.columns
    assert_same(table(windows, keys=len(KEYS)), table(expected, keys=len(KEYS)), asked)


def test_upper_and_lower_case_are_one_column(spark):
    rows = frame(spark, [{"ts": START, "k": "a", "v": 1}])
    windows = ps.stream(rows, "TS").window("2 s", every="1 s").by("K").agg(V=ps.sum("V"))
    assert windows.dataframe().select("K", "V").first() == ("a", 1)


def test_the_name_of_a_column_is_no_expression(spark):
    """A column may be named like an expression over others."""
    rows = frame(spark, [{"ts": START, "k": "a", "v": 7}])
    rows = rows.select("*", *(F.col("v").alias(name) for name in ("my col", "a-b", "a.b", "1")))
    rows = rows.select("*", *(F.lit(0).alias(name) for name in ("my", "a", "b")))
    query = ours(
        rows,
        {f"s{i}": ps.sum(name) for i, name in enumerate(("my col", "a-b", "a.b", "1"))},
        ("1 s", "1 s"),
    )
    assert list(table(query.dataframe()).values()) == [(7, 7, 7, 7)]


@pytest.mark.parametrize("taken", ["penstock_time", "Penstock_0", "penstock_mine"])
def test_columns_of_the_stream_may_not_be_named_like_our_own(spark, taken):
    rows = frame(spark, [{"ts": START, "k": "a", "v": 7}]).withColumn(taken, F.lit(1))
    with pytest.raises(SchemaError, match=f"no column that begins with penstock_, got '{taken}'"):
        ours(rows, {"s": ps.sum("v")}, ("2 s", "1 s"))


def test_two_queries_in_one_plan(spark):
    """Windows of two lengths beside each other, or a window beside the one before it."""
    rows = frame(spark, [{"ts": START + n * SECOND, "k": "a", "v": n} for n in range(20)])
    short = ours(rows, {"n": ps.count()}, ("4 s", "2 s")).dataframe()
    long = ours(rows, {"m": ps.count()}, ("8 s", "2 s")).dataframe()
    joined = short.join(long.drop("window_start"), ["window_end", "k"])
    assert {row["m"] - row["n"] for row in joined.collect()} == {0, 2, 4}


def test_windows_go_on_as_any_dataframe(spark):
    rows = frame(spark, [{"ts": START + n * SECOND, "k": "ab"[n % 2], "v": n} for n in range(20)])
    query = ours(rows, {"s": ps.sum("v")}, ("4 s", "2 s"))
    ranked = query.dataframe().withColumn(
        "place", F.rank().over(Window.partitionBy("window_end").orderBy(F.desc("s"), "k"))
    )
    again = ps.stream(ranked.where("place = 1"), "window_end").window("1 min").agg(n=ps.count())
    (found,) = again.dataframe().collect()
    assert found["n"] == query.dataframe().select("window_end").distinct().count()


# --- what does not fit ----------------------------------------------------------------------------


def overflowing(spark: SparkSession) -> DataFrame:
    most = Decimal("9" * 28 + "." + "9" * 10)
    rows = [
        (START, "long", BIGGEST, Decimal(1)),
        (START, "long", 2, Decimal(1)),
        (START + SECOND, "long", 5, Decimal(1)),
        (START, "decimal", 1, most),
        (START, "decimal", 1, most),
        (START + SECOND, "decimal", 1, Decimal(3)),  # a pane of its own, that fits
        (START, "across panes", 1, most),
        (START + SECOND, "across panes", 1, most),
        (START, "fits", 1, most),
        (START, "fits", 1, None),
        (START + SECOND, "fits", None, None),
    ]
    made = spark.createDataFrame(rows, "t bigint, k string, l bigint, d decimal(38,10)")
    return made.select(F.timestamp_micros("t").alias("ts"), "k", "l", "d").cache()


@pytest.mark.parametrize("rungs", [DIRECT, PANES, (1, 2)])
def test_without_ansi_overflows_are_those_of_spark(spark, monkeypatch, rungs):
    rows, asked = overflowing(spark), {"l": ps.sum("l"), "d": ps.sum("d")}
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        windows = shaped(ours(rows, asked, ("4 s", "1 s")), monkeypatch, rungs).dataframe()
        answers, expected = table(windows), table(theirs(rows, asked, ("4 s", "1 s")))
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    assert_same(answers, expected, asked)
    both = repr((START - 2 * SECOND, START + 2 * SECOND, "long"))
    assert answers[both][0] == BIGGEST + 7 - 2**64
    assert answers[both.replace("long", "decimal")][1] is None


@pytest.mark.parametrize("rungs", [DIRECT, PANES])
@pytest.mark.parametrize("column", ["l", "d"])
def test_with_ansi_an_overflow_is_an_error(spark, monkeypatch, rungs, column):
    key = "long" if column == "l" else "across panes"
    rows = overflowing(spark).where(F.col("k") == key)
    query = shaped(ours(rows, {"s": ps.sum(column)}, ("4 s", "1 s")), monkeypatch, rungs)
    with pytest.raises(ArithmeticException, match=r"OVERFLOW|OUT_OF_RANGE"):
        query.dataframe().collect()


@pytest.mark.parametrize("rungs", [DIRECT, PANES])
def test_rows_without_a_time_cannot_spoil_the_windows(spark, monkeypatch, rungs):
    """They count nowhere, so nothing need be computed of them: Spark's `window()` drops them."""
    rows = frame(
        spark,
        [{"ts": None, "k": "a", "v": BIGGEST}] * 2
        + [{"ts": None, "k": "a", "v": 0}, {"ts": START, "k": "a", "v": 1}],
    )
    asked = {"s": ps.sum("v"), "q": ps.sum("10 / v")}
    query = shaped(ours(rows, asked, ("2 s", "1 s")), monkeypatch, rungs)
    assert_same(table(query.dataframe()), table(theirs(rows, asked, ("2 s", "1 s"))), asked)
    assert query.accounts["no_time"] == 3


@pytest.mark.parametrize("rungs", [DIRECT, PANES])
def test_a_batch_without_rows_has_no_windows_and_empty_accounts(spark, monkeypatch, rungs):
    rows = spark.createDataFrame([], "ts timestamp, k string, v bigint")
    query = shaped(ours(rows, {"n": ps.count()}, ("2 s", "1 s")), monkeypatch, rungs)
    assert query.dataframe().collect() == []
    assert set(query.accounts.values()) <= {0}


@pytest.mark.parametrize("rungs", [DIRECT, PANES])
def test_accounts_of_rows_of_which_none_is_in_a_window(spark, monkeypatch, rungs):
    rows = frame(spark, [{"ts": None, "k": "a", "v": 7}] * 3)
    query = shaped(ours(rows, {"n": ps.count()}, ("2 s", "1 s")), monkeypatch, rungs)
    assert query.dataframe().collect() == []
    assert query.accounts["no_time"] == 3


def test_accounts_of_a_result_of_which_nothing_was_asked(spark):
    """Spark does not compute what a filter takes away: nothing is known, and that is said."""
    query = ours(frame(spark, [{"ts": START, "k": "a", "v": 7}]), {"n": ps.count()}, ("2 s", "1 s"))
    assert query.dataframe().where("false").collect() == []
    with contextlib.suppress(PenstockError):
        assert set(query.accounts.values()) <= {0}


# --- sketches -------------------------------------------------------------------------------------


def many(spark: SparkSession) -> DataFrame:
    return spark.range(0, 6000).selectExpr(
        f"timestamp_micros({START} + (id % 60) * 1000000) AS ts",
        "'a' AS k",
        "(id * 7919) % 5003 AS v",
        "cast(id * 7919 % 5003 AS string) AS s",
        "double(id) AS x",
    )


def test_distinct_values_are_counted_to_5_percent_whatever_the_partitions(spark, monkeypatch):
    asked = {"v": ps.approx_count_distinct("v"), "s": ps.approx_count_distinct("s")}
    runs = []
    for partitions in (1, 2, 7):
        rows = many(spark).repartition(partitions)
        query = shaped(ours(rows, asked, ("60 s", "20 s")), monkeypatch, PANES)
        runs.append(table(query.dataframe()))
    # The order in which sketches are merged shows in the last digits, and `explain` says so.
    for where, estimates in (pair for run in runs for pair in run.items()):
        begin, end, _ = ast.literal_eval(where)
        inside = {n * 7919 % 5003 for n in range(6000) if begin <= START + n % 60 * SECOND < end}
        assert estimates == pytest.approx((len(inside), len(inside)), rel=0.05)
    assert (
        "u = approx_count_distinct(v): it is a sketch"
        in ours(many(spark), {"u": ps.approx_count_distinct("v")}, ("60 s", "20 s")).explain()
    )


def test_few_distinct_values_are_counted_exactly(spark):
    """Values that look empty or equal are values all the same."""
    made = frame(spark, [{"ts": START, "k": "a", "v": n} for n in (0, 1, 2)])
    values = {
        "text": "element_at(array('', 'a', ' '), cast(v + 1 AS int))",
        "binary": "element_at(array(x'', x'00', x'0000'), cast(v + 1 AS int))",
        "zeros": "element_at(array(0.0D, -0.0D, double('NaN')), cast(v + 1 AS int))",
        "times": "timestamp_micros(v)",
        "days": "date_from_unix_date(cast(v AS int))",
        "flags": "v > 1",
        "decimals": "cast(v AS decimal(20, 18))",
        "nulls": "if(v > 0, null, v)",
        "nothing": "cast(null AS bigint)",
    }
    asked = {name: ps.approx_count_distinct(value) for name, value in values.items()}
    answers = table(ours(made, asked, ("1 s", "1 s")).dataframe())
    (found,) = (dict(zip(asked, row, strict=True)) for row in answers.values())
    expected = dict.fromkeys(asked, 3) | {"zeros": 2, "flags": 2, "nulls": 1, "nothing": 0}
    assert found == expected


def test_percentiles_are_within_3_percent_of_rank_and_said_not_to_repeat(spark, monkeypatch):
    shares = (0.0, 0.1, 0.5, 0.99, 1.0)
    asked = {f"p{i}": ps.approx_percentile("x", share) for i, share in enumerate(shares)}
    asked["none"] = ps.approx_percentile("if(x < 0, x, null)", 0.5)
    query = ours(many(spark), asked, ("60 s", "20 s"))
    notes = [line for line in query.explain().splitlines() if line.startswith("note")]
    assert len(notes) == len(asked)
    assert all("replay may give another answer" in note for note in notes)
    answers = table(shaped(query, monkeypatch, PANES).dataframe())
    for where, (*found, nothing) in answers.items():
        begin, end, _ = ast.literal_eval(where)
        inside = [n for n in range(6000) if begin <= START + n % 60 * SECOND < end]
        for share, value in zip(shares, found, strict=True):
            rank = sum(n <= value for n in inside) / len(inside)
            assert rank == pytest.approx(share, abs=0.03)
        assert nothing is None
