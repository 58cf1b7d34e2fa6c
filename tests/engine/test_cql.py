"""CQL text over DataFrames: the paper's queries as batch and stream, and what is refused where."""

# ruff: noqa: S608 - CQL is made of strings here, and no database reads it

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.engine.cql import CqlQuery
from penstock.errors import SchemaError, SpecificationError
from penstock.network.cql import CqlError, parse
from penstock.windows import evaluate
from penstock.windows.aggregates import COUNT_ALL, MAX, MIN
from penstock.windows.kinds import SLIDE_BY_KINDS, TUPLE_KINDS
from tests.engine.streams import SECOND, START, Files, instant, run_penstock
from tests.network.cql.test_paper_queries import Q1, Q2, Q3, Q4, Q5

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", tz="UTC")),
        ("seg-id", pa.int64()),
        ("speed", pa.int64()),
        ("n", pa.int64()),
    ]
)
SLACK = 30
FOLDS = {
    "max(speed)": (MAX, "speed"),
    "min(speed)": (MIN, "speed"),
    "count(1)": (COUNT_ALL, None),
}
PAPER = {"Q1": Q1[0], "Q2": Q2[0], "Q3": Q3[0], "Q4": Q4[0], "Q5": Q5[0]}
WINDOW = "[RANGE 300 seconds SLIDE 60 seconds WATTR ts]"


@cache
def traffic() -> list[dict[str, Any]]:
    """A row a second, up to 20 seconds out of order; one segment has enough rows for Q4."""
    draw = random.Random(5)
    rows: list[dict[str, Any]] = [
        {
            "ts": START + (second - draw.randint(0, 20)) * SECOND,
            "seg-id": draw.choices([1, 2, 3], [90, 9, 1])[0],
            "speed": draw.choice([None, draw.randint(20, 130)]),
            "n": second,
        }
        for second in range(1200)
    ]
    rows[700]["ts"] = None
    return rows


def table(spark: SparkSession, rows: list[dict[str, Any]]) -> DataFrame:
    times = [{**row, "ts": instant(row["ts"])} for row in rows]
    return spark.createDataFrame(pa.Table.from_pylist(times, schema=SCHEMA))


@pytest.fixture(scope="module")
def stored(spark: SparkSession) -> DataFrame:
    return table(spark, traffic())


