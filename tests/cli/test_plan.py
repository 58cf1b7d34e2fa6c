"""`penstock plan`: what it prints, and what it refuses."""

import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.control import Flow, Observation, Statistics, Warmup

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).with_name("plan.txt")

MIXED = """
[stream.packets]
source = "files"
event_time = "ts"

[view.web]
cql = "SELECT * FROM packets WHERE port = 80"

[query.traffic]
weight = 2
cql = "SELECT count(*) AS n FROM packets [RANGE 60 s SLIDE 10 s WATTR ts]"

[query.web_hosts]
answers = "subset"
max_gap = 20
cql = "SELECT host, count(*) AS n FROM web [RANGE 60 s SLIDE 10 s WATTR ts] GROUP BY host"

[query.web_ports]
answers = "subset"
max_gap = 50
cql = "SELECT host, sum(size) AS n FROM web [RANGE 30 s SLIDE 5 s WATTR ts] GROUP BY host"

[query.rare]
priority = 2
cql = "SELECT * FROM packets WHERE size < 0"

[statistics.stream.packets]
rate = 50_000
"""


def penstock(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["plan", *arguments])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with the networks that the commands name."""
    (tmp_path / "mixed.toml").write_text(MIXED)
    for name in ("packets.toml", "packets.cql"):
        (tmp_path / name).write_text((ROOT / "examples" / name).read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def golden() -> list[tuple[str, str]]:
    """The commands of the file, each with what it prints."""
    _, *blocks = GOLDEN.read_text().split("$ penstock plan ")
    return [(command, text.strip()) for command, _, text in (b.partition("\n") for b in blocks)]


@pytest.mark.parametrize(("command", "expected"), golden(), ids=[c for c, _ in golden()])
def test_it_prints_what_the_file_shows(folder, command, expected):
    result = penstock(*shlex.split(command))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.strip() == expected


def test_the_same_as_json(folder):
    shown = json.loads(penstock("mixed.toml", "--load", "3", "--json").stdout)
    load = shown["load"]
    assert load["before"] == pytest.approx(3 * load["capacity"])
    assert load["after"] == pytest.approx(load["capacity"])
    assert shown["enough"]
    assert shown["closed"] == ["rare"]
    (random,), (windows,) = shown["random"], shown["windows"]
    assert random["arc"] == {"after": "packets", "before": "traffic"}
    assert random["keep"] == shown["queries"]["traffic"]["keep"]
    assert windows["queries"] == ["web_hosts", "web_ports"]
    assert (windows["range"], windows["slide"]) == (60_000_000, 10_000_000)
    assert windows["p"] == shown["queries"]["web_hosts"]["lost"]
    assert shown["queries"]["web_hosts"]["bound"] is None
    assert "50 % of the rows pass: filter 1, filter 2" in shown["assumed"]
    assert shown["uniform"].keys() == shown["queries"].keys()


def test_statistics_of_a_running_network_say_what_the_load_is(folder):
    kinds = {"packets": "source", "traffic": "aggregate"}
    found = Statistics(kinds, ["packets"], ["traffic"], warmup=Warmup(0, 0))
    for batch in range(6):
        rows = 1000.0 * (1 + batch % 3)
        flows = {"packets": Flow(rows, rows), "traffic": Flow(rows, None)}
        found.observe(
            Observation(
                batch=batch,
                seconds=rows * 1e-4,
                at=float(batch),
                rows={"packets": rows},
                operators=flows,
            )
        )
    Path("now.json").write_text(json.dumps(found.to_json()))
    measured = found.now.load
    assert measured is not None
    text = penstock("mixed.toml", "--statistics", "now.json", "--json").stdout
    one = json.loads(text)["load"]
    assert one["capacity"] == 1
    # Operators that were not timed are taken to cost as much as the one that was.
    assert one["before"] > measured
    twice = ["--rates", "packets=100_000", "--json"]
    other = json.loads(penstock("mixed.toml", "--statistics", "now.json", *twice).stdout)
    rate = found.now.streams["packets"].rate
    assert rate is not None
    assert other["load"]["before"] == pytest.approx(one["before"] * 100_000 / rate)


REFUSED = {
    "no load": (["packets.toml"], "plan needs --load, got None; such as --load 3"),
    "zero": (["packets.toml", "--load", "0"], "--load must be greater than 0, got 0.0"),
    "nan": (["packets.toml", "--load", "nan"], "--load must be greater than 0"),
    "text": (["SELECT 1", "--load", "3"], "plan needs a network: a .toml or .cql file"),
    "gone": (["gone.toml", "--load", "3"], "gone.toml must be a file that can be read"),
    "rate": (["packets.toml", "--rates", "packets"], "--rates must be a stream and its rows/s"),
    "negative": (["packets.toml", "--rates", "packets=-1"], "--rates must be a stream"),
    "stream": (
        ["packets.toml", "--load", "3", "--rates", "packet=1"],
        "stream is not known, got 'packet'; did you mean 'packets'?",
    ),
    "statistics": (["packets.toml", "--statistics", "gone.json"], "--statistics must be a JSON"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_one_line_on_stderr_and_exit_code_2(folder, case):
    arguments, message = REFUSED[case]
    result = penstock(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("penstock: ")
    assert message in line


def test_a_file_of_nodes_is_planned_on_a_picture_of_them():
    file = str(Path(__file__).parents[2] / "examples" / "nodes" / "two.toml")
    shown = CliRunner().invoke(app, ["plan", file])
    assert shown.exit_code == 0, shown.output
    assert "score 0.6 of 2 without limits" in shown.output
    told = json.loads(CliRunner().invoke(app, ["plan", file, "--json"]).output)
    assert told["keeps"] == {"left ─► a1": pytest.approx(0.2), "right ─► a2": pytest.approx(0.4)}
    less = json.loads(
        CliRunner().invoke(app, ["plan", file, "--json", "--rates", "right=0.1"]).output
    )
    assert less["loads"]["before"] == {"A": pytest.approx(1.2), "B": pytest.approx(3.1)}
