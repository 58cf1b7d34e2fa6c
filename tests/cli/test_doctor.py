"""`penstock doctor`: each thing that may be wrong has its line, and how to mend it."""

from __future__ import annotations

import json
import re
import tomllib
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.doctor import command, machine
from penstock.cli.doctor.checkpoint import checkpoint_checks
from penstock.cli.doctor.machine import GIB, PINS, pin, room
from penstock.cli.doctor.rows import time_check
from penstock.cli.main import app
from penstock.cli.session import Local
from penstock.network.config import parse_config

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)

FILE = """
[run]
checkpoint = "{folder}/checkpoint"

[stream.packets]
source = "files"
event_time = "{time}"
slack = "2 seconds"
options = {{ path = "{folder}/in" }}

[query.large]
cql = "SELECT count(*) AS n FROM packets [RANGE 10 s SLIDE 5 s WATTR {time}] WHERE size > 3"

[query.most]
answers = "subset"
max_gap = 2
cql = "SELECT max(size) AS most FROM packets [RANGE 10 s SLIDE 10 s WATTR {time}]"

[query.least]
cql = "SELECT min(size) AS least FROM packets [RANGE 10 s SLIDE 10 s WATTR {time}]"
"""


def micros(seconds: float) -> int:
    return int((NOW + timedelta(seconds=seconds)).timestamp() * 1e6)


class TestTheMachine:
    def test_the_pins_are_those_of_the_project(self):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        asked = {re.split(r"[<>=]", one)[0]: one for one in project["dependencies"]}
        assert {name: f"{name}{pin(name)}" for name in PINS} == {n: asked[n] for n in PINS}

    def test_a_package_of_another_version_is_named_with_what_to_install(self):
        old = {"pandas": "3.0.1", "pyspark": "4.2.0"}
        *_, found = machine.machine(installed=lambda name: old.get(name, "99"))
        assert (found.state, found.says) == ("wrong", "pyspark is 4.2.0, pandas is 3.0.1")
        assert found.mend == "pip install 'pyspark>=4.3,<4.4' 'pandas>=2.2,<3'"

    def test_without_java_it_says_how_to_get_one(self):
        java, *_ = machine.machine({"PATH": ""})
        assert (java.state, "no java on the PATH" in java.says) == ("wrong", True)
        assert java.mend.startswith("install it with")

    @pytest.mark.parametrize(("free", "state"), [(9, "ok"), (2, "warn"), (0.5, "wrong")])
    def test_room_on_the_disk(self, tmp_path, free, state):
        found = room(tmp_path / "not" / "there", lambda _: (0, 0, int(free * GIB)))
        assert (found.state, f"{free:.1f} GiB free" in found.says) == (state, True)


class TestTheEventTime:
    @pytest.mark.parametrize(
        ("times", "state", "says"),
        [
            ([-5, -4, -3], "ok", "ts: rows come up to 0 s out of order, slack is 2 s"),
            ([-5, -3, -4], "ok", "up to 1 s out of order"),
            ([-5, 0, -9], "warn", "rows come up to 9 s out of order; slack is 2 s"),
            ([-5, None, -4], "warn", "ts is null in 33% of 3 rows"),
            ([-5, None, None], "wrong", "ts is null in 67% of 3 rows"),
            ([-5, 3600], "wrong", "ts is in the future: 2026-01-01 13:00:00 UTC"),
        ],
    )
    def test_times_are_there_not_ahead_and_not_too_late(self, times, state, says):
        text = FILE.format(folder="x", time="ts")
        one = parse_config(text).streams["packets"]
        given = [None if time is None else micros(time) for time in times]
        found = time_check(one, given, micros(0))
        assert found.state == state
        assert says in found.line()


class TestTheCheckpoint:
    def found(self, folder, network="a = packets"):
        first, *_ = checkpoint_checks(str(folder), network)
        return first

    def test_one_that_is_not_there_is_new_and_stays_so(self, tmp_path):
        assert self.found(tmp_path / "new").says.endswith("is new")
        assert not (tmp_path / "new").exists()

    def test_one_of_this_network_goes_on_and_one_of_another_does_not(self, tmp_path):
        (tmp_path / "penstock").mkdir()
        (tmp_path / "penstock" / "network.txt").write_text("a = packets")
        assert self.found(tmp_path).state == "ok"
        other = self.found(tmp_path, "a = lines")
        assert (other.state, "of another network, with a = packets" in other.says) == (
            "wrong",
            True,
        )

    def test_one_of_another_stream_of_spark_is_refused(self, tmp_path):
        (tmp_path / "offsets").mkdir()
        (tmp_path / "offsets" / "0").write_text("v1")
        assert "is not of a network of penstock" in self.found(tmp_path).says

    def test_none_is_a_warning(self):
        first, *_ = checkpoint_checks(None, "a = packets")
        assert (first.state, "checkpoint = " in first.mend) == ("warn", True)


def test_a_file_that_cannot_be_read_ends_it_before_spark(tmp_path):
    (tmp_path / "a.toml").write_text("latncy = 1")
    result = CliRunner().invoke(app, ["doctor", str(tmp_path / "a.toml")])
    assert result.exit_code == 1
    assert "✗ file" in result.stdout
    assert "did you mean 'latency'?" in result.stdout


@pytest.fixture
def doctor(spark, tmp_path, monkeypatch):
    """Writes a file, and runs the command with the session of the tests."""

    @contextmanager
    def running_spark(size, more, *, verbose):
        yield Local(spark, tmp_path)

    monkeypatch.setattr(command, "running_spark", running_spark)
    rows = spark.range(0, 20, 1, 1).selectExpr("timestamp_seconds(id) AS ts", "id AS size")
    rows.write.parquet(str(tmp_path / "in"))

    def run(*more, time="ts", change=("", "")):
        file = tmp_path / "a.toml"
        file.write_text(FILE.format(folder=tmp_path, time=time).replace(*change))
        return CliRunner().invoke(app, ["doctor", str(file), *more])

    return run


def test_a_network_in_order_is_well_and_what_is_wrong_is_said(doctor):
    result = doctor("--json")
    found = json.loads(result.stdout)
    by_name = {one["check"]: one for one in found["checks"]}
    assert (found["ok"], result.exit_code) == (True, 0), result.stdout
    assert by_name["stream packets"]["says"] == "files, 20 rows, 4 columns"
    assert by_name["drops"]["says"] == "stand above the watermark, which sees every row"
    kinds = [one for one in found["checks"] if one["check"] == "answers"]
    assert kinds[0]["says"] == "large approximate, most subset"
    assert "query least cannot have approximate answers" in kinds[1]["says"]
    assert by_name["checkpoint"]["state"] == "ok"

    result = doctor(time="tss")
    assert result.exit_code == 1
    assert "✗ stream packets" in result.stdout
    assert "did you mean 'ts'?" in result.stdout
    assert "1 thing to mend" in result.stdout

    asked = ('"subset"\nmax_gap = 2', '"approximate"')
    result = doctor(change=asked)
    assert "✗ network" in result.stdout
    assert "[query.most] answers: query 'most'" in result.stdout

    result = doctor(change=("size > 3", "sice > 3"))
    assert "✗ network" in result.stdout
    assert "sice" in result.stdout

    result = doctor(change=("/in", "/nowhere"))
    assert "✗ stream packets" in result.stdout
    assert "PATH_NOT_FOUND" in result.stdout
