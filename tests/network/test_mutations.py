"""A good file with one thing wrong is refused in one line: where, which key, what would be right.

Each mutation is (what stands in the good file, what is put there, the table, what the message has).
"""

from pathlib import Path

import pytest

from penstock.engine.from_toml import source_of
from penstock.errors import PenstockError
from penstock.network.config import parse_config
from penstock.planning import Known

GOOD = Path(__file__).with_name("good.toml").read_text()
TOP, RUN, SINK = "a.toml: ", "a.toml: [run] ", "a.toml: [run.sink] "
PACKETS, LOGS = "a.toml: [stream.packets] ", "a.toml: [stream.logs] "
BYTES, LINES = "a.toml: [query.bytes] ", "a.toml: [query.lines] "

MISSING = [
    ('[run]\nlatency = "3 seconds"', '[run]\nlatency = ""', RUN, 'latency = "3 seconds"'),
    ('source = "kafka"\n', "", PACKETS, 'source = "kafka"'),
    ('servers = "db:9092"\n', "", PACKETS, 'servers = "db:9092"'),
    ('topics = "packets"\n', "", PACKETS, 'topics = "packets"'),
    ('path = "logs", ', "", LOGS, 'path = "in"'),
    (', schema = "at timestamp, host string"', "", LOGS, 'schema = "ts timestamp, size'),
    ('delay = "30 seconds", ', "", "a.toml: [stream.logs.heartbeat] ", 'delay = "30 seconds"'),
    ('path = "hosts"\n', "", "a.toml: [relation.hosts] ", 'path = "in"'),
    ('cql = "SELECT * FROM packets WHERE size > 1000"', "", "a.toml: [view.large] ", "cql = "),
    ('cql = "SELECT count', 'cqll = "SELECT count', LINES, "'cqll'; did you mean 'cql'?"),
    ("rows_per_window = 20000\n", "", "a.toml: [statistics.query.bytes] ", "_window = 20_000"),
    ('format = "parquet", path = "answers"', 'path = "answers"', SINK, "format must be given"),
    (', path = "answers"', "", SINK, "a sink of format 'parquet' needs path"),
    ('"kafka"\nevent_time = "ts"', '"kafka"', BYTES, "the event time of large, which has none"),
]

MISTYPED = [
    ('"approximate"', "1", TOP, 'answers = "approximate"'),
    ('latency = "3 seconds"', "latency = 3", RUN, 'latency = "3 seconds"'),
    ('latency = "3 seconds"', "latency = 3 seconds", TOP, 'latency = "3 seconds"'),
    ('latency = "3 seconds"', 'latency = "3"', RUN, "'60 seconds'"),
    ('latency = "3 seconds"', 'latency = "3 m"', RUN, "write 'min'"),
    ('mode = "monitor"', "mode = true", RUN, 'mode = "monitor"'),
    ('checkpoint = "checkpoint"', "checkpoint = ['a']", RUN, 'checkpoint = "checkpoint"'),
    ('trigger = "1 second"', "trigger = 1", RUN, 'trigger = "1 second"'),
    ('trigger = "1 second"', 'trigger = "often"', RUN, "such as '2 seconds'"),
    ('{ format = "parquet", path = "answers" }', '"parquet"', RUN, 'sink = { format = "parquet"'),
    ('path = "answers"', "path = 7", SINK, 'path = "in"'),
    ('event_time = "ts"', "event_time = 5", PACKETS, 'event_time = "ts"'),
    ('slack = "2 seconds"', "slack = true", PACKETS, "such as '2 seconds'"),
    ('slack = "2 seconds"', 'slack = "two seconds"', PACKETS, "'60 seconds'"),
    ('identity = "number"', "identity = 5", PACKETS, 'identity = "number"'),
    ('weight = "stands_for"', "weight = 2.5", PACKETS, 'weight = "w"'),
    ('per = "window"', "per = 1", LINES, 'per = "group"'),
    ('topics = "packets"', "topics = 5", PACKETS, 'topics = "packets"'),
    ("most = 100000", 'most = "many"', PACKETS, "most = 100_000"),
    ("heartbeat = {", "row_slack = {", LOGS, "row_slack = 100"),
    ("weight = 2", 'weight = "2"', BYTES, "weight = 2"),
    ("priority = 1", "priority = 1.5", BYTES, "priority = 1"),
    ("floor = 20", 'floor = "20"', BYTES, "floor = 20"),
    ("max_gap = 5", "max_gap = true", LINES, "max_gap = 5"),
    ("rate = 50000", 'rate = "50k"', "a.toml: [statistics.stream.packets] ", "rate = 50_000"),
    ("[view.large]\ncql = ", "[view]\nlarge = ", "a.toml: [view] ", "large must be a table, [view"),
    ("[run]", "[run", TOP, "Expected ']'"),
]

