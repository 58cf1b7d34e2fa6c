"""A good file with one thing wrong is refused in one line: where, which key, what would be right.

Each mutation is (what stands in the good file, what is put there, the table, what the message has,
the key).
"""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.engine.from_toml import source_of
from penstock.errors import PenstockError
from penstock.network.config import parse_config
from penstock.planning import Known

GOOD = Path(__file__).with_name("good.toml").read_text()
TOP, RUN, SINK = "a.toml: ", "a.toml: [run] ", "a.toml: [run.sink] "
PACKETS, LOGS = "a.toml: [stream.packets] ", "a.toml: [stream.logs] "
BYTES, LINES = "a.toml: [query.bytes] ", "a.toml: [query.lines] "

MISSING = [
    (
        '[run]\nlatency = "3 seconds"',
        '[run]\nlatency = ""',
        RUN,
        'latency = "3 seconds"',
        "latency",
    ),
    ('source = "kafka"\n', "", PACKETS, 'source = "kafka"', "source"),
    ('servers = "db:9092"\n', "", PACKETS, 'servers = "db:9092"', "servers"),
    ('topics = "packets"\n', "", PACKETS, 'topics = "packets"', "topics"),
    ('path = "logs", ', "", LOGS, 'path = "in"', "path"),
    (', schema = "at timestamp, host string"', "", LOGS, 'schema = "ts timestamp, size', "schema"),
    (
        'delay = "30 seconds", ',
        "",
        "a.toml: [stream.logs.heartbeat] ",
        'delay = "30 seconds"',
        "delay",
    ),
    ('path = "hosts"\n', "", "a.toml: [relation.hosts] ", 'path = "in"', "path"),
    (
        'cql = "SELECT * FROM packets WHERE size > 1000"',
        "",
        "a.toml: [view.large] ",
        "cql = ",
        "cql",
    ),
    ('cql = "SELECT count', 'cqll = "SELECT count', LINES, "'cqll'; did you mean 'cql'?", "cqll"),
    (
        "rows_per_window = 20000\n",
        "",
        "a.toml: [statistics.query.bytes] ",
        "_window = 20_000",
        "rows_per_window",
    ),
    (
        'format = "parquet", path = "answers"',
        'path = "answers"',
        SINK,
        "format must be given",
        "format",
    ),
    (', path = "answers"', "", SINK, "a sink of format 'parquet' needs path", "path"),
    (
        '"kafka"\nevent_time = "ts"',
        '"kafka"',
        BYTES,
        "the event time of large, which has none",
        "cql",
    ),
]

MISTYPED = [
    ('"approximate"', "1", TOP, 'answers = "approximate"', "answers"),
    ('latency = "3 seconds"', "latency = 3", RUN, 'latency = "3 seconds"', "latency"),
    ('latency = "3 seconds"', "latency = 3 seconds", TOP, 'latency = "3 seconds"', "latency"),
    ('latency = "3 seconds"', 'latency = "3"', RUN, "'60 seconds'", "latency"),
    ('latency = "3 seconds"', 'latency = "3 m"', RUN, "write 'min'", "latency"),
    ('mode = "monitor"', "mode = true", RUN, 'mode = "monitor"', "mode"),
    (
        'checkpoint = "checkpoint"',
        "checkpoint = ['a']",
        RUN,
        'checkpoint = "checkpoint"',
        "checkpoint",
    ),
    ('trigger = "1 second"', "trigger = 1", RUN, 'trigger = "1 second"', "trigger"),
    ('trigger = "1 second"', 'trigger = "often"', RUN, "such as '2 seconds'", "trigger"),
    (
        '{ format = "parquet", path = "answers" }',
        '"parquet"',
        RUN,
        'sink = { format = "parquet"',
        "sink",
    ),
    ('path = "answers"', "path = 7", SINK, 'path = "in"', "path"),
    ('event_time = "ts"', "event_time = 5", PACKETS, 'event_time = "ts"', "event_time"),
    ('slack = "2 seconds"', "slack = true", PACKETS, "such as '2 seconds'", "slack"),
    ('slack = "2 seconds"', 'slack = "two seconds"', PACKETS, "'60 seconds'", "slack"),
    ('identity = "number"', "identity = 5", PACKETS, 'identity = "number"', "identity"),
    ('weight = "stands_for"', "weight = 2.5", PACKETS, 'weight = "w"', "weight"),
    ('per = "window"', "per = 1", LINES, 'per = "group"', "per"),
    ('topics = "packets"', "topics = 5", PACKETS, 'topics = "packets"', "topics"),
    ("most = 100000", 'most = "many"', PACKETS, "most = 100_000", "most"),
    ("heartbeat = {", "row_slack = {", LOGS, "row_slack = 100", "row_slack"),
    ("weight = 2", 'weight = "2"', BYTES, "weight = 2", "weight"),
    ("priority = 1", "priority = 1.5", BYTES, "priority = 1", "priority"),
    ("floor = 20", 'floor = "20"', BYTES, "floor = 20", "floor"),
    ("max_gap = 5", "max_gap = true", LINES, "max_gap = 5", "max_gap"),
    (
        "rate = 50000",
        'rate = "50k"',
        "a.toml: [statistics.stream.packets] ",
        "rate = 50_000",
        "rate",
    ),
    (
        "[view.large]\ncql = ",
        "[view]\nlarge = ",
        "a.toml: [view] ",
        "large must be a table, [view",
        "large",
    ),
    ("[run]", "[run", TOP, "Expected ']'", "run"),
]

