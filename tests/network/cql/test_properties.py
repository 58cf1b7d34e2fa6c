"""What is written reads back the same; what cannot be read is refused, and never worse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import SpecificationError
from penstock.network import aggregates as agg
from penstock.network.cql import CqlError, Statement, parse, render
from penstock.network.cql.functions import default_name
from penstock.network.cql.statement import Computed, Item, PlainColumn
from penstock.windows import (
    Fold,
    WindowSpec,
    cumulative,
    landmark,
    rows,
    slide_by_rank,
    slide_by_rows,
    sliding,
)
from tests.network.cql.test_paper_queries import Q1, Q2, Q3, Q4, Q5

RESERVED = ("window_start", "window_end", "row-num")
names = (
    st.sampled_from(["speed", "seg-id", "car.speed", "from", "Range", "row_num", "rank", "a`b"])
    | st.text("aZ_9 -.`\"'[(;\nß", min_size=1, max_size=6)
).filter(lambda name: name.strip() and name.lower() not in RESERVED)
expressions = st.sampled_from(
    ["speed", "`seg-id`", "a + (b[0])", "if(a > 1, 'x)', \"y\")", "a /* , ) */ + 1", "a -- b\n+ c"]
).map(lambda text: text.replace('"', "'"))
predicates = st.none() | expressions.map(lambda text: f"{text} > 1")
lengths = st.integers(1, 10**13)
counts = st.integers(1, 1000)
units = st.sampled_from(["time", "value"])

windows: st.SearchStrategy[WindowSpec] = st.one_of(
    st.builds(sliding, lengths, lengths, names, unit=units),
    st.builds(landmark, lengths, names, unit=units),
    st.builds(rows, counts, counts, by=st.lists(names, max_size=2, unique_by=str.lower)),
    st.builds(slide_by_rows, lengths, names, every=counts, unit=units),
    st.builds(slide_by_rank, lengths, names, every=counts, unit=units),
)
one_argument = st.sampled_from(
    [agg.count, agg.sum, agg.avg, agg.min, agg.max, agg.var_pop, agg.stddev_samp]
)
aggregates = st.one_of(
    st.just(agg.count()),
    st.builds(lambda make, column: make(column), one_argument, expressions),
    st.builds(agg.approx_percentile, expressions, st.floats(0, 1)),
)


@st.composite
def statements(draw: st.DrawFn) -> Statement:
    """Statements that keep the rules of `penstock.network.cql.rules`."""
    window = draw(windows)
    columns = draw(st.lists(names, max_size=3, unique_by=str.lower))
    computed = []
    for aggregate in draw(st.lists(aggregates, min_size=1, max_size=3)):
        default = default_name(aggregate.function, aggregate.column, aggregate.parameter)
        computed.append(Computed(draw(names | st.just(default)), aggregate))
    items: list[Item] = [PlainColumn(draw(names | st.just(name)), name) for name in columns]
    taken = {item.name.lower(): item for item in [*items, *computed]}
    items = [item for item in [*items, *computed] if taken[item.name.lower()] is item]
    grouped = draw(st.booleans())
    return Statement(
        select=tuple(draw(st.permutations(items))),
        stream=draw(names),
        window=window,
        where=draw(predicates),
        group_by=tuple(columns) if grouped else (),
    )


@given(statements())
def test_a_statement_reads_back_as_it_was_written(statement):
    text = render(statement)
    again = parse(text)
    assert again == statement
    assert hash(again) == hash(statement)
    assert render(again) == text
    assert (again.keys, again.aggregates) == (statement.keys, statement.aggregates)


@pytest.mark.parametrize(
    "window",
    [sliding("5 s", "1 s", "ts", origin=1), landmark("1 s", "ts", start=0), cumulative(4, 2, "ts")],
    ids=str,
)
def test_windows_without_words_are_not_written(window):
    statement = Statement(select=(Computed("n", agg.count()),), stream="t", window=window)
    with pytest.raises(SpecificationError, match="CQL has no words for a phase"):
        render(statement)


def test_aggregates_without_words_are_not_written():
    mine = agg.user_defined(Fold("mine", int, max, max, lambda n: n), "x", "int")
    with pytest.raises(SpecificationError, match="CQL has no words for an aggregate of your own"):
        render(Statement(select=(Computed("n", mine),), stream="t", window=rows(5)))


def read(text: str) -> None:
    """Reads the text, and what it is written as; any exception but a CqlError comes through."""
    refused, statement = None, None
    try:
        statement = parse(text)
    except CqlError as error:
        refused = error
    if statement is not None:
        assert parse(render(statement)) == statement
        return
    assert str(refused).count("\n") == 2
    assert refused is not None
    assert 1 <= refused.line <= text.count("\n") + 1
    assert 1 <= refused.column <= len(text) + 1


@given(st.text())
def test_any_text_is_read_or_refused(text):
    read(text)


PIECES = [
    *("SELECT ", "FROM ", "WHERE ", "GROUP BY ", "AS ", "RANGE ", "SLIDE ", "LANDMARK ", "WATTR "),
    *("RATTR ", "SATTR ", "PATTR ", "rank(", "row-num ", "count(*)", "max(", "approx_percentile("),
    *("[", "]", "(", ")", ",", ".", ";", "-", "--", "/*", "*/", "'", '"', "`", "\\", "*", "\n"),
    *("ts ", "seg-id ", "5 ", "0.5 ", "1e999 ", "seconds ", "rows ", "month ", "r'", "é", "\x00"),
]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_any_pieces_of_a_query_are_read_or_refused(text):
    read(text)


@given(st.data())
def test_a_query_with_a_mistake_is_read_or_refused(data):
    text = data.draw(st.sampled_from([query[0] for query in (Q1, Q2, Q3, Q4, Q5)]))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        until = data.draw(st.integers(at, min(at + 8, len(text))))
        piece = data.draw(st.sampled_from(["", *PIECES]) | st.text(max_size=2))
        text = text[:at] + piece + text[until:]
    read(text)
