"""`penstock init`: a file for a folder or a topic, which the other commands take as it is."""

from __future__ import annotations

import datetime as dt
import json
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import penstock as ps
from penstock.cli import init as module
from penstock.cli.main import app
from penstock.cli.session import Local
from penstock.engine.toml_network import toml_network
from penstock.network.config import read_config

TIMES = [dt.datetime(2026, 1, 1, 0, minute, tzinfo=dt.UTC) for minute in range(4)]


@pytest.fixture
def penstock(spark, tmp_path, monkeypatch):
    """Runs the command with the session of the tests."""

    @contextmanager
    def local_spark(size, *, verbose, more):
        yield Local(spark, tmp_path)

    monkeypatch.setattr(module, "local_spark", local_spark)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, [str(one) for one in arguments])


def made(penstock, source, file, *more):
    result = penstock("init", source, "-o", file, *more)
    assert (result.exit_code, result.stderr) == (0, "")
    for command in (("explain", file), ("plan", file, "--load", "3")):
        assert penstock(*command).exit_code == 0
    return read_config(file)


def counts(spark, config):
    """The answers of the file's query over the rows that are there, with a batch for the stream."""
    asked = toml_network(
        config, spark, lambda kind, options: ps.sources.named(kind, {**options, "batch": True})
    )
    return [row["rows"] for row in asked.network.batch()["per_minute"].collect()]


def test_a_folder_of_parquet(penstock, spark, tmp_path):
    # pandas and others write times without a zone, which Spark takes for another type.
    naive = pa.array([time.replace(tzinfo=None) for time in TIMES], pa.timestamp("us"))
    (tmp_path / "web-logs").mkdir()
    pq.write_table(pa.table({"ts": naive, "n": [1, 2, 3, 4]}), tmp_path / "web-logs" / "a.parquet")
    config = made(penstock, tmp_path / "web-logs", tmp_path / "a.toml")
    stream = config.streams["web_logs"]
    assert (stream.event_time, stream.options["format"]) == ("ts", "parquet")
    assert counts(spark, config) == [1, 1, 1, 1]


def test_a_file_of_json_with_times_as_text(penstock, spark, tmp_path):
    lines = [json.dumps({"host": "a", "seen": time.isoformat(), "x": {"y": 1}}) for time in TIMES]
    (tmp_path / "hits.json").write_text("\n".join(lines))
    config = made(penstock, tmp_path / "hits.json", tmp_path / "a.toml")
    stream = config.streams["hits"]
    assert stream.event_time == "seen"
    assert stream.options["schema"] == "host string, seen timestamp, x struct<y:bigint>"
    assert counts(spark, config) == [1, 1, 1, 1]
    assert "# identity" in (tmp_path / "a.toml").read_text()


def test_a_folder_of_csv_with_numbers_since_1970(penstock, spark, tmp_path):
    (tmp_path / "in").mkdir()
    lines = [f"{time.timestamp() * 1000:.0f},h" for time in TIMES]
    (tmp_path / "in" / "a.csv").write_text("\n".join(["time_ms,host", *lines]))
    config = made(penstock, tmp_path / "in", tmp_path / "a.toml")
    assert [one.event_time for one in config.streams.values()] == ["time_ms"]
    assert counts(spark, config) == [1, 1, 1, 1]


def test_a_file_that_is_there_is_written_over_only_by_force(penstock, tmp_path):
    (tmp_path / "a.json").write_text('{"ts": "2026-01-01T00:00:00Z"}')
    (tmp_path / "a.toml").write_text("mine")
    result = penstock("init", tmp_path / "a.json")
    assert result.exit_code == 2
    assert "a.toml must not be there yet" in result.stderr
    assert (tmp_path / "a.toml").read_text() == "mine"
    made(penstock, tmp_path / "a.json", "a.toml", "--force")
    assert "per_minute" in (tmp_path / "a.toml").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere",), "penstock: nowhere must be readable, got '[PATH_NOT_FOUND]"),
        (("only.txt",), "only.txt must have files that end in .parquet, .json or .csv, got 'only"),
        (("kafka://host:9092",), "SOURCE must be kafka://host:port/topic, got"),
        (("kafka://me:hunter2@host/topic",), "got 'kafka://***@host/topic'; a login is given by"),
        (("s3a://me:hunter2@bucket/x",), "SOURCE must have no login in it, got 's3a://***@bucket"),
        (("only.txt", "--option", "a=b"), "--option must be left out for files"),
        (("only.txt", "--option", "hunter2"), "--option must be NAME=VALUE"),
    ],
)
def test_what_cannot_be_is_one_line(penstock, tmp_path, arguments, message):
    (tmp_path / "only.txt").write_text("text")
    # Spark looks for relative paths in a folder of its own.
    named = [str(tmp_path / "only.txt") if one == "only.txt" else one for one in arguments]
    result = penstock("init", *named)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert "hunter2@" not in result.stderr
    assert not list(tmp_path.glob("*.toml"))


def test_secrets_are_names_of_variables(tmp_path):
    options = {
        "kafka.sasl.jaas.config": "password='hunter2'",
        "kafka.ssl.key.password": "${KEY}",
        "kafka.security.protocol": "SASL_SSL",
        "spark.hadoop.fs.s3a.secret.key": "hunter2",
    }
    assert module.without_secrets(options) == {
        "kafka.sasl.jaas.config": "${KAFKA_SASL_JAAS_CONFIG}",
        "kafka.ssl.key.password": "${KEY}",
        "kafka.security.protocol": "SASL_SSL",
        "spark.hadoop.fs.s3a.secret.key": "${SPARK_HADOOP_FS_S3A_SECRET_KEY}",
    }
