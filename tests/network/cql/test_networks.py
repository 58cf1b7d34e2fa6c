"""CQL of several statements: what it says, the graph that it makes, what is refused where."""

# ruff: noqa: S608 - CQL is made of strings here, and no database reads it

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.network.cql import CqlError, Selection, arranged, parse, parse_network, render
from penstock.network.cql.statement import Joined
from penstock.network.graph import Graph
from penstock.network.outline import outline
from penstock.network.render import text
from tests.network.workload import everything, seven

EXAMPLES = Path(__file__).parents[3] / "examples"
WINDOW = "[RANGE 60 s SLIDE 10 s WATTR ts]"

EVERYTHING = f"""
CREATE VIEW kib AS SELECT *, size / 1024 AS kib FROM listed;
CREATE VIEW listed AS SELECT * FROM known SEMI JOIN blocked USING (host);
CREATE VIEW known AS SELECT * FROM both_ends JOIN hosts ON hosts.id = both_ends.host;
CREATE VIEW both_ends AS
    SELECT * FROM east WHERE size > 1000 AND port < 1024
    UNION ALL
    SELECT * FROM west;
CREATE QUERY alarms AS SELECT ts, owner FROM kib;
CREATE QUERY per_owner AS SELECT owner, sum(kib) AS total FROM kib {WINDOW} GROUP BY owner;
CREATE QUERY peak AS
    SELECT max(total) AS most FROM per_owner [RANGE 5 min SLIDE 5 min WATTR window_time];
CREATE QUERY same AS SELECT * FROM alarms;
CREATE QUERY raw AS SELECT * FROM west
"""


def shape(graph: Graph) -> tuple[list[tuple[str, str]], str]:
    return [(name, str(operator)) for operator, name in graph.names.items()], text(graph)


def test_the_example_is_the_network_that_it_says_it_is():
    definitions = parse_network((EXAMPLES / "packets.cql").read_text())
    assert shape(outline(definitions)) == shape(seven())


def test_every_kind_of_operator_has_its_words():
    assert shape(outline(parse_network(EVERYTHING))) == shape(everything())


def test_statements_are_put_in_an_order_in_which_they_can_be_made():
    names = [one.name for one in arranged(parse_network(EVERYTHING), ["east", "west"], RELATIONS)]
    assert names[:4] == ["both_ends", "known", "listed", "kib"]


RELATIONS = ["hosts", "blocked"]


def test_one_select_alone_is_a_query():
    (one,) = parse_network(f"SELECT count(*) FROM packets {WINDOW};")
    assert (one.name, one.delivered) == ("query", True)
    assert one.windowed == parse(f"SELECT count(*) FROM packets {WINDOW}")
    (rows,) = parse_network("SELECT * FROM packets")
    assert rows.windowed is None


def test_a_windowed_statement_with_joins_reads_back_as_itself():
    asked = f"SELECT owner, count(*) FROM packets {WINDOW} LEFT SEMI JOIN a ON packets.x = a.`y z` "
    asked += "JOIN b USING (u, v) WHERE w"
    (one,) = parse_network(asked)
    statement = one.windowed
    assert statement is not None
    assert statement.joins == (
        Joined("a", (("x", "y z"),), semi=True),
        Joined("b", (("u", "u"), ("v", "v")), semi=False),
    )
    assert parse_network(render(statement))[0].windowed == statement


@pytest.mark.parametrize(
    ("select", "columns"),
    [
        ("a", [("a", "a", True)]),
        ("`seg-id`, b AS B", [("seg-id", "seg-id", True), ("B", "b", True)]),
        ("a AS b", [("b", "a", False)]),
        ('"x y" / 2 AS half', [("half", "`x y` / 2", False)]),
        ("cast(a AS int) AS n", [("n", "cast(a AS int)", False)]),
        ("a IS DISTINCT FROM b AS c", [("c", "a IS DISTINCT FROM b", False)]),
        (
            "extract(hour FROM ts) AS h, b",
            [("h", "extract(hour FROM ts)", False), ("b", "b", True)],
        ),
    ],
)
def test_columns_of_a_select_without_a_window(select, columns):
    (one,) = parse_network(f"SELECT {select} FROM s WHERE x")
    (part,) = one.parts
    assert isinstance(part, Selection)
    assert [(c.name, c.text, c.plain) for c in part.columns] == columns


def test_a_predicate_ends_where_the_next_select_begins():
    (one,) = parse_network("SELECT * FROM a WHERE x = 'UNION ALL' UNION ALL SELECT * FROM b")
    assert [part.where for part in one.parts] == ["x = 'UNION ALL'", None]


