"""A network in a TOML file, read without Spark: what it says, and what is refused where."""

# ruff: noqa: S608 - CQL is made of strings here, and no database reads it

import pytest

from penstock.network.config import parse_config, read_config
from penstock.network.cql import CqlError
from penstock.network.progress import heartbeat, ordered_by, punctuation, row_slack
from penstock.network.secrets import Secret, filled
from penstock.network.tables import ConfigError
from tests.network.cql.test_networks import EXAMPLES, shape
from tests.network.workload import seven

STREAM = "[stream.packets]\nsource = 'kafka'\nevent_time = 'ts'\n"
QUERY = "[query.all]\ncql = 'SELECT * FROM packets'\n"


def test_the_example_is_the_network_that_it_says_it_is():
    config = read_config(EXAMPLES / "packets.toml")
    assert shape(config.outline()) == shape(seven())
    assert config.latency == 3_000_000
    packets = config.streams["packets"]
    assert (packets.source, packets.event_time, packets.slack) == ("packets", "ts", "2 seconds")
    assert packets.options == {"rate": 2_000}
    assert list(config.queries) == list(seven().queries)
    web, large = config.queries["web_bytes_by_host"], config.queries["web_large"]
    assert (web.weight, web.answers, web.max_gap) == (2, "approximate", None)
    assert (large.weight, large.answers, large.max_gap) == (1, "subset", 5)


def test_everything_that_a_stream_can_say():
    config = parse_config(
        """
        answers = "subset"
        [stream.a]
        source = "replay"
        late = "consistent"
        order = ["n", "m"]
        identity = "id"
        punctuation = { where = "mark", up_to = "n", by = "key" }
        [stream.b]
        source = "rate"
        event_time = "n"
        slack = 5
        [stream.c]
        source = "x"
        ordered_by = ["key"]
        [stream.d]
        source = "x"
        row_slack = 3
        [stream.e]
        source = "x"
        heartbeat = { delay = "30 s", every = "2 s" }
        [relation.r]
        path = "r.csv"
        format = "csv"
        schema = "id int"
        options = { header = true }
        [query.q]
        cql = "SELECT * FROM a"
        sink = { format = "parquet", path = "q" }
        """
    )
    a, b, c, d, e = config.streams.values()
    assert (a.late, a.order, a.identity, a.event_time) == ("consistent", ("n", "m"), ("id",), None)
    assert a.progress == punctuation("mark", "n", "key")
    assert (b.slack, b.progress) == (5, None)
    assert [one.progress for one in (c, d, e)] == [
        ordered_by("key"),
        row_slack(3),
        heartbeat("30 s", "2 s"),
    ]
    (relation,) = config.relations.values()
    assert (relation.format, relation.schema, relation.options) == (
        *("csv", "id int"),
        {"header": True},
    )
    assert config.queries["q"].answers == "subset"
    assert config.queries["q"].sink == {"format": "parquet", "path": "q"}
    assert config.outline().sources[0].progress == a.progress


def query(more: str) -> str:
    return STREAM + QUERY + more


def stream(more: str) -> str:
    return STREAM + more + "\n" + QUERY


