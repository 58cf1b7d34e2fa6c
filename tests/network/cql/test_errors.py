"""An error has a line, a column, what was expected and what may have been meant."""

# ruff: noqa: S608 - the queries are read here, and never run

import pickle

import pytest

from penstock.errors import SpecificationError
from penstock.network.aggregates import count
from penstock.network.cql import CqlError, Statement, check_columns, parse
from penstock.network.cql.statement import Computed, PlainColumn
from penstock.windows import rows

WINDOW = "[RANGE 60 s SLIDE 5 s WATTR ts]"


def refused(text: str) -> CqlError:
    with pytest.raises(CqlError) as caught:
        parse(text)
    first, excerpt, caret = str(caught.value).split("\n")
    assert first == f"line {caught.value.line}, column {caught.value.column}: " + (
        caught.value.message
    )
    assert caret.strip() == "^"
    assert len(caret) <= len(excerpt) + 1
    return caught.value


def test_the_whole_message():
    text = "SELECT count(*)\nFROM Traffic [RANGE 300 secnds\n  SLIDE 60 seconds WATTR ts]"
    assert str(refused(text)) == (
        "line 2, column 25: expected a unit, one of seconds, minutes, hours, days, milliseconds, "
        "rows; got 'secnds'; did you mean 'seconds'?\n"
        "  FROM Traffic [RANGE 300 secnds\n"
        "                          ^"
    )


