"""Jobs that run, each by a file of its own, as nodes of one model."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.errors import SpecificationError
from penstock.network.config import parse_config
from penstock.nodes import Job, of_jobs, optimal_plan
from penstock.planning import Known

CLEAN = """
[stream.packets]
source = "kafka"
event_time = "ts"
options = { servers = "s:1", topics = "packets", schema = "ts timestamp, size bigint" }

[query.large]
cql = "SELECT ts, size FROM packets WHERE size > 100"
sink = { format = "kafka", servers = "s:1", topic = "large" }

[query.small]
cql = "SELECT count(*) AS n FROM packets [RANGE 10 s SLIDE 10 s WATTR ts] WHERE size < 60"
weight = 3.0
"""
COUNT = """
[stream.large]
source = "kafka"
event_time = "ts"
options = { servers = "s:1", topics = "large", schema = "ts timestamp, size bigint" }

[query.per_minute]
cql = "SELECT sum(size) AS bytes FROM large [RANGE 60 s SLIDE 60 s WATTR ts]"
"""


def jobs() -> list[Job]:
    clean, count = parse_config(CLEAN, "clean.toml"), parse_config(COUNT, "count.toml")
    first = Known(
        rates={"packets": 1000.0},
        costs={"packets": 1e-5, "packets, taken": 1e-5, "small": 5e-4},
        selectivities={"filter 1": 0.25},
    )
    return [
        Job("clean", clean, first),
        Job("count", count, Known(costs={"large": 0.0, "per_minute": 0.02})),
    ]


def test_topics_link_jobs():
    found = of_jobs(jobs())
    assert [(one.name, one.rate) for one in found.inputs] == [("packets", 1000.0)]
    assert [node.name for node in found.nodes] == ["clean", "count"]
    boxes = {name: (box.node, box.inputs) for name, box in found.box.items()}
    assert boxes["clean.packets"] == ("clean", ("packets",))
    (written,) = boxes["count.large"][1]
    assert written.startswith("clean.")
    assert found.box[written].node == "clean"
    assert found.box["clean.packets"].cost == pytest.approx(2e-5)
    outputs = {one.name: (one.after, one.weight) for one in found.outputs}
    assert outputs == {
        "clean.small": ("clean.small", 3.0),
        "count.per_minute": ("count.per_minute", 1.0),
    }


def test_what_a_job_far_down_cannot_take_is_dropped_where_it_enters():
    plan = optimal_plan(of_jobs(jobs()))
    assert plan.before["count"] > 1.5
    assert plan.after["count"] == pytest.approx(1.0)
    assert plan.before["clean"] < 1
    # `clean` could do all of it, and drops what `count` would drop.
    assert plan.keeps
    assert all(str(place).startswith("clean.") for place in plan.keeps)


def test_a_rate_that_nobody_knows_is_asked_for():
    clean = Job("clean", parse_config(CLEAN, "clean.toml"))
    with pytest.raises(SpecificationError, match="the rate of packets must be known"):
        of_jobs([clean])
    assert of_jobs([clean], {"packets": 7.0}).rates == {"packets": 7.0}


def test_the_command_plans_files_of_jobs_with_their_statistics(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clean.toml").write_text(CLEAN)
    (tmp_path / "count.toml").write_text(COUNT)
    operator = {"of": "operator", "kind": "aggregate", "selectivity": None}
    table = [{**operator, "name": "per_minute", "cost": 0.02}]
    (tmp_path / "b.json").write_text(json.dumps([{"table": table}]))
    words = ("plan", "clean.toml", "count.toml", "--rates", "packets=1000", "--json")
    result = CliRunner().invoke(app, [*words, "--statistics", "count=b.json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["loads"]["before"]["count"] > 1
    several = CliRunner().invoke(app, [*words, "--load", "3"])
    assert several.exit_code == 2
    assert "--load, --drop-cost, --margin and --errors need a network" in several.output
    wrong = CliRunner().invoke(app, [*words, "--statistics", "b.json"])
    assert wrong.exit_code == 2
    assert "--statistics must be of clean, count: NAME=FILE" in wrong.output
