"""A query says what is asked, and refuses in one line what cannot be."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.errors import SpecificationError
from penstock.network.query import Query
from penstock.windows import (
    Fold,
    cumulative,
    landmark,
    rows,
    session,
    slide_by_tuple,
    sliding,
    tumbling,
)

WINDOW = sliding("60 s", "5 s", on="ts")


def refused(make) -> str:
    with pytest.raises(SpecificationError) as caught:
        make()
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    "window",
    [
        WINDOW,
        tumbling("1 h", on="ts"),
        cumulative("1 day", "1 h", on="ts"),
        landmark("1 h", on="ts"),
        rows(10, 5),
        slide_by_tuple("1 min", on="ts"),
        sliding(10, 5, on="ts", unit="value"),
        session("1 min", on="ts"),
    ],
    ids=str,
)
def test_windows_of_every_kind_are_taken(window):
    assert Query(window, (), {"n": ps.count()}).window == window


def test_late_is_one_of_two_words():
    message = refused(lambda: Query(WINDOW, (), {"n": ps.count()}, late="generos"))  # type: ignore[arg-type]
    assert message == (
        "late must be 'generous' or 'consistent', got 'generos'; did you mean 'generous'?"
    )


def test_a_query_asks_for_something():
    assert "agg() needs an aggregate" in refused(lambda: Query(WINDOW, ("k",), {}))


@pytest.mark.parametrize(
    ("keys", "names", "where", "which"),
    [
        (("k", "k"), ("n",), "by()", "k"),
        (("k", "K"), ("n",), "by()", "K"),
        (("k",), ("K",), "agg()", "K"),
        ((), ("s", "S"), "agg()", "S"),
        (("window_end",), ("n",), "by()", "window_end"),
        (("Window_Start",), ("n",), "by()", "Window_Start"),
        ((), ("WINDOW_END",), "agg()", "WINDOW_END"),
    ],
)
def test_every_result_column_has_a_name_of_its_own(keys, names, where, which):
    message = refused(lambda: Query(WINDOW, keys, dict.fromkeys(names, ps.count())))
    assert message.startswith(where)
    assert "once" in message
    assert repr(which) in message


def test_the_text_tells_one_query_from_another():
    base = Query(WINDOW, ("k",), {"n": ps.count(), "p": ps.approx_percentile("v", 0.5)})
    others = [
        Query(sliding("60 s", "4 s", on="ts"), base.keys, base.aggregates),
        Query(sliding("60 s", "5 s", on="ts", origin="1 s"), base.keys, base.aggregates),
        Query(sliding("60 s", "5 s", on="t2"), base.keys, base.aggregates),
        Query(WINDOW, ("j",), base.aggregates),
        Query(WINDOW, (), base.aggregates),
        Query(WINDOW, base.keys, {**base.aggregates, "n": ps.count("v")}),
        Query(WINDOW, base.keys, {**base.aggregates, "p": ps.approx_percentile("v", 0.25)}),
        Query(WINDOW, base.keys, {**base.aggregates, "p": ps.approx_percentile("w", 0.5)}),
    ]
    assert len({str(query) for query in [base, *others]}) == 1 + len(others)


def test_what_may_not_repeat_is_noted_and_nothing_else():
    query = Query(
        WINDOW,
        (),
        {
            "n": ps.count(),
            "d": ps.approx_count_distinct("v"),
            "p99": ps.approx_percentile("v", 0.99),
        },
    )
    notes = [line for line in query.describe() if line.startswith("note")]
    assert len(notes) == 2
    assert "d = approx_count_distinct(v)" in notes[0]
    assert "p99 = approx_percentile(v, 0.99)" in notes[1]
    assert all("replay" in note for note in notes)


@pytest.mark.parametrize(
    "function",
    [
        ps.sum,
        ps.avg,
        ps.min,
        ps.max,
        ps.var_samp,
        ps.var_pop,
        ps.stddev_samp,
        ps.stddev_pop,
        ps.approx_count_distinct,
        ps.count,
    ],
)
@pytest.mark.parametrize("column", ["", "  ", 7, ["v"]])
def test_an_aggregate_is_of_a_column(function, column):
    message = refused(lambda: function(column))
    assert message.startswith(f"{function.__name__}() needs the name of a column")


@pytest.mark.parametrize("quantile", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_quantile_is_a_share(quantile):
    message = refused(lambda: ps.approx_percentile("v", quantile))
    assert message == f"quantile must be between 0 and 1, got {quantile!r}"


def test_a_quantile_is_a_number():
    assert refused(lambda: ps.approx_percentile("v", "half")).startswith("quantile must be")  # type: ignore[arg-type]


def test_aggregates_of_the_users_own_are_told_apart():
    longest = Fold("longest", int, lambda n, s: max(n, len(s)), max, lambda n: n)
    mine = Query(WINDOW, (), {"n": ps.count(), "l": ps.user_defined(longest, "path", "int")})
    assert mine.user_defined
    assert not Query(WINDOW, (), {"n": ps.count()}).user_defined
    assert "longest(path) AS l" in str(mine)