# The place is marked by § in the text, and taken out of it before it is read.
@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("§", "expected SELECT; got the end of the text"),
        ("§SELCT a", "expected SELECT; got 'SELCT'; did you mean 'SELECT'?"),
        (
            "SELECT §FROM t",
            "expected a column or an aggregate; got 'FROM'",
        ),
        ("SELECT §* FROM t", "expected a column or an aggregate; got '*'"),
        (
            f"SELECT count(*) §FORM t {WINDOW}",
            "expected ',', AS or FROM; got 'FORM'; did you mean 'FROM'?",
        ),
        (
            f"SELECT count(*) §n FROM t {WINDOW}",
            "expected ',', AS or FROM; got 'n'; a name for the result stands after AS",
        ),
        ("SELECT §seg-id, count(*)", "a name with a hyphen must be quoted: write `seg-id`"),
        ("SELECT §a-b-2 FROM t", "a name with a hyphen must be quoted: write `a-b-2`"),
        ("SELECT car.§, count(*)", "expected a name after the dot; got ','"),
        (
            "SELECT §maxx(speed) FROM t",
            "expected an aggregate function; got 'maxx'; did you mean 'max'?",
        ),
        ("SELECT count§(* FROM t", "'(' is not closed"),
        ("SELECT max(a, §(b FROM t", "'(' is not closed"),
        ("SELECT max((a + b§]) FROM t", "expected ')'; got ']'"),
        ("SELECT max(§) FROM t", "expected an expression; got ')'"),
        ("SELECT max(a, §b) FROM t", "max takes one argument; got 2"),
        ("SELECT count(*, §b) FROM t", "count takes one argument; got 2"),
        ("SELECT max(§*) FROM t", "expected an expression; got '*'; only count takes *"),
        (
            "SELECT count(§DISTINCT a) FROM t",
            "count has no DISTINCT; approx_count_distinct counts different values",
        ),
        (
            "SELECT approx_percentile(§a) FROM t",
            "approx_percentile needs a quantile too, such as 0.5; got one argument",
        ),
        (
            "SELECT approx_percentile(a, §1.5) FROM t",
            "expected a quantile, a number from 0 to 1; got '1.5'",
        ),
        (
            "SELECT approx_percentile(a, §-0.5) FROM t",
            "expected a quantile, a number from 0 to 1; got '-0.5'",
        ),
        ("SELECT count(*) AS §FROM t", "expected a name for the result; got 'FROM'"),
        (f"SELECT count(*) FROM §{WINDOW}", "expected the name of a stream; got '['"),
        (
            "SELECT count(*)\nFROM t §WHERE a > 1",
            "expected '[' and a window; got 'WHERE'; such as [RANGE 60 s SLIDE 5 s WATTR ts]",
        ),
        (f"SELECT count(*) FROM t {WINDOW} WHERE§ -- no more", "expected a predicate; got "),
        (f"SELECT count(*) FROM t {WINDOW} WHERE §GROUP BY a", "expected a predicate; got "),
        (f"SELECT count(*) FROM t {WINDOW} WHERE (a > 1§]", "expected ')'; got ']'"),
        (f"SELECT count(*) FROM t {WINDOW} WHERE a §) > 1", "')' closes what is not open"),
        (f"SELECT count(*) FROM t {WINDOW} WHERE §(a ; b)", "'(' is not closed"),
        (f"SELECT count(*) FROM t {WINDOW} WHERE a = §'b", "the quote ' is not closed"),
        (f"SELECT count(*) FROM t {WINDOW} §/* /* */", "the comment /* is not closed"),
        (
            f'SELECT count(*) FROM t {WINDOW} WHERE a = §""',
            "a quoted name must not be empty; a string stands in single quotes",
        ),
        (
            f"SELECT count(*) FROM t {WINDOW} §GRUOP BY a",
            "expected WHERE, GROUP BY or the end; got 'GRUOP'; did you mean 'GROUP'?",
        ),
        (
            f"SELECT count(*) FROM t {WINDOW} WHERE a > 1 §GRUOP BY a",
            "expected GROUP BY or the end; got 'GRUOP'; did you mean 'GROUP'?",
        ),
        (
            f"SELECT count(*) FROM t {WINDOW} WHERE a > 1 §ORDER BY a",
            "expected GROUP BY or the end; got 'ORDER'; apply it to the result",
        ),
        (
            f"SELECT count(*) FROM t {WINDOW} WHERE a §HAVING a",
            "expected GROUP BY or the end; got 'HAVING'; apply it to the result",
        ),
        (f"SELECT count(*) FROM t {WINDOW} GROUP §a", "expected BY; got 'a'"),
        (f"SELECT count(*) FROM t {WINDOW} GROUP BY§", "expected a column; got the end"),
        (
            f"SELECT count(*) FROM t {WINDOW} GROUP BY §seg-id",
            "a name with a hyphen must be quoted: write `seg-id`",
        ),
        (
            f"SELECT count(*) FROM t {WINDOW} GROUP BY a §LIMIT 5",
            "expected ',' or the end; got 'LIMIT'; apply it to the result",
        ),
        (
            f"SELECT count(*) FROM t {WINDOW}; §SELECT 1",
            "expected the end of the text; got 'SELECT'; a text has one query",
        ),
        (
            f"SELECT a, §b, count(*) FROM t {WINDOW} GROUP BY a",
            "b must be in GROUP BY or in an aggregate, as it is selected",
        ),
        (
            f"SELECT count(*) FROM t {WINDOW} GROUP BY a, §A",
            "GROUP BY must name each column once; got 'A' again",
        ),
        (
            f"SELECT count(*) FROM t {WINDOW} GROUP BY §window_end",
            "GROUP BY must not have 'window_end': every result is by window",
        ),
        (
            f"SELECT max(a), §MAX( a ) FROM t {WINDOW}",
            "each result needs a name of its own; got 'max(a)' again; give one with AS",
        ),
        (
            f"SELECT §window_start, count(*) FROM t {WINDOW}",
            "every result begins with window_start and window_end by itself; got 'window_start'",
        ),
        (
            "SELECT §count(*) AS wid FROM t [RANGE 9 rows SLIDE 3 rows WATTR row-num]",
            "every result begins with wid by itself; got 'wid' too",
        ),
        (
            "SELECT count(*) FROM t [RANGE 9 rows SLIDE 3 rows WATTR row-num] GROUP BY §wid",
            "GROUP BY must not have 'wid': every result is by window",
        ),
        (f"SELECT §a FROM t {WINDOW}", "SELECT needs an aggregate, such as count(*)"),
    ],
)
def test_a_mistake_in_the_statement_is_shown_at_its_place(marked, message):
    check_marked(marked, message)


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("RANGE 5 s §SLDE 1 s", "one of RANGE, LANDMARK, SLIDE, WATTR, RATTR, SATTR, PATTR"),
        ("RANGE 5 §SLDE 1", "got 'SLDE'; did you mean 'SLIDE'?"),
        ("RANGE 5 s §RANGE 6 s", "RANGE must be given once; it stands here again"),
        ("RANGE §s SLIDE 1 s", "expected a number, such as 60 or 6.4; got 's'"),
        ("RANGE §-5 s", "expected a number, such as 60 or 6.4; got '-'"),
        ("RANGE §1e9 s", "expected a number, such as 60 or 6.4; got '1e9'"),
        ("RANGE §0 s", "RANGE must be greater than 0; got '0'"),
        ("SLIDE §0.0 rows", "SLIDE must be greater than 0; got '0.0'"),
        ("SLIDE §1.5 rows", "SLIDE must be a whole number of rows; got '1.5'"),
        ("RANGE §1.5 SLIDE 1", "RANGE must be a whole number of steps; got '1.5'"),
        ("RANGE §0.0000001 s", "RANGE must be a whole number of microseconds"),
        ("RANGE §9999999999999999 days", "RANGE must fit in 64 bits"),
        ("RANGE " + "§" + "9" * 5000, "expected a number, such as 60 or 6.4; got '9999999"),
        ("RANGE 1 §month", "got 'month'; its length is not fixed: give days"),
        ("RANGE 1 §m", "got 'm'; 'm' may be minutes or months: write 'min'"),
        ("RANGE 1 min 30 §rows", "expected a unit"),
        ("RANGE 5 s SLIDE 1 s WATTR §]", "expected a column or row-num; got ']'"),
        ("RANGE 5 s WATTR §SLIDE 1 s", "expected a column or row-num; got 'SLIDE'"),
        ("RANGE 5 s SLIDE 1 s WATTR §event-time", "must be quoted: write `event-time`"),
        ("RANGE 5 s SLIDE 1 s WATTR rank§(ts)", "expected ']' or one of RANGE"),
        ("SATTR rank(§)", "expected a column or row-num; got ')'"),
        ("SATTR rank(ts §SLIDE", "expected ')'; got 'SLIDE'"),
        ("PATTR a, §A", "PATTR must name each column once; got 'A'"),
        ("PATTR §row-num", "must be quoted"),
        ("§]", "the window needs RANGE, such as RANGE 300 seconds, or LANDMARK"),
        ("RANGE 5 s WATTR ts§]", "the window needs SLIDE, such as SLIDE 60 seconds"),
        ("RANGE 5 s SLIDE 1 s§]", "the window needs WATTR, such as WATTR ts"),
        ("RANGE 5 rows SLIDE 1 row§]", "the window needs WATTR, such as WATTR row-num"),
        ("RANGE 5 s SLIDE 1 row RATTR ts§]", "the window needs SATTR, such as SATTR row-num"),
        ("RANGE 5 s SLIDE 1 row SATTR row-num§]", "the window needs RATTR, the column that"),
        ("RANGE 5 s §LANDMARK SLIDE 1 s WATTR ts]", "a window has RANGE or LANDMARK, not both"),
        ("WATTR ts §RATTR ts RANGE 5 s SLIDE 1 s]", "WATTR stands for RATTR and SATTR together"),
        ("SATTR ts §WATTR ts RANGE 5 s SLIDE 1 s]", "WATTR stands for RATTR and SATTR together"),
        (
            "RANGE 5 rows SLIDE 1 row WATTR §ts]",
            "RANGE counts rows, so WATTR must be row-num; got 'ts'",
        ),
        ("RANGE §5 s SLIDE 1 row WATTR row-num]", "RANGE must be in rows where it is on row-num"),
        ("RANGE 5 rows SLIDE §1 WATTR row-num]", "SLIDE must be in rows where it is on row-num"),
        ("§LANDMARK SLIDE 1 row WATTR row-num]", "LANDMARK needs a column, and row-num is none"),
        ("§LANDMARK SLIDE 1 row RATTR ts SATTR row-num]", "LANDMARK slides on its column"),
        (
            "RANGE 5 rows SLIDE 1 row RATTR row-num SATTR §ts]",
            "SATTR must be row-num where RATTR is row-num",
        ),
        (
            "RANGE 5 s SLIDE 1 row RATTR ts SATTR §rank(n)]",
            "SATTR must be the rank of RATTR, rank(ts); got rank(n)",
        ),
        (
            "RANGE 5 s SLIDE 1 s RATTR ts SATTR §n]",
            "SATTR must be ts (as RATTR), row-num or rank(ts); got 'n'",
        ),
        (
            "RANGE 5 s SLIDE §1 s RATTR ts SATTR row-num]",
            "SLIDE must be in rows where it is on row-num",
        ),
        (
            "RANGE 5 s SLIDE §1 s RATTR ts SATTR rank(ts)]",
            "SLIDE must be in rows where it is on rank(ts)",
        ),
        (
            "RANGE 5 s SLIDE §1 row WATTR ts]",
            "SLIDE counts rows: write RATTR ts SATTR row-num for such a window",
        ),
        ("RANGE 5 s SLIDE §1 WATTR ts]", "RANGE and SLIDE must both have a unit of time, or both"),
        (
            "RANGE 5 s SLIDE 1 s WATTR ts §PATTR a, `b-c`]",
            "PATTR is for windows that count rows; write GROUP BY a, `b-c`, which gives the same",
        ),
    ],
)
def test_a_mistake_in_the_window_is_shown_at_its_place(marked, message):
    check_marked(f"SELECT count(*)\nFROM t [{marked}", message)


