"""The table [run] and the sinks of a TOML file: what they may say, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.network.config import parse_config
from penstock.network.settings import RunSettings
from penstock.network.tables import ConfigError

PAGE = Path(__file__).parents[2] / "docs" / "running.md"
STREAM = "[stream.packets]\nsource = 'rate'\nevent_time = 'timestamp'\n"
QUERY = (
    "[query.n]\ncql = 'SELECT count(*) AS n FROM packets "
    "[RANGE 1 min SLIDE 1 min WATTR timestamp]'\n"
)


def test_what_is_not_said_has_its_usual_value():
    assert parse_config(STREAM + QUERY).run == RunSettings()
    assert parse_config("latency = '2 s'\n" + STREAM + QUERY).run == RunSettings(latency=2_000_000)


def test_all_that_can_be_said_of_a_run():
    text = """
    [run]
    latency = "3 seconds"
    mode = "monitor"
    checkpoint = "state"
    trigger = "500 ms"
    for = "2 minutes"
    sink = { format = "kafka", servers = "a:9092", topic = "t", options = { "kafka.acks" = "1" } }
    [run.spark]
    "spark.sql.shuffle.partitions" = 8
    "spark.ui.enabled" = true
    """
    run = parse_config(STREAM + QUERY + text).run
    assert (run.latency, run.mode, run.checkpoint) == (3_000_000, "monitor", "state")
    assert (run.trigger, run.length) == (500_000, 120_000_000)
    assert run.sink["topic"] == "t"
    assert run.spark == {"spark.sql.shuffle.partitions": "8", "spark.ui.enabled": "true"}


def test_a_run_may_end_with_what_there_is():
    assert parse_config(STREAM + QUERY + "[run]\ntrigger = 'available now'").run.trigger == 0


def test_a_query_may_have_a_confidence_and_a_sink_of_its_own():
    text = QUERY + "confidence = 0.9\nsink = { format = 'parquet', path = 'n' }"
    query = parse_config(STREAM + text).queries["n"]
    assert (query.confidence, query.asked) == (0.9, False)
    assert query.sink == {"format": "parquet", "path": "n"}
    assert parse_config(STREAM + QUERY + "answers = 'approximate'").queries["n"].asked


def test_what_the_documentation_shows_is_a_network():
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    config = parse_config(text + "[stream.packets]\nsource = 'rate'\nevent_time = 'ts'\n")
    assert config.outline().queries.keys() == {"alarms"}
    assert (config.latency, config.run.max_loss) == (3_000_000, 0.5)


REFUSED = {
    "key": ("[run]\nmod = 'on'", "[run] must have keys that are known, got 'mod'; did you mean"),
    "no table": ("run = 3", "run must be a table, [run], got 3"),
    "mode": ("[run]\nmode = 'of'", "[run] mode must be 'on' or 'monitor' or 'off', got 'of'"),
    "latency": ("[run]\nlatency = 3", "[run] latency must be a text, got 3"),
    "no latency": ("[run]\nlatency = '0 s'", "[run] latency must be greater than 0, got '0 s'"),
    "two": ("latency = '1 s'\n[run]\nlatency = '1 s'", "[run] latency must be given once"),
    "trigger": (
        "[run]\ntrigger = 'soon'",
        "[run] trigger must be a duration, such as '2 seconds', or 'available now', got 'soon'",
    ),
    "unit": ("[run]\ntrigger = '2 sx'", "[run] trigger must be in a known unit of time, got"),
    "no trigger": ("[run]\ntrigger = '0 s'", "[run] trigger must be greater than 0"),
    "wins": ("[run]\nwins = 'error'", "[run] wins must be 'latency' or 'answers', got 'error'"),
    "max_loss": ("[run]\nmax_loss = 20", "[run] max_loss must be a share from 0 to 1, got 20"),
    "max_error": ("[run]\nmax_error = 0", "[run] max_error must be a number greater than 0"),
    "for": ("[run]\nfor = '-1 s'", "[run] for must not be negative, got '-1 s'"),
    "checkpoint": ("[run]\ncheckpoint = ''", "[run] checkpoint must be a text, got ''"),
    "sink": ("[run]\nsink = 'parquet'", "[run] sink must be a table, [run.sink], got 'parquet'"),
    "no format": ("[run.sink]\npath = 'a'", "[run.sink] format must be given, got None; such as"),
    "format": (
        "[run.sink]\nformat = 'parqet'",
        "[run.sink] format must be 'parquet' or 'kafka' or 'console' or 'memory', got 'parqet'",
    ),
    "path": ("[run.sink]\nformat = 'parquet'", "[run.sink] path must be given, got None; a sink"),
    "topic": (
        "[run.sink]\nformat = 'kafka'\nservers = 'a:1'",
        "[run.sink] topic must be given, got None; a sink of format 'kafka' needs servers and t",
    ),
    "sink key": (
        "[run.sink]\nformat = 'console'\nrow = 3",
        "[run.sink] must have keys that are known, got 'row'; did you mean 'rows'?",
    ),
    "rows": ("[run.sink]\nformat = 'console'\nrows = 0", "[run.sink] rows must be a whole number"),
    "width": ("[run.sink]\nformat = 'console'\nwidth = -1", "[run.sink] width must be a whole"),
    "columns": (
        "[run.sink]\nformat = 'parquet'\npath = 'a'\npartition_by = 3",
        "[run.sink] partition_by must be the name of a column",
    ),
    "options": (
        "[run.sink]\nformat = 'kafka'\nservers = 'a:1'\ntopic = 't'\noptions = 'x'",
        "[run.sink] options must be a table, [run.sink.options], got 'x'",
    ),
    "spark": (
        "[run.spark]\nshuffle = 8",
        "[run.spark] shuffle must be a setting of Spark's, got 8; such as",
    ),
    "spark without quotes": (
        "[run.spark]\nspark.sql.shuffle.partitions = 8",
        "[run.spark] spark must be a setting of Spark's",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_with_its_table_and_key(case):
    more, message = REFUSED[case]
    text = more + "\n" + STREAM + QUERY
    with pytest.raises(ConfigError) as error:
        parse_config(text, "a.toml")
    assert str(error.value).startswith(f"a.toml: {message}")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("confidence = 2", "confidence must be from 0.5 to below 1, got 2; such as 0.99"),
        ("confidence = 'high'", "confidence must be a number greater than 0, got 'high'"),
        (
            "confidence = 0.9\nanswers = 'subset'\nmax_gap = 2",
            "confidence must be left out where answers are not 'approximate', got 0.9",
        ),
        ("sink = { format = 'parquet' }", None),
    ],
)
def test_what_a_query_cannot_have_is_refused(more, message):
    with pytest.raises(ConfigError) as error:
        parse_config(STREAM + QUERY + more, "a.toml")
    expected = "[query.n.sink] path must be given" if message is None else f"[query.n] {message}"
    assert str(error.value).startswith(f"a.toml: {expected}")