REFUSED = {
    "no semicolon": (
        "CREATE VIEW a AS SELECT * FROM s WHERE x\nCREATE VIEW b AS SELECT * FROM s",
        (2, 1, "expected ';'; got 'CREATE'"),
    ),
    "neither": ("CREATE TABLE a AS SELECT * FROM s", (1, 8, "expected VIEW or QUERY")),
    "misspelled": (
        "CREATE QUREY a AS SELECT * FROM s",
        (1, 8, "expected VIEW or QUERY; got 'QUREY'; did you mean 'QUERY'?"),
    ),
    "no statement": ("", (1, 1, "expected CREATE VIEW or CREATE QUERY; got the end of the text")),
    "a select after others": (
        "CREATE VIEW a AS SELECT * FROM s;\nSELECT * FROM a",
        (2, 1, "expected CREATE VIEW or CREATE QUERY; got 'SELECT'"),
    ),
    "twice": (
        "CREATE VIEW a AS SELECT * FROM s;\nCREATE QUERY A AS SELECT * FROM s",
        (2, 14, "each view and query needs a name of its own; got 'A' again"),
    ),
    "a stream's name": (
        "CREATE VIEW s AS SELECT * FROM t",
        (1, 13, "a view needs a name that no stream has; got 's'"),
    ),
    "unknown stream": (
        "CREATE QUERY a AS SELECT * FROM packts",
        (1, 33, "FROM needs a stream, a view or a query; got 'packts'; did you mean 'packets'?"),
    ),
    "relation as a stream": (
        "CREATE QUERY a AS SELECT * FROM hosts",
        (1, 33, "got 'hosts'; it is a relation: write FROM s JOIN hosts ON …"),
    ),
    "unknown relation": (
        "CREATE QUERY a AS SELECT * FROM s JOIN host USING (x)",
        (1, 40, "JOIN needs a relation; got 'host'; did you mean 'hosts'?"),
    ),
    "stream as a relation": (
        "CREATE QUERY a AS SELECT * FROM s JOIN t USING (x)",
        (1, 40, "JOIN needs a relation; got 't'; streams are put together by UNION ALL"),
    ),
    "itself": (
        "CREATE QUERY a AS SELECT * FROM a",
        (1, 33, "what comes FROM 'a' must not need it itself: a needs a"),
    ),
    "cycle": (
        (
            "CREATE VIEW a AS SELECT * FROM s UNION ALL SELECT * FROM b;\n"
            "CREATE VIEW b AS SELECT * FROM c;\nCREATE VIEW c AS SELECT * FROM a"
        ),
        (3, 32, "what comes FROM 'a' must not need it itself: a needs b needs c needs a"),
    ),
    "an aggregate without a window": (
        "CREATE QUERY a AS SELECT count(*) FROM s",
        (1, 41, "expected '[' and a window; got the end of the text; such as [RANGE"),
    ),
    "GROUP BY without a window": (
        "CREATE QUERY a AS SELECT x FROM s GROUP BY x",
        (1, 35, "GROUP BY needs a window; write FROM s [RANGE 60 s SLIDE 5 s WATTR ts]"),
    ),
    "a window over the wrong time": (
        (
            f"CREATE QUERY a AS SELECT count(*) FROM s {WINDOW};\n"
            f"CREATE QUERY b AS SELECT count(*) FROM a {WINDOW}"
        ),
        (2, 71, "WATTR must be the event time of a, which is window_time; got 'ts'"),
    ),
    "a window over row windows": (
        (
            "CREATE VIEW a AS SELECT count(*) FROM s [RANGE 9 rows SLIDE 9 rows WATTR row-num];\n"
            "CREATE QUERY b AS SELECT count(*) FROM a [RANGE 1 s SLIDE 1 s WATTR window_time]"
        ),
        (2, 69, "WATTR must be the event time of a, which has none; got 'window_time'"),
    ),
    "a window over a view without its time": (
        f"CREATE VIEW a AS SELECT x FROM s;\nCREATE QUERY b AS SELECT count(*) FROM a {WINDOW}",
        (2, 71, "WATTR must be the event time of a, which has none; got 'ts'"),
    ),
    "UNION alone": (
        "CREATE VIEW a AS SELECT * FROM s UNION SELECT * FROM t",
        (1, 40, "expected ALL; got 'SELECT'; a stream keeps every row: write UNION ALL"),
    ),
    "UNION of windows": (
        f"CREATE VIEW a AS SELECT * FROM s UNION ALL SELECT count(*) FROM t {WINDOW}",
        (1, 65, "UNION ALL is of SELECTs without a window"),
    ),
    "windows, then UNION": (
        f"CREATE VIEW a AS SELECT count(*) FROM t {WINDOW} UNION ALL SELECT * FROM s",
        (1, 39, "UNION ALL is of SELECTs without a window"),
    ),
    "views only": (
        "CREATE VIEW a AS SELECT * FROM s",
        (1, 13, "a network needs a query; write CREATE QUERY for a view whose rows are wanted"),
    ),
    "no name": (
        "CREATE VIEW a AS SELECT size / 2 FROM s",
        (1, 25, "an expression needs a name: write 'size / 2' AS name"),
    ),
    "star later": ("CREATE VIEW a AS SELECT a, * FROM s", (1, 28, "* comes first, and once")),
    "star and column": (
        "CREATE VIEW a AS SELECT *, x FROM s",
        (1, 28, "* has 'x' already; leave it out"),
    ),
    "one name for two": (
        "CREATE VIEW a AS SELECT x, y AS X FROM s",
        (1, 28, "each column needs a name of its own; got 'X' again"),
    ),
    "distinct": ("CREATE VIEW a AS SELECT DISTINCT x FROM s", (1, 25, "SELECT has no DISTINCT")),
    "no qualifier": (
        "CREATE VIEW a AS SELECT * FROM s JOIN hosts ON x = id",
        (1, 48, "ON needs columns with a name before them; write whose it is, such as s.x"),
    ),
    "wrong qualifier": (
        "CREATE VIEW a AS SELECT * FROM s JOIN hosts ON s.x = host.id",
        (1, 54, "ON needs a stream or relation of this SELECT; got 'host'; did you mean 'hosts'?"),
    ),
    "one side only": (
        "CREATE VIEW a AS SELECT * FROM s JOIN hosts ON s.x = s.y",
        (1, 54, "ON compares a column of s and one of hosts"),
    ),
    "a column twice": (
        "CREATE VIEW a AS SELECT * FROM s JOIN hosts ON s.x = hosts.a AND s.x = hosts.b",
        (1, 68, "JOIN compares each column once; got 'x' again"),
    ),
    "left join": (
        "CREATE VIEW a AS SELECT * FROM s LEFT JOIN hosts USING (x)",
        (1, 34, "expected JOIN or SEMI JOIN; got 'LEFT'; a stream has JOIN"),
    ),
    "short name": (
        "CREATE VIEW a AS SELECT * FROM s JOIN hosts AS h ON s.x = h.y",
        (1, 45, "expected ON or USING; got 'AS'; there are no short names"),
    ),
}