@pytest.fixture(scope="module")
def files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The table in four files, which a stream takes one by one."""
    parts = Files(spark, tmp_path_factory.mktemp("traffic"), SCHEMA)
    for begin in range(0, len(traffic()), 300):
        parts.add(traffic()[begin : begin + 300])
    return parts


def expected(text: str, *, closed: bool) -> list[tuple[Any, ...]]:
    """The naive answer; of the windows that are closed when all rows are in, or of all of them."""
    asked = parse(text)
    spec, rows = asked.window, traffic()
    newest = max(row["ts"] for row in rows if row["ts"] is not None)
    until = newest - SLACK * SECOND if closed and spec.kind not in TUPLE_KINDS else None
    folds = {name: FOLDS[name] for name in asked.aggregates}
    results = evaluate(rows, spec, asked.keys, folds, until)
    if closed and spec.kind in TUPLE_KINDS:
        counted = {row["seg-id"]: 0 for row in rows}
        for row in rows:
            counted[row["seg-id"]] += 1
        results = [
            r
            for r in results
            if (r["wid"] + 1) * spec.slide <= (counted[r["seg-id"]] if spec.pattr else len(rows))
        ]
    return sorted((_row(r, asked.select, spec.kind in SLIDE_BY_KINDS) for r in results), key=repr)


def _row(result: dict[str, Any], select: Any, wid_is_time: Any) -> tuple[Any, ...]:
    values = [result[item.name] for item in select]
    if "wid" in result:
        return (_time(result["wid"]) if wid_is_time else result["wid"], *values)
    return (_time(result["window_start"]), _time(result["window_end"]), *values)


def _time(micros: int) -> Any:
    moment = instant(micros)
    assert moment is not None
    return moment.replace(tzinfo=None)


def collected(rows: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in rows.collect()), key=repr)


# --- the paper's queries --------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAPER)
def test_the_paper_s_queries_as_a_batch(stored, name):
    query = ps.cql(PAPER[name], Traffic=ps.stream(stored, "ts", order="n"))
    answers = query.dataframe()
    window = ["wid"] if name != "Q1" else ["window_start", "window_end"]
    assert answers.columns == [*window, *(item.name for item in parse(PAPER[name]).select)]
    assert collected(answers) == expected(PAPER[name], closed=False)


@pytest.mark.parametrize("name", PAPER)
def test_the_paper_s_queries_as_a_stream(files, tmp_path, name):
    of = ps.stream(files.stream(), "ts", slack=f"{SLACK} seconds", order="n")
    found: dict[int, list[tuple]] = {}
    ran = run_penstock(ps.cql(PAPER[name], Traffic=of), tmp_path, found)
    assert len(found) >= 4
    answers = sorted((row for batch in found.values() for row in batch), key=repr)
    assert answers == expected(PAPER[name], closed=True)
    assert ran.accounts["late_lost"] == ran.accounts["late_partial"] == 0
    assert ran.explained.startswith("SELECT `seg-id`, ")
    assert "Traffic [RANGE " in ran.explained


# --- what is selected -----------------------------------------------------------------------------


def test_the_result_has_the_select_list_in_its_order_with_its_names(stored):
    text = f"""
        SELECT max(speed) AS fastest, `SEG-ID` AS Segment, count(*)
        FROM traffic {WINDOW} GROUP BY `seg-id`, speed"""
    answers = ps.cql(text, Traffic=stored).dataframe()
    assert answers.columns == ["window_start", "window_end", "fastest", "Segment", "count(1)"]
    by_hand = ps.stream(stored, "ts").window(ps.sliding("300 s", "60 s", on="ts"))
    wanted = by_hand.by("seg-id", "speed").agg(n=ps.count(), m=ps.max("speed")).dataframe()
    names = ("window_start", "window_end", "m", "`seg-id`", "n")
    assert collected(answers) == collected(wanted.select(*names))


def test_a_result_may_have_the_name_of_a_key_that_is_not_selected(stored):
    text = f"SELECT max(speed) AS `seg-id` FROM Traffic {WINDOW} GROUP BY `seg-id`"
    answers = ps.cql(text, Traffic=stored).dataframe()
    wanted = ps.cql(text.replace("AS `seg-id`", ""), Traffic=stored).dataframe()
    assert answers.columns == ["window_start", "window_end", "seg-id"]
    assert collected(answers) == collected(wanted)


def test_where_keeps_rows_before_they_are_windowed(stored):
    text = "SELECT count(*) FROM Traffic [RANGE 100 rows SLIDE 100 rows WATTR row-num] WHERE {}"
    kept = "speed > 100 AND `seg-id` IN (1, 2)"
    answers = ps.cql(text.format(kept), Traffic=ps.stream(stored, order="n")).dataframe()
    fast = [r for r in traffic() if (r["speed"] or 0) > 100 and r["seg-id"] in (1, 2)]
    full, rest = divmod(len(fast), 100)
    assert collected(answers) == [*((wid, 100) for wid in range(full)), (full, rest)]


def test_a_field_of_a_struct_is_a_column_too(stored):
    nested = stored.selectExpr("struct(ts, `seg-id`) AS at", "speed")
    text = """
        SELECT at.`seg-id`, max(speed) AS m
        FROM Traffic [RANGE 300 s SLIDE 60 s WATTR at.ts] WHERE at.`seg-id` < 3"""
    flat = text.replace("at.", "")
    answers = ps.cql(text, Traffic=nested).dataframe()
    assert answers.columns[2:] == ["at.seg-id", "m"]
    assert collected(answers) == collected(ps.cql(flat, Traffic=stored).dataframe())


def test_a_plain_number_is_a_window_over_whole_numbers(stored):
    text = "SELECT count(*) FROM Traffic [RANGE 100 SLIDE 50 WATTR n] WHERE n >= 1000"
    answers = {tuple(row) for row in ps.cql(text, Traffic=stored).dataframe().collect()}
    full = {(begin, begin + 100, 100) for begin in (1000, 1050, 1100)}
    assert answers == full | {(950, 1050, 50), (1150, 1250, 50)}


def test_a_stream_counts_its_rows_though_no_key_is_selected(files, tmp_path):
    text = f"SELECT count(*) FROM Traffic {WINDOW} WHERE `seg-id` > 0 GROUP BY `seg-id`"
    found: dict[int, list[tuple]] = {}
    ran = run_penstock(ps.cql(text, Traffic=files.stream()), tmp_path, found)
    assert all(len(row) == 3 for batch in found.values() for row in batch)
    assert ran.accounts["no_time"] == 1


def test_explain_shows_the_canonical_text(stored):
    text = "select MAX(speed\n + 1) m2 from TRAFFIC [wattr ts slide 1 min range 300 s]"
    explained = ps.cql(text.replace(" m2", " AS m2"), Traffic=stored).explain()
    canonical = "SELECT max(speed\n + 1) AS m2\nFROM TRAFFIC [RANGE 5 min SLIDE 1 min WATTR ts]\n"
    assert explained.startswith(canonical + "window    sliding: CF: ")


# --- streams and their names ----------------------------------------------------------------------


def test_streams_are_found_by_name_in_any_case_and_in_a_dict(stored):
    text = f"SELECT count(*) FROM `my traffic` {WINDOW}"
    assert isinstance(ps.cql(text, {"My Traffic": stored}, other=stored), CqlQuery)
    assert isinstance(ps.cql(text, streams={"my traffic": ps.stream(stored, "TS")}), CqlQuery)


@pytest.mark.parametrize(
    ("streams", "named", "error", "said"),
    [
        (None, {"T": 1, "t": 2}, SpecificationError, "streams must have each name once"),
        ({"T": 1}, {"T": 2}, SpecificationError, "streams must have each name once"),
        ([1], {}, SpecificationError, "streams must be a dict of names and streams, got 'list'"),
        (None, {"T": 1}, SchemaError, "stream T must be a DataFrame or what ps.stream() gives"),
    ],
)
def test_what_is_no_stream_is_refused(streams, named, error, said):
    with pytest.raises(error) as caught:
        ps.cql("SELECT count(*) FROM T [RANGE 1 s SLIDE 1 s WATTR ts]", streams, **named)
    assert str(caught.value).startswith(said)


# --- what is refused, and where -------------------------------------------------------------------

# The place is marked by § in the text, and taken out of it before it is read.
REFUSED = [
    (f"SELECT count(*) FROM §Trafic {WINDOW}", "a stream that is given; got 'Trafic'; did you"),
    (f"SELECT count(*) FROM §X {WINDOW}", "got 'X'; known: Traffic, Numbered"),
    (
        f"SELECT §sped, max(sped) FROM Traffic {WINDOW}",
        "SELECT needs a column of Traffic; got 'sped'; did you mean 'speed'?",
    ),
    (
        f"SELECT count(*),\n  max(speed / §sped) FROM Traffic {WINDOW}",
        "max needs a column of Traffic; got 'sped'; did you mean 'speed'?",
    ),
    (
        f"SELECT sum(speed +§) FROM Traffic {WINDOW}",
        "sum needs an SQL expression; [PARSE_SYNTAX_ERROR] Syntax error at or near end of input.",
    ),
    (f"SELECT avg(§tags) FROM Traffic {WINDOW}", "avg(tags) needs a column of type numeric"),
    (
        f"SELECT count(*) FROM Traffic {WINDOW}\nWHERE speed > 3\n  AND §sped < 9",
        "WHERE needs a column of Traffic; got 'sped'; did you mean 'speed'?",
    ),
    (
        f"SELECT count(*) FROM Traffic {WINDOW} WHERE §traffic.speed < 9",
        "got 'traffic.speed'; leave out the stream's name: write speed",
    ),
    (
        f"SELECT count(*) FROM Traffic {WINDOW}\nWHERE speed > 3\n  AND speed < §< 9",
        "WHERE must be a predicate; [PARSE_SYNTAX_ERROR] Syntax error at or near '<'.",
    ),
    (
        f"SELECT count(*) FROM Traffic {WINDOW} WHERE §speed GROUP BY `seg-id`",
        "WHERE must be a predicate; [DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN] Cannot resolve",
    ),
    (
        f"SELECT count(*) FROM Traffic {WINDOW} WHERE §fastest(speed)",
        "WHERE must be a predicate; [UNRESOLVED_ROUTINE] Cannot resolve routine `fastest`",
    ),
    (
        f"SELECT count(*) FROM Traffic {WINDOW} GROUP BY speed, §tags",
        "GROUP BY needs a type that can be a key, got 'tags: map<string,int>'",
    ),
    (
        f"SELECT §pair.b, count(*) FROM Traffic {WINDOW}",
        "SELECT needs a column; got 'pair.b'; [FIELD_NOT_FOUND] No such struct field `b` in `a`.",
    ),
    (
        "SELECT lower, count(*) FROM §Numbered [RANGE 9 rows SLIDE 3 rows WATTR row-num]",
        "GROUP BY needs keys that Python can be handed, and plain text, got 'lower: string",
    ),
    (
        "SELECT count(*) FROM Traffic [§RANGE 300 SLIDE 60 WATTR ts]",
        "RANGE needs a unit of time, such as seconds; the window is over ts: timestamp",
    ),
    (
        "SELECT count(*) FROM Traffic [§RANGE 300 s SLIDE 60 s WATTR n]",
        "RANGE needs a plain number, with no unit; the window is over n: bigint",
    ),
    (
        "SELECT count(*) FROM Traffic [§RANGE 300 RATTR ts SLIDE 1 row SATTR row-num]",
        "RANGE needs a unit of time",
    ),
    (
        "SELECT count(*) FROM Traffic [LANDMARK §SLIDE 60 s WATTR n]",
        "SLIDE needs a plain number, with no unit",
    ),
    (
        "SELECT count(*) FROM Traffic [RANGE 300 s SLIDE 60 s WATTR §text]",
        "WATTR must be of type timestamp, or a whole number; got text: string",
    ),
    (
        "SELECT count(*) FROM Traffic [RANGE 9 rows SLIDE 3 rows §WATTR row-num]",
        "row-num needs a stream whose rows have an order; such as Traffic=ps.stream(df, order='",
    ),
    (
        "SELECT count(*) FROM Numbered [RANGE 300 s SLIDE 60 s WATTR §ts]",
        "WATTR must be the event time of Numbered, which has none; got 'ts'; give ps.stream(df, ",
    ),
    (
        "SELECT count(*) FROM Timed [RANGE 300 RATTR §n SLIDE 1 row SATTR row-num]",
        "RATTR must be the event time of Timed, which is ts; got 'n'; give ps.stream(df, event_",
    ),
    (
        "SELECT §count(*) AS wid FROM Numbered [RANGE 9 rows SLIDE 3 rows WATTR row-num]",
        "every result begins with wid by itself; got 'wid' too",
    ),
]


@pytest.mark.parametrize(("marked", "said"), REFUSED)
def test_what_does_not_fit_is_refused_at_its_place(stored, marked, said):
    rows = stored.selectExpr(
        "*",
        "map('a', 1) AS tags",
        "struct(1 AS a) AS pair",
        "'x' AS text",
        "'x' COLLATE UTF8_LCASE AS lower",
    )
    given = {
        "Traffic": rows,
        "Numbered": ps.stream(rows, order="n"),
        "Timed": ps.stream(rows, "ts"),
    }
    text, place = marked.replace("§", ""), marked.index("§")
    with pytest.raises(CqlError) as caught:
        ps.cql(text, given)
    error = caught.value
    before = text[:place].split("\n")
    assert (error.line, error.column) == (len(before), len(before[-1]) + 1)
    assert said in error.message
    assert "\n" not in error.message
