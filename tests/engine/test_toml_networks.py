"""Networks in TOML files over DataFrames: the same graph as in CQL and in Python."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.errors import PenstockError
from penstock.network.config import parse_config, read_config
from tests.engine.packets import EXAMPLES, graph, in_python

WINDOW = "[RANGE 60 seconds SLIDE 10 seconds WATTR ts]"


def test_python_cql_and_toml_make_the_same_graph(spark, packets):
    python = graph(in_python(packets))
    stream = ps.stream(packets, event_time="ts", slack="2 seconds", name="packets")
    cql = ps.cql_queries((EXAMPLES / "packets.cql").read_text(), {"packets": stream})
    asked = {}

    def load(source, options):
        asked[source] = options
        return packets

    toml = ps.toml_queries(EXAMPLES / "packets.toml", spark, load)
    assert asked == {"packets": {"rate": 2_000}}
    for other in (graph(cql), graph(toml)):
        assert list(other.queries) == list(python.queries)
        assert other.operators == python.operators
        assert other.queries == python.queries
        assert list(other.names.values()) == list(python.names.values())
    assert [query.name for query in cql.values()] == list(python.queries)
    # What is known without Spark is the same, but for the rows themselves.
    pure = read_config(EXAMPLES / "packets.toml").outline()
    assert list(map(str, pure.operators)) == list(map(str, python.operators))
    assert list(pure.users.values()) == list(python.users.values())


def toml(packets: str, more: str = "") -> str:
    query = f"[query.n]\ncql = '''\nSELECT count(*)\nFROM packets {WINDOW}'''\n"
    return f"[stream.packets]\nsource = 'files'\n{packets}\n{query}{more}"


def test_relations_are_read_and_variables_are_put_in_where_they_are_used(
    spark, packets, hosts, tmp_path
):
    hosts.write.option("header", True).csv(str(tmp_path / "hosts"))
    text = toml(
        "event_time = 'ts'\noptions = { password = '${TOKEN}', retries = 3 }",
        "[relation.hosts]\npath = '${PLACE}/hosts'\nformat = 'csv'\noptions = { header = true }\n"
        "[query.owners]\ncql = '''\nSELECT owner FROM packets\n"
        "JOIN hosts ON packets.dst_host = hosts.host'''",
    )
    config = parse_config(text)
    assert "swordfish" not in repr(config)
    got = {}

    def load(source, options):
        got.update(options)
        return packets

    environ = {"TOKEN": "swordfish", "PLACE": str(tmp_path)}
    queries = ps.toml_queries(config, spark, load, environ)
    assert got == {"password": "swordfish", "retries": 3}
    assert "swordfish" not in repr(got)
    owners = queries["owners"]
    assert isinstance(owners, ps.Stream)
    assert {row.owner for row in owners.rows.collect()} == {"ada", "bob"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (toml("event_time = 'tz'"), "network.toml: [stream.packets] event_time must be a column"),
        (
            toml("event_time = 'ts'", "[view.a]\ncql = 'SELECT sice FROM packets'"),
            "network.toml: [view.a] cql, line 1, column 8: SELECT needs a column of packets",
        ),
        (
            toml("event_time = 'src_port'"),
            "network.toml: [query.n] cql, line 2, column 55: WATTR must be the event time",
        ),
        (
            toml("event_time = 'ts'", "[relation.r]\npath = '/nowhere/at/all'"),
            "network.toml: [relation.r] cannot be read: [PATH_NOT_FOUND]",
        ),
        (
            toml("event_time = 'ts'\noptions = { key = '${TOKN}' }"),
            (
                "network.toml: [stream.packets] options key needs a variable of the environment "
                "that is set, got 'TOKN'; did you mean 'TOKEN'?"
            ),
        ),
    ],
)
def test_what_does_not_fit_in_a_file_is_refused_with_its_table(spark, packets, text, message):
    with pytest.raises(PenstockError) as error:
        ps.toml_queries(parse_config(text), spark, lambda *_: packets, {"TOKEN": "swordfish"})
    assert str(error.value).startswith(message)