OUT_OF_RANGE = [
    ("confidence = 0.95", "confidence = 95", BYTES, "such as 0.99", "confidence"),
    ("max_error = 0.1", "max_error = -1", RUN, "max_error = 0.1", "max_error"),
    ("max_loss = 0.5", "max_loss = 50", RUN, "max_loss", "max_loss"),
    ('for = "10 minutes"', 'for = "0 s"', RUN, 'for = "10 minutes"', "for"),
    ('latency = "3 seconds"', 'latency = "0 s"', RUN, 'latency = "3 seconds"', "latency"),
    ('latency = "3 seconds"', 'latency = "-3 s"', RUN, 'latency = "3 seconds"', "latency"),
    ('latency = "3 seconds"', 'latency = "1 month"', RUN, "give days", "latency"),
    ('trigger = "1 second"', 'trigger = "-1 s"', RUN, "such as '2 seconds'", "trigger"),
    ('slack = "2 seconds"', "slack = -1", PACKETS, "such as '2 seconds'", "slack"),
    ("most = 100000", "most = 0", PACKETS, "most = 100_000", "most"),
    ('every = "1 second"', 'every = "1 ms"', LOGS, 'heartbeat = { delay = "30 seconds" }', "every"),
    ("weight = 2", "weight = 0", BYTES, "weight = 2", "weight"),
    ("weight = 2", "weight = inf", BYTES, "weight = 2", "weight"),
    ("priority = 1", "priority = 0", BYTES, "priority = 1", "priority"),
    ("floor = 20", "floor = 0", BYTES, "floor = 20", "floor"),
    (
        "max_gap = 5\n",
        "floor = 5\n",
        LINES,
        "floor must be left out where answers are not",
        "floor",
    ),
    ("max_gap = 5", "max_gap = 0", LINES, "max_gap = 5", "max_gap"),
    (
        '"subset"',
        '"approximate"',
        LINES,
        "max_gap must be left out where answers are not",
        "max_gap",
    ),
    ("cost = 1e-6", "cost = -1", "a.toml: [statistics.operator.filter 1] ", "cost = 1e-6", "cost"),
    (
        "= 0.8",
        "= 80",
        "a.toml: [statistics.operator.filter 1] ",
        "selectivity = 0.8",
        "selectivity",
    ),
    ("mean = 500", "mean = 0", "a.toml: [statistics.query.bytes] ", "mean = 500", "mean"),
    ("RANGE 1 min SLIDE 10 s", "RANGE 0 s SLIDE 10 s", BYTES, "must be greater than 0", "cql"),
    ("RANGE 1 min SLIDE 10 s", "RANGE 1 month SLIDE 10 s", BYTES, "give days", "cql"),
]

