"""What a text may be: names, expressions, predicates, comments, and every kind of window."""

# ruff: noqa: S608 - the queries are read here, and never run

import pytest

from penstock.network import aggregates as agg
from penstock.network.cql import parse
from penstock.network.cql.statement import PlainColumn
from penstock.windows import (
    format_duration,
    landmark,
    rows,
    slide_by_rank,
    slide_by_rows,
    slide_by_tuple,
    sliding,
    tumbling,
)

WINDOW = "[RANGE 60 seconds SLIDE 5 seconds WATTR ts]"


def selected(select: str):
    return parse(f"SELECT {select} FROM t {WINDOW}")


def where(predicate: str) -> str | None:
    return parse(f"SELECT count(*) FROM t {WINDOW} WHERE {predicate}").where


def window(clause: str):
    return parse(f"SELECT count(*) FROM t [{clause}]").window


@pytest.mark.parametrize(
    ("clause", "spec"),
    [
        ("RANGE 60 seconds SLIDE 7 seconds WATTR ts", sliding("60 s", "7 s", "ts")),
        ("WATTR ts SLIDE 7 second RANGE 1 minute", sliding("60 s", "7 s", "ts")),
        ("RANGE 6.4 seconds SLIDE .4 seconds WATTR ts", sliding("6.4 s", "400 ms", "ts")),
        ("RANGE 1 hour SLIDE 1 hour WATTR ts", tumbling("1 h", "ts")),
        ("range 2 days slide 12 hours wattr ts", sliding("2 days", "12 h", "ts")),
        ("RANGE 250 ms SLIDE 50 milliseconds WATTR ts", sliding("250 ms", "50 ms", "ts")),
        ("RANGE 2 min 30 s SLIDE 60s WATTR ts", sliding("150 s", "1 min", "ts")),
        ("RANGE 9 SLIDE 2 WATTR n", sliding(9, 2, "n", unit="value")),
        ("RANGE 1 min SLIDE 2 min WATTR ts", sliding("1 min", "2 min", "ts")),
        ("RANGE 5 min SLIDE 1 min RATTR ts SATTR TS", sliding("5 min", "1 min", "ts")),
        ("LANDMARK SLIDE 1 hour WATTR ts", landmark("1 h", "ts")),
        ("SLIDE 10 WATTR n LANDMARK", landmark(10, "n", unit="value")),
        ("RANGE 1000 rows SLIDE 1 row WATTR row-num", rows(1000)),
        ("RANGE 10 ROWS SLIDE 5 ROWS WATTR ROW_NUM", rows(10, 5)),
        ("RANGE 10 rows SLIDE 5 rows WATTR `row-num`", rows(10, 5)),
        ("RANGE 10 rows SLIDE 5 rows RATTR row-num SATTR row_num", rows(10, 5)),
        ("RANGE 9 SLIDE 2 WATTR `row_num`", sliding(9, 2, "row_num", unit="value")),
        ("PATTR a, `b-c` RANGE 10 rows SLIDE 5 rows WATTR row-num", rows(10, 5, by=["a", "b-c"])),
        ("RANGE 5 min RATTR ts SLIDE 1 row SATTR row-num", slide_by_tuple("5 min", "ts")),
        ("RANGE 5 RATTR n SLIDE 1 row SATTR row-num", slide_by_tuple(5, "n", unit="value")),
        ("RANGE 5 min RATTR ts SLIDE 3 rows SATTR row-num", slide_by_rows("5 min", "ts", every=3)),
        ("RANGE 5 min RATTR ts SLIDE 3 rows SATTR RANK(TS)", slide_by_rank("5 min", "ts", every=3)),
        ("RANGE 5 SLIDE 1 WATTR rank", sliding(5, 1, "rank", unit="value")),
    ],
)
def test_every_kind_of_window_has_its_words(clause, spec):
    assert window(clause) == spec


@pytest.mark.parametrize(
    "spec",
    [
        sliding("150 s", "1.5 s", "ts"),
        sliding(3, 1, "ts"),
        landmark("1 day", "ts"),
        rows(10, 2, by=["a", "b"]),
        slide_by_rank("90 min", "ts", every=4),
    ],
    ids=str,
)
def test_what_explain_prints_can_be_pasted(spec):
    assert window(str(spec)) == spec


@pytest.mark.parametrize("micros", [1, 999, 1_001, 61_000_001, 90_061_000_000])
def test_every_written_length_is_read(micros):
    assert window(f"LANDMARK SLIDE {format_duration(micros)} WATTR ts").slide == micros