def check_marked(marked: str, message: str) -> None:
    before, _, after = marked.partition("§")
    error = refused(before + after)
    assert message in error.message
    assert error.line == before.count("\n") + 1
    assert error.column == len(before.rpartition("\n")[2]) + 1


def test_tabs_and_long_lines_leave_the_caret_in_its_place():
    error = refused("SELECT\tmax(a),\t" + "a, " * 100 + "5")
    _, excerpt, caret = str(error).split("\n")
    assert excerpt[len(caret) - 1] == "5"
    assert len(excerpt) < 120


def test_the_error_is_one_of_the_library_and_can_be_pickled():
    error = refused("SELECT")
    assert isinstance(error, SpecificationError)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.line, again.column) == (str(error), error.line, error.column)


STREAM = ["seg-id", "Speed", "ts", "car"]


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("SELECT §`seg_id`, count(*) FROM t {}", "SELECT needs a column of t; got 'seg_id'; did"),
        ("SELECT count(*) FROM t {} GROUP BY speed, §x", "GROUP BY needs a column of t; got 'x'"),
        (
            "SELECT count(*) FROM t\n[RANGE 5 s SLIDE 1 s WATTR §TSS]",
            "WATTR needs a column of t; got 'TSS'; did you mean 'ts'?",
        ),
        (
            "SELECT count(*) FROM t [RANGE 5 SLIDE 1 row SATTR §rank(n) RATTR n]",
            "SATTR needs a column of t; got 'n'",
        ),
        (
            "SELECT count(*) FROM t [RANGE 5 rows SLIDE 1 row WATTR row-num PATTR ts, §sped]",
            "PATTR needs a column of t; got 'sped'; did you mean 'Speed'?",
        ),
        ("SELECT §t.speed, count(*) FROM t {}", "leave out the stream's name: write speed"),
    ],
)
def test_names_that_are_no_columns_are_shown_at_their_place(marked, message):
    before, _, after = marked.replace("{}", WINDOW).partition("§")
    with pytest.raises(CqlError) as caught:
        check_columns(parse(before + after), STREAM)
    assert message in str(caught.value)
    assert caught.value.line == before.count("\n") + 1
    assert caught.value.column == len(before.rpartition("\n")[2]) + 1


def test_columns_are_found_in_any_case_and_expressions_are_left_to_spark():
    text = "SELECT SPEED, car.weight, max(nonsense) FROM t {} WHERE y GROUP BY Speed, car.weight"
    check_columns(parse(text.replace("{}", WINDOW)), STREAM)
    check_columns(parse("SELECT count(*) FROM t [RANGE 5 rows SLIDE 1 row WATTR row-num]"), [])


def test_a_statement_without_text_is_shown_as_it_would_be_written():
    statement = Statement(
        select=(PlainColumn("x", "sped"), Computed("n", count())), stream="t", window=rows(5)
    )
    with pytest.raises(CqlError, match="line 1, column 8: SELECT needs a column of t; got 'sped'"):
        check_columns(statement, STREAM)