UNKNOWN = [
    ('wins = "latency"', 'wins = "latncy"', RUN, "did you mean 'latency'?", "wins"),
    (
        'answers = "approximate"',
        'answers = "aproximate"',
        TOP,
        "did you mean 'approximate'?",
        "answers",
    ),
    ('answers = "approximate"', 'answer = "approximate"', TOP, "did you mean 'answers'?", "answer"),
    ("[run]", "[runn]", TOP, "did you mean 'run'?", "runn"),
    ("checkpoint = ", "checkpiont = ", RUN, "did you mean 'checkpoint'?", "checkpiont"),
    ('"monitor"', '"montor"', RUN, "did you mean 'monitor'?", "mode"),
    ('trigger = "1 second"', 'trigger = "availableNow"', RUN, "or 'available now'", "trigger"),
    (
        'format = "parquet", path = "answers"',
        'format = "delta"',
        SINK,
        "'parquet' or 'kafka'",
        "format",
    ),
    ("[stream.packets]", "[strem.packets]", TOP, "did you mean 'stream'?", "strem"),
    ('source = "kafka"', 'source = "kafak"', PACKETS, "did you mean 'kafka'?", "source"),
    ('event_time = "ts"', 'eventtime = "ts"', PACKETS, "did you mean 'event_time'?", "eventtime"),
    ('late = "generous"', 'late = "genrous"', PACKETS, "did you mean 'generous'?", "late"),
    ("servers = ", "brokers = ", PACKETS, "must have options that are known for kafka", "brokers"),
    (
        'starting = "latest"',
        'starting = "newest"',
        PACKETS,
        "starting must be 'latest', 'earliest'",
        "starting",
    ),
    ('format = "csv"', 'format = "cvs"', LOGS, "did you mean 'csv'?", "format"),
    ('"packets"\n', '"packets"\npth = 1\n', PACKETS, "known for kafka, got 'pth'", "pth"),
    (
        'every = "1 second"',
        'evry = "1 second"',
        "a.toml: [stream.logs.heartbeat] ",
        "'every'?",
        "evry",
    ),
    (
        'format = "parquet"\n',
        'fromat = "parquet"\n',
        "a.toml: [relation.hosts] ",
        "'format'?",
        "fromat",
    ),
    ("FROM packets WHERE", "FROM pakets WHERE", "a.toml: [view.large] cql, ", "'packets'?", "cql"),
    ("FROM large", "FORM large", "a.toml: [query.bytes] cql, ", "did you mean 'FROM'?", "cql"),
    (
        "GROUP BY host",
        "GRUOP BY host",
        "a.toml: [query.bytes] cql, ",
        "did you mean 'GROUP'?",
        "cql",
    ),
    ("sum(size)", "smu(size)", "a.toml: [query.bytes] cql, ", "did you mean 'sum'?", "cql"),
    ("WATTR ts", "WATTR tz", "a.toml: [query.bytes] cql, ", "WATTR must be the event time", "cql"),
    ("weight = 2", "wieght = 2", BYTES, "did you mean 'weight'?", "wieght"),
    ('per = "window"', 'per = "groups"', LINES, "did you mean 'group'?", "per"),
    ("priority = 1", 'per = "group"', BYTES, "per must be left out where answers are not", "per"),
    ("max_gap", "maxgap", LINES, "did you mean 'max_gap'?", "maxgap"),
    (
        "[statistics.stream.packets]",
        "[statistics.stream.pakets]",
        TOP,
        "did you mean 'packets'?",
        "pakets",
    ),
    ("[statistics.query.bytes]", "[statistics.query.byte]", TOP, "did you mean 'bytes'?", "byte"),
    (
        "deviation",
        "deviaton",
        "a.toml: [statistics.query.bytes] ",
        "did you mean 'deviation'?",
        "deviaton",
    ),
    (
        "[query.lines]",
        "[query.packets]",
        "a.toml: [query.packets] ",
        "must have a name of its own",
        "packets",
    ),
]

MUTATIONS = [*MISSING, *MISTYPED, *OUT_OF_RANGE, *UNKNOWN]


def read(text: str) -> None:
    """All that is checked before Spark is needed."""
    config = parse_config(text, "a.toml")
    config.outline()
    Known.from_table(config.statistics)
    for stream in config.streams.values():
        source_of(stream, {})


def test_the_good_file_is_good():
    read(GOOD)


def test_there_are_enough_of_them():
    assert len(set(MUTATIONS)) == len(MUTATIONS) >= 50


@pytest.mark.parametrize(
    ("old", "new", "place", "says", "key"), MUTATIONS, ids=[f"{m[1]}" for m in MUTATIONS]
)
def test_a_mutation_is_refused_with_its_place_and_what_would_be_right(old, new, place, says, key):
    assert old in GOOD
    with pytest.raises(PenstockError) as error:
        read(GOOD.replace(old, new, 1))
    said = str(error.value).partition("\n")[0]  # an error in CQL goes on with an excerpt
    assert said.startswith(place)
    assert says in said
    wrong = said.partition(";")[0]  # what is said before what would be right
    assert re.search(rf"\b{key}\b", wrong)


@pytest.mark.parametrize("number", [1, 16, 42, 69], ids=lambda number: MUTATIONS[number][1])
def test_a_run_of_it_ends_with_code_2_and_that_line(number, tmp_path, monkeypatch):
    old, new, place, says, key = MUTATIONS[number]
    monkeypatch.chdir(tmp_path)
    Path("a.toml").write_text(GOOD.replace(old, new, 1))
    result = CliRunner().invoke(app, ["run", "a.toml"])
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"penstock: {place}")
    assert says in line
    assert key in line