REFUSED = {
    "no TOML": ("latency = \n", "a.toml: Invalid value (at line 1, column 11)"),
    "no stream": (QUERY, "a.toml: [stream] must be given, got None; such as [stream.packets]"),
    "no query": (STREAM, "a.toml: [query] must be given, got None; such as [query.web]"),
    "top": (
        "latncy = '1 s'\n" + query(""),
        ("a.toml: must have keys that are known, got 'latncy'; did you mean 'latency'?"),
    ),
    "stream key": (
        stream("event_tme = 'ts'"),
        (
            "a.toml: [stream.packets] must have keys that are known, got 'event_tme'; did you mean "
            "'event_time'?"
        ),
    ),
    "query key": (query("wieght = 2"), "a.toml: [query.all] must have keys that are known, got"),
    "view key": (
        query("[view.v]\ncql = 'SELECT * FROM packets'\nweight = 2"),
        "a.toml: [view.v] must have keys that are known, got 'weight'; known: cql",
    ),
    "no source": (
        "[stream.s]\nevent_time = 'ts'\n" + QUERY,
        'a.toml: [stream.s] source must be given, got None; such as source = "kafka"',
    ),
    "no cql": (STREAM + "[query.q]\nweight = 1", "a.toml: [query.q] cql must be given, got None"),
    "no table": (
        STREAM + "[query]\nq = 'SELECT * FROM packets'",
        "a.toml: [query] q must be a table, [query.q], got 'SELECT * FROM packets'",
    ),
    "latency": ("latency = '3 parsecs'\n" + query(""), "a.toml: latency must be in a known unit"),
    "no latency": ("latency = '0 s'\n" + query(""), "a.toml: latency must be greater than 0, got"),
    "answers": (
        "answers = 'aproximate'\n" + query(""),
        "a.toml: answers must be 'approximate' or 'subset', got 'aproximate'; did you mean 'app",
    ),
    "weight": (query("weight = -1"), "a.toml: [query.all] weight must be a number greater than 0"),
    "true weight": (query("weight = true"), "a.toml: [query.all] weight must be a number greater"),
    "gap": (
        query("max_gap = 1.5\nanswers = 'subset'"),
        ("a.toml: [query.all] max_gap must be a whole number greater than 0, got 1.5"),
    ),
    "gap of all": (query("max_gap = 5"), "a.toml: [query.all] max_gap must be left out where"),
    "late": (stream("late = 'never'"), "a.toml: [stream.packets] late must be 'generous' or 'cons"),
    "slack": (stream("slack = '2 m'"), "a.toml: [stream.packets] slack must be in a known unit"),
    "less slack": (stream("slack = -2"), "a.toml: [stream.packets] slack must be a duration, such"),
    "order": (stream("order = [1]"), "a.toml: [stream.packets] order must be the name of a column"),
    "two ways": (
        stream("row_slack = 1\nordered_by = 'a'"),
        "a.toml: [stream.packets] row_slack must be alone: one thing says how far a stream is",
    ),
    "way and slack": (
        stream("row_slack = 1\nslack = '1 s'"),
        ("a.toml: [stream.packets] row_slack must be alone"),
    ),
    "row slack": (stream("row_slack = -1"), "a.toml: [stream.packets] row_slack: rows must be a"),
    "mark": (
        stream("punctuation = { where = 'a' }"),
        "a.toml: [stream.packets.punctuation] up_to must be given",
    ),
    "one name": (
        query("[view.Packets]\ncql = 'SELECT * FROM packets'"),
        "a.toml: [view.Packets] must have a name of its own, and [stream.packets] has it, got",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_with_its_table_and_key(case):
    text, message = REFUSED[case]
    with pytest.raises(ConfigError) as error:
        parse_config(text, "a.toml")
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("cql", "message"),
    [
        ("SELECT *\nFORM packets", "a.toml: [query.q] cql, line 2, column 1: expected ',' or FROM"),
        ("SELECT * FROM pakets", "a.toml: [query.q] cql, line 1, column 15: FROM needs a stream"),
        ("SELECT * FROM q", "a.toml: [query.q] cql, line 1, column 15: what comes FROM 'q' must"),
        (
            "SELECT count(*) FROM packets [RANGE 1 s SLIDE 1 s WATTR t]",
            "a.toml: [query.q] cql, line 1, column 57: WATTR must be the event time of packets",
        ),
    ],
)
def test_an_error_in_cql_has_its_table_its_line_and_its_column(cql, message):
    text = f"{STREAM}[query.q]\ncql = '''{cql}'''"
    with pytest.raises(CqlError) as error:
        parse_config(text, "a.toml").outline()
    assert str(error.value).startswith(message)


def test_a_file_that_cannot_be_read_is_one_line(tmp_path):
    with pytest.raises(ConfigError, match="must be a file that can be read, got 'No such file"):
        read_config(tmp_path / "gone.toml")
    (tmp_path / "latin.toml").write_bytes(b"answers = '\xe9'")
    with pytest.raises(ConfigError, match="must be a file that can be read, got 'it is no text'"):
        read_config(tmp_path / "latin.toml")


def test_a_variable_is_put_in_where_it_is_used_and_shown_nowhere():
    options = {"user": "me", "login": ["${USER_1}:${PASSWORD}"], "n": 3, "sum": "$${x}"}
    environ = {"USER_1": "me", "PASSWORD": "swordfish"}
    used = filled(options, environ, "options")
    assert used["login"] == ["me:swordfish"]
    assert (used["user"], used["n"], used["sum"]) == ("me", 3, "${x}")
    assert "swordfish" not in repr(used)
    assert isinstance(used["login"][0], Secret)
    with pytest.raises(ConfigError, match=r"options login needs a variable .* got 'USER_1'$"):
        filled(options, {}, "options")
