"""`penstock backfill`: what it prints, where the answers land, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

import penstock as ps
from penstock.cli.main import app
from penstock.cli.session import Local
from penstock.engine.toml_network import toml_network
from tests.engine.streams import SECOND, START, Files

NETWORK = """
[stream.rows]
source = "files"
event_time = "ts"
slack = "1 second"
options = {{ path = "{folder}/source", most = 1 }}

[query.n]
answers = "subset"
max_gap = 2
cql = "SELECT count(*) AS n FROM rows [RANGE 5 s SLIDE 5 s WATTR ts]"
"""


def penstock(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["backfill", *arguments])


@pytest.fixture(scope="module")
def place(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the network that has lost windows."""
    folder = tmp_path_factory.mktemp("backfill")
    files = Files(spark, folder)
    for batch in range(4):
        at = START + batch * 20 * SECOND
        files.add([{"ts": at + i * SECOND, "k": "a", "v": i} for i in range(20)])
    (folder / "network.toml").write_text(NETWORK.format(folder=folder))
    ran(spark, folder, "checkpoint", ps.sinks.parquet(str(folder / "answers" / "n")))
    return folder


def ran(spark: SparkSession, folder: Path, checkpoint: str, sink: ps.sinks.Sink) -> None:
    """Runs the network of the folder to its end, and loses windows."""
    network = toml_network(folder / "network.toml", spark).network
    where, trigger = str(folder / checkpoint), {"availableNow": True}
    network.start(where, sink=sink, trigger=trigger, drop=0.9).wait()


@pytest.fixture(autouse=True)
def settings(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[Mapping[str, str]]:
    """The session of the tests, in place of the command's own; what was asked of that."""
    asked: list[Mapping[str, str]] = []

    @contextmanager
    def ours(size: object, more: Mapping[str, str], *, verbose: bool) -> Iterator[Local]:
        asked.append(more)
        yield Local(spark, tmp_path)

    monkeypatch.setattr("penstock.cli.backfill.running_spark", ours)
    return asked


def test_it_says_what_it_would_do_and_does_it_once(spark: SparkSession, place: Path) -> None:
    given = [str(place / "network.toml"), "--checkpoint", str(place / "checkpoint")]
    dry = penstock(*given, "--dry-run")
    assert dry.exit_code == 0, dry.stderr
    assert "computed  would be" in dry.stdout
    result = penstock(*given, "--to", str(place / "answers"), "--json")
    assert result.exit_code == 0, result.stderr
    shown = json.loads(result.stdout)
    windows = shown["windows"]["n"]
    assert (shown["missing"], shown["before"], shown["revisions"]) == (len(windows), 0, [1])
    assert all(" 22:1" in start or " 22:1" in end for start, end in windows)
    answers = spark.read.parquet(str(place / "answers" / "n"))
    assert {r["n"] for r in answers.where("revision = 1").collect()} == {5}
    assert answers.where("revision = 1").count() == len(windows)
    again = penstock(*given, "--to", str(place / "answers"))
    assert "nothing was left to do" in again.stdout
    part = penstock(*given, "--again", "--dry-run", "--until", "2023-11-14T22:13:20", "--json")
    assert json.loads(part.stdout)["missing"] == 0


def test_sink_checkpoint_and_settings_are_those_of_the_file(
    spark: SparkSession,
    place: Path,
    settings: list[Mapping[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran(spark, place, "again", ps.sinks.parquet(str(place / "all")))
    run = """
[run]
checkpoint = "${PLACE}/again"
sink = { format = "parquet", path = "${PLACE}/all" }
[run.spark]
"spark.hadoop.key" = "${KEY}"
"""
    file = place / "whole.toml"
    file.write_text(NETWORK.format(folder=place) + run)
    monkeypatch.setenv("PLACE", str(place))
    monkeypatch.setenv("KEY", "hunter2")
    result = penstock(str(file), "--json")
    assert result.exit_code == 0, result.stderr
    windows = json.loads(result.stdout)["windows"]["n"]
    answers = spark.read.parquet(str(place / "all")).where("revision = 1")
    assert answers.count() == len(windows) > 0
    assert settings == [{"spark.hadoop.key": "hunter2"}]
    kafka = "{ format = 'kafka', servers = 'a:1', topic = 't' }"
    file.write_text(NETWORK.format(folder=place) + f"[run]\nsink = {kafka}\n")
    at = ("--checkpoint", str(place / "again"), "--dry-run")
    assert penstock(str(file), *at).exit_code == 0  # nothing is written: no connector is needed
    assert settings[1] == {}


def test_what_cannot_be_is_one_line(place: Path) -> None:
    given = [str(place / "network.toml"), "--checkpoint", str(place / "checkpoint")]
    for arguments, message in (
        ([*given, "--since", "noon"], "--since must be a time, got 'noon'"),
        ([*given, "--query", "m"], "query must be known in the network, got 'm'"),
        ([given[0], "--checkpoint", "gone"], "checkpoint must be that of a network that has run"),
        (given[:1], "--checkpoint must be given, got None; that of the run, unless the file has"),
        (["gone.toml", *given[1:]], "gone.toml must be a file that can be read"),
    ):
        result = penstock(*arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        (line,) = result.stderr.splitlines()
        assert message in line
