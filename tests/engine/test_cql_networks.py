"""CQL networks over DataFrames: the same graph as in Python, and errors at their place."""

# ruff: noqa: S608 - CQL is made of strings here, and no database reads it

from __future__ import annotations

import pytest

import penstock as ps
from penstock.engine.cql_network import Answers
from penstock.errors import SchemaError, SpecificationError
from penstock.network.cql import CqlError, parse_network
from penstock.network.outline import outline
from tests.engine.packets import EXAMPLES, graph, in_python

WINDOW = "[RANGE 60 seconds SLIDE 10 seconds WATTR ts]"


def test_the_example_makes_the_graph_that_python_makes(packets):
    python = graph(in_python(packets))
    stream = ps.stream(packets, event_time="ts", slack="2 seconds", name="packets")
    queries = ps.cql_queries((EXAMPLES / "packets.cql").read_text(), {"packets": stream})
    assert [query.name for query in queries.values()] == list(python.queries)
    assert graph(queries).operators == python.operators
    assert graph(queries).queries == python.queries


def test_the_answers_are_those_of_python(packets):
    stream = ps.stream(packets, event_time="ts", name="packets")
    text = (EXAMPLES / "packets.cql").read_text()
    large = ps.cql_queries(text, {"PACKETS": stream})["web_large"]
    python = in_python(packets)["web_large"]
    assert isinstance(large, ps.WindowQuery)
    assert isinstance(python, ps.WindowQuery)
    found = sorted(map(tuple, large.dataframe().collect()))
    assert found == sorted(map(tuple, python.dataframe().collect()))
    assert found


EVERYTHING = f"""
CREATE VIEW known AS SELECT * FROM both_ends JOIN hosts ON hosts.host = both_ends.dst_host;
CREATE VIEW both_ends AS
    SELECT * FROM east WHERE size > 1000 AND src_port < 50
    UNION ALL
    SELECT * FROM west SEMI JOIN blocked USING (src_port);
CREATE VIEW kib AS SELECT *, size / 1024 AS kib FROM known;
CREATE QUERY owners AS SELECT owner, kib * 2 AS `twice-kib`, TS FROM kib WHERE kib > 0.5;
CREATE QUERY per_owner AS SELECT owner, sum(kib) AS total FROM kib {WINDOW} GROUP BY owner;
CREATE QUERY peak AS
    SELECT max(total) AS most
    FROM Per_Owner [RANGE 5 min SLIDE 5 min WATTR window_time]
    WHERE owner <> 'eve';
CREATE QUERY most AS
    SELECT owner, max(total) FROM per_owner [RANGE 5 min SLIDE 5 min WATTR window_time]
"""


def test_every_operator_is_the_one_that_python_makes(spark, packets, hosts):
    blocked = spark.createDataFrame([(1,), (2,)], "src_port int")
    east = ps.stream(packets, event_time="ts", name="east")
    west = ps.stream(packets, event_time="ts", name="west")
    both = east.where("size > 1000").where("src_port < 50")
    both = both.union(west.semi_join(blocked, on="src_port", name="blocked"))
    known = both.join(hosts, on={"dst_host": "host"}, name="hosts")
    kib = known.with_columns(kib="size / 1024")
    owners = kib.where("kib > 0.5").select("owner", **{"twice-kib": "kib * 2"}, ts="ts")
    per_owner = kib.window("60 s", "10 s").by("owner").agg(total=ps.sum("kib"))
    due = per_owner.results()
    peak = due.where("owner <> 'eve'").window("5 min").agg(most=ps.max("total"))
    most = due.window("5 min").by("owner").agg(**{"max(total)": ps.max("total")})
    python: dict[str, Answers]
    python = {"owners": owners, "per_owner": per_owner, "peak": peak, "most": most}
    cql = ps.cql_queries(
        EVERYTHING, {"east": east, "west": west}, {"hosts": hosts, "blocked": blocked}
    )
    assert graph(cql).operators == graph(python).operators
    assert graph(cql).queries == graph(python).queries
    rows = cql["owners"]
    assert isinstance(rows, ps.Stream)
    assert rows.rows.columns == ["owner", "twice-kib", "ts"]
    assert rows.event_time == "ts"
    answer = cql["peak"]
    assert isinstance(answer, ps.WindowQuery)
    assert answer.dataframe().count() > 0
    pure = outline(parse_network(EVERYTHING))
    assert list(pure.names.values()) == list(graph(cql).names.values())


def test_a_dataframe_has_the_event_time_of_the_windows_over_it(packets):
    text = f"""
    CREATE VIEW tcp AS SELECT * FROM packets WHERE protocol = 'tcp';
    CREATE QUERY n AS SELECT count(*) FROM tcp {WINDOW}"""
    query = ps.cql_queries(text, {"packets": packets})["n"]
    (source,) = graph({"n": query}).sources
    assert (source.name, source.event_time) == ("packets", "ts")