@pytest.mark.parametrize(
    ("call", "name", "aggregate"),
    [
        ("count(*)", "count(1)", agg.count()),
        ("COUNT ( * )", "count(1)", agg.count()),
        ("count(speed)", "count(speed)", agg.count("speed")),
        ("sum(a * (b + 1))", "sum(a * (b + 1))", agg.sum("a * (b + 1)")),
        ("avg(speed)", "avg(speed)", agg.avg("speed")),
        ("mean(speed)", "mean(speed)", agg.avg("speed")),
        ("min( speed )", "min(speed)", agg.min("speed")),
        ("max(`top-speed`)", "max(top-speed)", agg.max("`top-speed`")),
        ('max("top-speed" /* x */ + 1)', "max(top-speed + 1)", agg.max("`top-speed` /* x */ + 1")),
        ("var_samp(x)", "var_samp(x)", agg.var_samp("x")),
        ("variance(x)", "variance(x)", agg.var_samp("x")),
        ("var_pop(x)", "var_pop(x)", agg.var_pop("x")),
        ("Stddev_Samp(x)", "stddev_samp(x)", agg.stddev_samp("x")),
        ("stddev(x)", "stddev(x)", agg.stddev_samp("x")),
        ("std(x)", "std(x)", agg.stddev_samp("x")),
        ("stddev_pop(x)", "stddev_pop(x)", agg.stddev_pop("x")),
        ("approx_count_distinct(x)", "approx_count_distinct(x)", agg.approx_count_distinct("x")),
        (
            "approx_percentile(x, 0.99)",
            "approx_percentile(x, 0.99)",
            agg.approx_percentile("x", 0.99),
        ),
        ("percentile_approx(x,1)", "percentile_approx(x, 1.0)", agg.approx_percentile("x", 1)),
        ("sum(if(a, b, c[0]))", "sum(if(a, b, c[0]))", agg.sum("if(a, b, c[0])")),
        ("count(') , ''FROM')", "count(') , ''FROM')", agg.count("') , ''FROM'")),
        (r"max(r'\')", r"max(r'\')", agg.max(r"r'\'")),
        ("min(x) AS least", "least", agg.min("x")),
        ("min(x) as `the least.`", "the least.", agg.min("x")),
    ],
)
def test_aggregates_are_called_as_in_spark(call, name, aggregate):
    assert selected(call).aggregates == {name: aggregate}


@pytest.mark.parametrize(
    ("written", "column", "name"),
    [
        ("speed", "speed", "speed"),
        ("speed AS s", "speed", "s"),
        ("car . speed", "car.speed", "car.speed"),
        ("`car`.`top-speed`", "car.top-speed", "car.top-speed"),
        ("`a``b`", "a`b", "a`b"),
        ('"a""b"', 'a"b', 'a"b'),
        ("`select`", "select", "select"),
        ("count", "count", "count"),
        ("range", "range", "range"),
        ("größe", "größe", "größe"),
    ],
)
def test_names_are_plain_dotted_or_quoted(written, column, name):
    statement = selected(f"{written}, count(*) AS n")
    assert statement.select[0] == PlainColumn(name, column)
    assert statement.keys == (column,)


@pytest.mark.parametrize(
    "predicate",
    [
        "speed > 0 AND kind IN ('car', 'bus')",
        "kind = 'GROUP BY x; [('",
        "`group by` = 1",
        "kind = 'it''s' OR kind = 'it\\'s )'",
        "id IN (SELECT id FROM cars GROUP BY id HAVING count(*) > 1)",
        "a[0] > b['x']",
        "x > -- faster (than\n 3",
        "x /* GROUP BY /* nested */ ) */ > 3",
        "kind RLIKE r'\\d+'",
        "group > 1",
        "by = 1",
        "a:b.c::int > 1 AND NOT (x <=> y)",
    ],
)
def test_a_predicate_is_kept_as_it_is_written(predicate):
    assert where(predicate) == predicate
    text = f"SELECT count(*) FROM t {WINDOW} WHERE {predicate} GROUP BY k, j ; -- done"
    assert (parse(text).where, parse(text).group_by) == (predicate, ("k", "j"))


def test_double_quotes_are_a_name_which_spark_wants_in_backquotes():
    assert where('"seg-id" = 7 AND kind = \'"\'') == "`seg-id` = 7 AND kind = '\"'"


def test_comments_and_lines_may_stand_anywhere():
    text = """
    -- the busiest /* segment
    select/* columns */seg,
           count(*) as n    -- rows \\
             of any kind
      from t [range 60 seconds -- a minute ]
              slide 5 seconds /* /* often */ */ wattr ts]
     group
        by seg;
    -- end"""
    plain = f"SELECT seg, count(*) AS n FROM t {WINDOW} GROUP BY seg"
    assert parse(text) == parse(plain)
    assert parse(text.replace("\n", "\r\n").replace("\\\r\n", "\\\n")) == parse(plain)


def test_the_stream_may_have_a_long_name():
    assert parse(f"SELECT count(*) FROM cat.db.`my-t` {WINDOW}").stream == "cat.db.my-t"


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (f"SELECT a, count(*), b FROM t {WINDOW}", ("a", "b")),
        (f"SELECT count(*) FROM t {WINDOW}", ()),
        (f"SELECT B, count(*) FROM t {WINDOW} GROUP BY a, b", ("a", "b")),
        (f"SELECT a AS x, a AS y, count(*) FROM t {WINDOW}", ("a",)),
        ("SELECT count(*) FROM t [RANGE 9 rows SLIDE 1 row WATTR row-num PATTR p]", ()),
        ("SELECT p, count(*) FROM t [RANGE 9 rows SLIDE 1 row WATTR row-num PATTR p]", ("p",)),
        (
            "SELECT P, count(*) FROM t [RANGE 9 rows SLIDE 1 row WATTR row-num PATTR p] GROUP BY a",
            ("a", "P"),
        ),
    ],
)
def test_keys_are_the_grouping_columns(text, keys):
    assert parse(text).keys == keys
