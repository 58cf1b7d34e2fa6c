"""Keys and names of every sort, overflows, rows that count nowhere, sketches: in batches."""

from __future__ import annotations

import ast
import contextlib
import math
import random
from datetime import date
from decimal import Decimal

import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

import penstock as ps
from penstock.engine.run import ACCOUNTS
from penstock.errors import PenstockError, SchemaError
from tests.engine.answers import (
    DIRECT,
    PANES,
    SECOND,
    assert_same,
    frame,
    ours,
    shaped,
    table,
    theirs,
)

START = 1_700_000_000 * SECOND
BIGGEST = 2**63 - 1

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


@pytest.mark.parametrize(
    "window",
    [ps.landmark("2 s", on="ts"), ps.slide_by_tuple("2 s", on="ts"), ps.session("2 s", on="ts")],
    ids=str,
)
def test_accounts_of_the_other_kinds(spark, window):
    times = [START, None, START + SECOND, None, None]
    rows = frame(spark, [{"ts": t, "k": "a", "v": 1} for t in times])
    query = ps.stream(rows, "ts").window(window).by("k").agg(n=ps.count())
    assert query.accounts == {**dict.fromkeys(ACCOUNTS, 0), "no_time": 3}


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