def checked(asked: str) -> Graph:
    return outline(arranged(parse_network(asked), ["s", "t", "packets"], ["hosts"]))


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_at_its_place(case):
    asked, (line, column, message) = REFUSED[case]
    with pytest.raises(CqlError) as error:
        checked(asked)
    assert message in error.value.message
    assert (error.value.line, error.value.column) == (line, column)


PIECES = [
    *("CREATE ", "VIEW ", "QUERY ", "SELECT ", "* ", "FROM ", "WHERE ", "AS ", "UNION ALL ", "; "),
    *("JOIN ", "SEMI ", "LEFT ", "ON ", "USING ", "(", ")", ", ", ".", "= ", "AND ", WINDOW, "["),
    *("a ", "b ", "s ", "hosts ", "count(*) ", "GROUP BY ", "DISTINCT ", "'", "`", "-- ", "\n"),
]


def read(text: str) -> None:
    """Reads the text; any exception but a CqlError comes through."""
    refused = None
    try:
        outline(parse_network(text))
    except CqlError as error:
        refused = error
    if refused is not None:
        assert 1 <= refused.line <= text.count("\n") + 1
        assert 1 <= refused.column <= len(text) + 1


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_any_pieces_are_read_or_refused(text):
    read("CREATE QUERY q AS SELECT " + text)


@given(st.data())
def test_a_network_with_a_mistake_is_read_or_refused(data):
    at = data.draw(st.integers(0, len(EVERYTHING)))
    cut = data.draw(st.integers(0, 12))
    read(EVERYTHING[:at] + data.draw(st.sampled_from(["", *PIECES])) + EVERYTHING[at + cut :])


def test_windows_over_one_stream_must_agree_on_its_event_time():
    other = WINDOW.replace("ts", "seen")
    asked = (
        f"CREATE QUERY a AS SELECT count(*) FROM s {WINDOW};\n"
        "CREATE VIEW v AS SELECT * FROM s;\n"
        f"CREATE QUERY b AS SELECT count(*) FROM v {other}"
    )
    with pytest.raises(CqlError, match="a stream has one event time; got 'seen'") as error:
        outline(parse_network(asked))
    assert (error.value.line, error.value.column) == (3, 71)


def test_one_query_is_still_one_query():
    for more in (" JOIN r USING (x)", " WHERE x; SELECT count(*)"):
        with pytest.raises(CqlError):
            parse(f"SELECT count(*) FROM s {WINDOW}{more}")