OUT_OF_RANGE = [
    ("confidence = 0.95", "confidence = 95", BYTES, "such as 0.99"),
    ("max_error = 0.1", "max_error = -1", RUN, "max_error = 0.1"),
    ("max_loss = 0.5", "max_loss = 50", RUN, "max_loss"),
    ('for = "10 minutes"', 'for = "0 s"', RUN, 'for = "10 minutes"'),
    ('latency = "3 seconds"', 'latency = "0 s"', RUN, 'latency = "3 seconds"'),
    ('latency = "3 seconds"', 'latency = "-3 s"', RUN, 'latency = "3 seconds"'),
    ('latency = "3 seconds"', 'latency = "1 month"', RUN, "give days"),
    ('trigger = "1 second"', 'trigger = "-1 s"', RUN, "such as '2 seconds'"),
    ('slack = "2 seconds"', "slack = -1", PACKETS, "such as '2 seconds'"),
    ("most = 100000", "most = 0", PACKETS, "most = 100_000"),
    ('every = "1 second"', 'every = "1 ms"', LOGS, 'heartbeat = { delay = "30 seconds" }'),
    ("weight = 2", "weight = 0", BYTES, "weight = 2"),
    ("weight = 2", "weight = inf", BYTES, "weight = 2"),
    ("priority = 1", "priority = 0", BYTES, "priority = 1"),
    ("floor = 20", "floor = 0", BYTES, "floor = 20"),
    ("max_gap = 5\n", "floor = 5\n", LINES, "floor must be left out where answers are not"),
    ("max_gap = 5", "max_gap = 0", LINES, "max_gap = 5"),
    ('"subset"', '"approximate"', LINES, "max_gap must be left out where answers are not"),
    ("cost = 1e-6", "cost = -1", "a.toml: [statistics.operator.filter 1] ", "cost = 1e-6"),
    ("= 0.8", "= 80", "a.toml: [statistics.operator.filter 1] ", "selectivity = 0.8"),
    ("mean = 500", "mean = 0", "a.toml: [statistics.query.bytes] ", "mean = 500"),
    ("RANGE 1 min SLIDE 10 s", "RANGE 0 s SLIDE 10 s", BYTES, "must be greater than 0"),
    ("RANGE 1 min SLIDE 10 s", "RANGE 1 month SLIDE 10 s", BYTES, "give days"),
]

UNKNOWN = [
    ('wins = "latency"', 'wins = "latncy"', RUN, "did you mean 'latency'?"),
    ('answers = "approximate"', 'answers = "aproximate"', TOP, "did you mean 'approximate'?"),
    ('answers = "approximate"', 'answer = "approximate"', TOP, "did you mean 'answers'?"),
    ("[run]", "[runn]", TOP, "did you mean 'run'?"),
    ("checkpoint = ", "checkpiont = ", RUN, "did you mean 'checkpoint'?"),
    ('"monitor"', '"montor"', RUN, "did you mean 'monitor'?"),
    ('trigger = "1 second"', 'trigger = "availableNow"', RUN, "or 'available now'"),
    ('format = "parquet", path = "answers"', 'format = "delta"', SINK, "'parquet' or 'kafka'"),
    ("[stream.packets]", "[strem.packets]", TOP, "did you mean 'stream'?"),
    ('source = "kafka"', 'source = "kafak"', PACKETS, "did you mean 'kafka'?"),
    ('event_time = "ts"', 'eventtime = "ts"', PACKETS, "did you mean 'event_time'?"),
    ('late = "generous"', 'late = "genrous"', PACKETS, "did you mean 'generous'?"),
    ("servers = ", "brokers = ", PACKETS, "must have options that are known for kafka"),
    (
        'starting = "latest"',
        'starting = "newest"',
        PACKETS,
        "starting must be 'latest', 'earliest'",
    ),
    ('format = "csv"', 'format = "cvs"', LOGS, "did you mean 'csv'?"),
    ('"packets"\n', '"packets"\npth = 1\n', PACKETS, "known for kafka, got 'pth'"),
    ('every = "1 second"', 'evry = "1 second"', "a.toml: [stream.logs.heartbeat] ", "'every'?"),
    ('format = "parquet"\n', 'fromat = "parquet"\n', "a.toml: [relation.hosts] ", "'format'?"),
    ("FROM packets WHERE", "FROM pakets WHERE", "a.toml: [view.large] cql, ", "'packets'?"),
    ("FROM large", "FORM large", "a.toml: [query.bytes] cql, ", "did you mean 'FROM'?"),
    ("GROUP BY host", "GRUOP BY host", "a.toml: [query.bytes] cql, ", "did you mean 'GROUP'?"),
    ("sum(size)", "smu(size)", "a.toml: [query.bytes] cql, ", "did you mean 'sum'?"),
    ("WATTR ts", "WATTR tz", "a.toml: [query.bytes] cql, ", "WATTR must be the event time"),
    ("weight = 2", "wieght = 2", BYTES, "did you mean 'weight'?"),
    ('per = "window"', 'per = "groups"', LINES, "did you mean 'group'?"),
    ("priority = 1", 'per = "group"', BYTES, "per must be left out where answers are not"),
    ("max_gap", "maxgap", LINES, "did you mean 'max_gap'?"),
    ("[statistics.stream.packets]", "[statistics.stream.pakets]", TOP, "did you mean 'packets'?"),
    ("[statistics.query.bytes]", "[statistics.query.byte]", TOP, "did you mean 'bytes'?"),
    ("deviation", "deviaton", "a.toml: [statistics.query.bytes] ", "did you mean 'deviation'?"),
    ("[query.lines]", "[query.packets]", "a.toml: [query.packets] ", "must have a name of its own"),
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
    ("old", "new", "place", "says"), MUTATIONS, ids=[f"{m[1]}" for m in MUTATIONS]
)
def test_a_mutation_is_refused_with_its_place_and_what_would_be_right(old, new, place, says):
    assert old in GOOD
    with pytest.raises(PenstockError) as error:
        read(GOOD.replace(old, new, 1))
    said = str(error.value).partition("\n")[0]  # an error in CQL goes on with an excerpt
    assert said.startswith(place)
    assert says in said
