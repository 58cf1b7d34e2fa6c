"""Aggregates written in Python give what the naive evaluators give, batch by batch."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

import penstock as ps
from penstock.engine.packing import thaw
from penstock.engine.stateful import PAYLOAD
from penstock.errors import SchemaError, SpecificationError, StreamFailed
from penstock.windows import Fold, evaluate, replay
from penstock.windows.aggregates import COUNT_ALL
from penstock.windows.oracle import account
from tests.engine.streams import SECOND, START, Files, instant, lost, run_penstock

Row = dict[str, Any]


def distinct() -> Fold[Any]:
    """The different values; incr and merge change the states that they are given."""

    def incr(seen: set[Any], value: object) -> set[Any]:
        seen.add(value)
        return seen

    def merge(left: set[Any], right: set[Any]) -> set[Any]:
        left |= right
        return left

    return Fold("distinct", set, incr, merge, lambda seen: sorted(seen, key=str))


def last() -> Fold[Any]:
    return Fold("last", lambda: None, lambda _, value: value, lambda _, b: b, lambda value: value)


ASKED = {"seen": ps.user_defined(distinct(), "v", "array<bigint>"), "n": ps.count()}
ORACLE: Any = {"seen": (distinct(), "v"), "n": (COUNT_ALL, None)}

WINDOWS: dict[str, Any] = {
    "sliding": lambda stream: stream.window("10 s", every="4 s"),
    "cumulative": lambda stream: stream.cumulative("20 s", every="5 s"),
    "no whole ms": lambda stream: stream.window(2_500_300, every=1_500_100),
    "gaps": lambda stream: stream.window("2 s", every="5 s"),
}
BATCHES: list[list[Row]] = [
    [
        {"ts": None if t is None else START + int(t * SECOND), "k": key, "v": value}
        for t, key, value in batch
    ]
    for batch in (
        [(3, "a", 1), (12.5, "a", 2), (11, "b", None), (None, "a", 3)],
        [(25.0004, "a", 4), (4, "a", 5), (12.1, None, 6)],
        [(9, "a", 7), (15, "c", 8), (21, "b", 9), (16, "a", 10), (6, "d", 11)],
        [(48, "b", 12), (22, "a", 13), (1, "a", 14)],
        [(22.5, "a", 15), (41, "a", 16)],
    )
]


def as_tuples(results: Sequence[Row]) -> list[tuple[Any, ...]]:
    """Results of an oracle, as a DataFrame gives them."""

    def naive(micros: Any) -> Any:
        moment = instant(micros)
        return moment and moment.replace(tzinfo=None)

    rows = (tuple(r.values()) for r in results)
    return sorted(((naive(start), naive(end), *rest) for start, end, *rest in rows), key=repr)


@pytest.mark.parametrize("window", ["sliding", "cumulative", "gaps"])
def test_a_batch_is_the_exact_answer(spark, tmp_path, window):
    files, rows = Files(spark, tmp_path), [row for batch in BATCHES for row in batch]
    files.add(rows)
    frame = spark.read.parquet(str(tmp_path / "source"))
    query = WINDOWS[window](ps.stream(frame, "ts")).by("k").agg(**ASKED)
    found = sorted((tuple(row) for row in query.dataframe().collect()), key=repr)
    assert found == as_tuples(evaluate(rows, query.query.spec, ["k"], ORACLE))
    assert query.accounts == lost(account(rows, query.query.spec))


@pytest.mark.parametrize(
    ("window", "late", "keys"),
    [
        ("sliding", "generous", ["k"]),
        ("cumulative", "consistent", ["k"]),
        ("no whole ms", "generous", []),
    ],
)
def test_a_stream_emits_what_is_due_in_each_batch(spark, tmp_path, window, late, keys):
    files = Files(spark, tmp_path)
    for batch in BATCHES:
        files.add(batch)
    stream = ps.stream(files.stream(), "ts", slack="1 s", late=late)
    query = WINDOWS[window](stream).by(*keys).agg(**ASKED)
    told = replay(BATCHES, query.query.spec, keys, ORACLE, slack="1 s", late=late)
    found: dict[int, Any] = {}
    run = run_penstock(query, tmp_path / "checkpoint", found)
    assert found == {n: as_tuples(b.emitted) for n, b in enumerate(told.batches) if b.emitted}
    assert run.accounts == lost(told.accounts)
    assert run.accounts["late_lost"] > 0


def test_a_restart_goes_on_where_the_stream_stopped(spark, tmp_path):
    files, found = Files(spark, tmp_path), dict[int, Any]()
    for part in (BATCHES[:2], BATCHES[2:]):
        for batch in part:
            files.add(batch)
        stream = ps.stream(files.stream(), "ts", slack="1 s")
        query = WINDOWS["sliding"](stream).by("k").agg(**ASKED)
        run_penstock(query, tmp_path / "checkpoint", found)
    batches = [*BATCHES[:2], [], *BATCHES[2:]]
    told = replay(batches, query.query.spec, ["k"], ORACLE, slack="1 s")
    assert found == {n: as_tuples(b.emitted) for n, b in enumerate(told.batches) if b.emitted}


def test_the_state_is_partials_and_never_rows(spark, tmp_path):
    total = Fold("total", int, lambda n, v: n + v, lambda a, b: a + b, lambda n: n)
    sizes = []
    for number in (16, 8_000):
        files = Files(spark, tmp_path / str(number))
        files.add([{"ts": START + i % 8 * SECOND, "k": "a", "v": 1000} for i in range(number)])
        query = ps.stream(files.stream(), "ts").window("6 s", every="4 s").by("k")
        checkpoint = tmp_path / str(number) / "checkpoint"
        run_penstock(query.agg(x=ps.user_defined(total, "v", "bigint")), checkpoint, {})
        store = spark.read.format("statestore").load(str(checkpoint))
        buckets = [row[0] for row in store.select(f"value.groupState.{PAYLOAD}").collect()]
        [state] = [b for b in buckets if len(thaw(bytes(b))["windows"]["panes"])]
        panes = thaw(bytes(state))["windows"]["panes"]
        # [-4, 2) and [0, 6) are over, [4, 10) needs two panes.
        [(partials,)] = panes.states
        assert [pickle.loads(part) for part in partials] == [number // 4 * 1000] * 2
        sizes.append(len(state))
    assert abs(sizes[0] - sizes[1]) <= 8  # digits of the sums


VALUES = """
SELECT timestamp_seconds(id) AS ts, * FROM VALUES
    (1, 9007199254740993L, double('NaN'), 1.10BD, timestamp'2020-01-01 00:00:00.5',
     date'1600-01-01', 'x', true, x'00', array(1, NULL), float('-0.0'), map('a', 1)),
    (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
    AS t(id, l, d, c, t, day, s, b, x, a, f, m)"""


def test_values_come_as_they_are_and_null_is_not_nan(spark):
    shown = Fold("shown", list, lambda r, v: [*r, repr(v)], lambda a, b: a + b, sorted)
    rows = spark.sql(VALUES)
    asked = {n: ps.user_defined(shown, n, "array<string>") for n in rows.columns[2:]}
    [result] = ps.stream(rows, "ts").window("10 s").agg(**asked).dataframe().collect()
    told = {
        "l": "9007199254740993",
        "d": "nan",
        "c": "Decimal('1.10')",
        "t": "datetime.datetime(2020, 1, 1, 0, 0, 0, 500000)",
        "day": "datetime.date(1600, 1, 1)",
        "s": "'x'",
        "b": "True",
        "x": "b'\\x00'",
        "a": "[1, None]",
        "f": "-0.0",
        "m": "{'a': 1}",
    }
    assert {n: result[n] for n in asked} == {n: sorted([v, "None"]) for n, v in told.items()}


def test_keys_and_answers_of_any_type_come_back_as_they_were(spark):
    rows = spark.sql(VALUES).union(spark.sql(VALUES).withColumn("f", -F.col("f"))).drop("id", "m")
    keys = rows.columns[1:]
    asked = {
        f"{key}_": ps.user_defined(last(), key, rows.schema[key].dataType.simpleString())
        for key in keys
    }
    query = ps.stream(rows, "ts").window("10 s").by(*keys).agg(n=ps.count(), **asked)
    found = query.dataframe().drop("window_start", "window_end").cache()
    groups = rows.groupBy(*keys).agg(F.count("*").alias("n"))
    told = groups.select(*keys, "n", *(F.col(key).alias(f"{key}_") for key in keys))
    assert found.count() == 2
    assert told.exceptAll(found).isEmpty()


def test_aggregates_of_sparks_own_may_stand_beside_it(spark):
    rows = spark.sql("""
        SELECT timestamp_micros(id * 1700000) AS ts, if(id % 7 = 0, NULL, id) AS l,
               if(id % 5 = 0, NULL, cast(id / 3 AS decimal(12, 3))) AS c,
               if(id % 20 = 3, double('NaN'), id / 4) AS d, cast(id AS string) AS s
        FROM range(60)""")
    spread = ("var_samp", "var_pop", "stddev_samp", "stddev_pop")
    folds = ("count", "min", "max", "sum", "avg", *spread)
    pairs = [(f, c) for f in folds for c in ("l", "c", "d")] + [("min", "s"), ("max", "ts")]
    asked = {f"{f}_{c}": getattr(ps, f)(c) for f, c in pairs}
    seen = ps.user_defined(distinct(), "l", "array<bigint>")
    found = ps.stream(rows, "ts").window("20 s", every="8 s").agg(seen=seen, **asked).dataframe()
    told = rows.groupBy(F.window("ts", "20 seconds", "8 seconds")).agg(
        *(getattr(F, f)(c).alias(f"{f}_{c}") for f, c in pairs)
    )
    assert [found.schema[n].dataType for n in asked] == [told.schema[n].dataType for n in asked]
    results = found.orderBy("window_end").select(*asked).collect()
    for result, right in zip(results, told.orderBy("window").select(*asked).collect(), strict=True):
        for name in asked:
            close = isinstance(right[name], float)
            exact = pytest.approx(right[name], rel=1e-9, nan_ok=True) if close else right[name]
            assert result[name] == exact, name


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        (ps.user_defined(distinct(), "vv", "int"), SchemaError, "x = 'vv' must be made of columns"),
        (ps.user_defined(distinct(), "v", "duble"), SpecificationError, "got 'duble'"),
        (ps.user_defined(distinct(), "v", " "), SpecificationError, "such as 'double'"),
        (ps.max("array(v)"), SchemaError, "put it in a query of its own"),
        (ps.sum("k"), SchemaError, "sum(k) needs a column of type"),
        (ps.min("make_ym_interval(1)"), SchemaError, "Python can be handed"),
    ],
)
def test_what_cannot_be_is_refused_before_it_starts(spark, asked, error, message):
    rows = spark.sql("SELECT timestamp_seconds(id) AS ts, 'a' AS k, id AS v FROM range(1)")
    with pytest.raises(error) as refused:
        ps.stream(rows, "ts").window("1 s").agg(x=asked, **ASKED)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("final", "returns", "message"),
    [
        (lambda _: "many", "double", "SchemaError: x = odd(v) must give double"),
        (lambda _: 1.5, "bigint", "SchemaError: x = odd(v) must give int64, got '1.5'"),
        (lambda _: 300, "tinyint", "too large"),
        (lambda _: 1 // 0, "int", "ZeroDivisionError"),
    ],
)
def test_an_answer_of_another_type_is_refused(spark, final, returns, message):
    rows = spark.sql("SELECT timestamp_seconds(id) AS ts, id AS v FROM range(3)")
    fold = Fold("odd", int, lambda n, _: n, lambda a, b: a + b, final)
    query = ps.stream(rows, "ts").window("9 s").agg(x=ps.user_defined(fold, "v", returns))
    with pytest.raises(PySparkException) as refused:
        query.dataframe().collect()
    assert message in str(refused.value)


def test_a_sum_that_does_not_fit_is_an_error(spark):
    rows = spark.sql("SELECT timestamp_seconds(id) AS ts, 4611686018427387904 AS v FROM range(3)")
    query = ps.stream(rows, "ts").window("9 s").agg(total=ps.sum("v"), **ASKED)
    with pytest.raises(PySparkException, match="ArithmeticOverflow: sum must fit in 64 bits"):
        query.dataframe().collect()


def test_an_error_of_the_users_function_ends_the_stream_in_one_line(spark, tmp_path):
    def incr(state: int, value: int | None) -> int:
        if value == 4:
            raise ValueError("four is too much")
        return state

    files = Files(spark, tmp_path)
    for batch in BATCHES[:2]:
        files.add(batch)
    fold = Fold("picky", int, incr, lambda a, b: a + b, lambda n: n)
    query = ps.stream(files.stream(), "ts").window("9 s")
    run = query.agg(x=ps.user_defined(fold, "v", "int")).start(
        str(tmp_path / "checkpoint"), format="noop", trigger={"availableNow": True}
    )
    with pytest.raises(StreamFailed) as failed:
        run.wait()
    assert "ValueError: four is too much" in str(failed.value)
    assert "\n" not in str(failed.value)