REFUSED = {
    "column in SELECT": (
        "CREATE VIEW a AS SELECT ts, sice FROM packets",
        "line 1, column 29: SELECT needs a column of packets; got 'sice'; did you mean 'size'?",
    ),
    "column in an expression": (
        "CREATE VIEW a AS SELECT *, 1 + sice AS n FROM packets",
        "line 1, column 32: SELECT needs a column of packets; got 'sice'; did you mean 'size'?",
    ),
    "column in the second condition": (
        "CREATE VIEW a AS SELECT * FROM packets\nWHERE size > 1\n  AND sice < 2",
        "line 3, column 7: WHERE needs a column of packets; got 'sice'; did you mean 'size'?",
    ),
    "column of a view": (
        (
            f"CREATE VIEW a AS SELECT ts, size / 2 AS half FROM packets;\n"
            f"CREATE QUERY b AS SELECT sum(halve) FROM a {WINDOW}"
        ),
        "line 2, column 30: sum needs a column of a; got 'halve'; did you mean 'half'?",
    ),
    "column of answers": (
        (
            f"CREATE VIEW a AS SELECT count(*) AS n FROM packets {WINDOW};\n"
            "CREATE QUERY b AS SELECT max(m) FROM a [RANGE 5 min SLIDE 5 min WATTR window_time]"
        ),
        "line 2, column 30: max needs a column of a; got 'm'",
    ),
    "time of answers": (
        (
            f"CREATE VIEW a AS SELECT count(*) AS n FROM packets {WINDOW};\n"
            f"CREATE QUERY b AS SELECT max(n) FROM a {WINDOW}"
        ),
        "line 2, column 81: WATTR needs a column of a; got 'ts'",
    ),
    "answers of rows": (
        (
            "CREATE VIEW a AS SELECT count(*) AS n\n"
            "FROM packets [RANGE 9 rows SLIDE 9 rows WATTR row-num];\n"
            "CREATE QUERY b AS SELECT max(n)\nFROM a [RANGE 5 min SLIDE 5 min WATTR window_time]"
        ),
        "line 4, column 6: FROM needs windows over time, or rows; got RANGE 9 rows",
    ),
    "an aggregate in a row": (
        "CREATE VIEW a AS SELECT 1 + max(size) AS m FROM packets",
        "line 1, column 25: SELECT needs an expression over a row of packets; [MISSING_GROUP_BY]",
    ),
    "no expression": (
        "CREATE VIEW a AS SELECT *, 1 + AS m FROM packets",
        "line 1, column 31: SELECT needs an expression over a row of packets; [PARSE_SYNTAX_ERROR]",
    ),
    "the event time": (
        "CREATE VIEW a AS SELECT *, now() AS ts FROM packets",
        "line 1, column 28: SELECT must leave the event time as it is",
    ),
    "join column of the stream": (
        "CREATE VIEW a AS SELECT * FROM packets JOIN hosts ON packets.dst_hos = hosts.host",
        "line 1, column 62: JOIN needs a column of packets; got 'dst_hos'; did you mean 'dst_host'",
    ),
    "join column of the relation": (
        "CREATE VIEW a AS SELECT * FROM packets JOIN hosts ON packets.dst_host = hosts.hosst",
        "line 1, column 79: JOIN needs a column of hosts; got 'hosst'; did you mean 'host'?",
    ),
    "join adds a column twice": (
        (
            "CREATE VIEW a AS SELECT *, 'x' AS owner FROM packets;\n"
            "CREATE VIEW b AS SELECT * FROM a JOIN hosts ON a.dst_host = hosts.host"
        ),
        "line 2, column 39: JOIN hosts must add no column that the stream has already, got",
    ),
    "union of unlike": (
        "CREATE VIEW a AS SELECT ts, size FROM packets UNION ALL SELECT ts FROM packets",
        "line 1, column 72: UNION ALL needs streams with the same columns",
    ),
    "unknown name": (
        "CREATE VIEW a AS SELECT * FROM pakets",
        "line 1, column 32: FROM needs a stream, a view or a query; got 'pakets'; did you mean",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_at_its_place(case, packets, hosts):
    text, message = REFUSED[case]
    given = ps.stream(packets, event_time="ts", order="src_port", name="packets")
    with pytest.raises(CqlError) as error:
        ps.cql_queries(text, {"packets": given}, {"hosts": hosts})
    assert str(error.value).startswith(message)


def test_what_is_given_must_fit(spark, packets, hosts):
    text = "CREATE QUERY a AS SELECT * FROM packets"
    with pytest.raises(SpecificationError, match="must have each name once"):
        ps.cql_queries(text, {"packets": packets}, {"Packets": hosts})
    with pytest.raises(SchemaError, match="relation rate must be a DataFrame that is no stream"):
        ps.cql_queries(text, {"packets": packets}, {"rate": spark.readStream.format("rate").load()})
    with pytest.raises(SchemaError, match="stream packets must be a DataFrame"):
        ps.cql_queries(text, {"packets": "packets"})  # type: ignore[dict-item]
    time = f"CREATE QUERY a AS SELECT count(*) FROM packets {WINDOW.replace('ts', 'tz')}"
    with pytest.raises(CqlError, match="WATTR needs a column of packets; got 'tz'"):
        ps.cql_queries(time, {"packets": packets})
