"""`penstock plan`: what it prints, and what it refuses."""

import json
import re
import shlex
import threading
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli import plan_nodes
from penstock.cli.main import app
from penstock.control import Flow, Observation, Statistics, Warmup
from penstock.network.config import read_config
from penstock.nodes import load_plans
from penstock.planning import Known, plan, workload

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
    "drops": (["packets.toml", "--drop-cost", "-1"], "--drop-cost must be a finite number, 0 or"),
    "margin": (["packets.toml", "--margin", "nan"], "--margin must be a finite number, 0 or more"),
    "nodes": ([str(ROOT / "examples" / "nodes" / "two.toml"), "--margin", "1"], "need a network"),
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


RARE = """
[stream.packets]
source = "files"
event_time = "ts"

[query.rare]
cql = "SELECT sum(size) AS n FROM packets [RANGE 1 s SLIDE 1 s WATTR ts] WHERE port = 1"

[query.easy]
cql = "SELECT count(*) AS n FROM packets [RANGE 1 h SLIDE 1 h WATTR ts] WHERE port = 1"

[statistics.stream.packets]
rate = 10_000
[statistics.operator."filter 1"]
selectivity = 0.01
cost = 0.1e-6
[statistics.operator.rare]
cost = 1e-3
[statistics.operator.easy]
cost = 1e-3
"""


@pytest.fixture
def rare(folder):
    """A filter that costs little and lets few rows pass, before what costs much."""
    (folder / "rare.toml").write_text(RARE)

    def planned(*more: str) -> dict:
        result = penstock("rare.toml", "--load", "3", "--json", *more)
        assert result.exit_code == 0, result.stderr
        shown = json.loads(result.stdout)
        assert isinstance(shown, dict)
        return shown

    return planned


def test_a_drop_that_costs_more_than_it_saves_is_not_placed(rare):
    def arcs(shown) -> set[str]:
        return {drop["arc"]["before"] for drop in shown["random"]}

    assert "filter 1" in arcs(rare())
    # 10,000 rows a second would be looked at before the filter, and 100 behind it.
    dear = rare("--drop-cost", "100")
    assert arcs(dear) == {"rare", "easy"}
    assert dear["load"]["after"] == pytest.approx(dear["load"]["capacity"])
    keep = {name: one["keep"] for name, one in dear["queries"].items()}
    spent = 10_000 * 0.1e-6 + 100 * 1e-3 * sum(keep.values()) + 2 * 100 * 100e-6
    assert dear["load"]["after"] == pytest.approx(spent)
    # Of what a drop saves, what it costs is taken off.
    net = (100 * 1e-3 * (1 - keep["easy"]) - 100 * 100e-6) / dear["load"]["before"]
    (why,) = [drop["why"] for drop in dear["random"] if drop["arc"]["before"] == "easy"]
    assert f"it saves {100 * net:.0f} % of the load" in why


def test_what_drops_cost_is_compared_with_costs_in_the_same_unit(folder):
    text = penstock("mixed.toml", "--load", "3", "--drop-cost", "0.01").stdout
    assert "a row costs 0.3 µs: traffic, web_hosts, web_ports" in text
    assert "two cores" not in text


def test_a_margin_raises_what_is_kept_where_sampling_seems_easy(rare):
    def kept(*more: str) -> float:
        keep = rare(*more)["queries"]["easy"]["keep"]
        assert isinstance(keep, float)
        return keep

    none, some, much = (kept("--margin", margin) for margin in ("0", "0.01", "10"))
    assert none < some < much
    # With a margin far above each C all are sampled alike.
    assert rare("--margin", "10")["queries"]["rare"]["keep"] == pytest.approx(much, rel=0.1)


def test_quantiles_are_planned_as_a_running_network_does(rare, folder):
    bound, quantile = rare(), rare("--errors", "quantile")
    graph = read_config("rare.toml").outline()
    known = Known.from_table(read_config("rare.toml").statistics)
    load, _ = workload(graph, known, errors="quantile")
    running = plan(replace(load, capacity=load.total / 3))
    assert quantile["queries"] == running.to_json()["queries"]
    assert quantile["queries"] != bound["queries"]
    assert "in about 1 % of cases" in penstock(*QUANTILE).stdout
    assert "in 1 % of cases at most" in penstock(*QUANTILE[:-2]).stdout


QUANTILE = ["rare.toml", "--load", "3", "--errors", "quantile"]


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


NODES = str(ROOT / "examples" / "nodes" / "two.toml")


def report(node: str, boxes: dict[str, float], **more: object) -> str:
    told = {"batches": 9, "fixed": 1.0, "boxes": {n: [c, 1.0] for n, c in boxes.items()}, **more}
    Path(f"{node}.json").write_text(json.dumps({"node": node, "period": 5.0, "statistics": told}))
    return f"{node}.json"


def test_nodes_are_planned_by_what_they_have_measured(folder):
    a = report("A", {"a1": 0.5, "a2": 1.0}, rates={"left": 2.0, "right": 2.0})
    b = report("B", {"b1": 1.5, "b2": 0.5}, rates={})
    asked = ["--statistics", a, "--statistics", b, "--json"]
    told = json.loads(penstock(NODES, *asked).stdout)
    # Half the costs, twice the rows; a fifth of the time of each node goes into its batches.
    assert told["loads"]["before"] == {"A": pytest.approx(3.0), "B": pytest.approx(4.0)}
    assert told["score"] == pytest.approx(2 * 0.8 * 0.6)
    Path("worse.json").write_text(json.dumps({"node": "A", "statistics": {"boxes": 3}}))
    Path("none.json").write_text(json.dumps({"node": "A", "statistics": None}))
    for wrong in ("worse", "none", "gone"):
        result = penstock(NODES, "--statistics", f"{wrong}.json")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "--statistics must be" in result.stderr


def test_plans_in_advance_are_written_to_a_file(folder):
    result = penstock(NODES, "--advance", "plans", "--error", "0.1")
    assert result.exit_code == 0, result.stderr
    plans = load_plans("plans")
    assert 0 < plans.error <= 0.1
    assert f"at most {plans.error:.1%} below the best score" in result.stdout
    assert plans.select({"left": 1.0, "right": 1.0}) is not None
    assert penstock(NODES, "--advance", "plans", "--error", "2").exit_code == 2
    assert penstock("packets.toml", "--advance", "plans").exit_code == 2


def test_ctrl_c_leaves_plans_for_all_parts_with_the_error_that_was_reached(folder, monkeypatch):
    two = Path(NODES).read_text()
    other = re.sub(r"\b(a1|a2|b1|b2|left|right|first|second)\b", r"\1_too", two)
    other = re.sub(r'\[node\.(\w)\]|node = "(\w)"', _renamed, other)
    Path("four.toml").write_text(two + other)
    asked: list[bool] = []

    class Interrupted(threading.Event):
        """Ctrl-C comes a little after the start."""

        def is_set(self) -> bool:
            asked.append(True)
            return len(asked) > 3

    monkeypatch.setattr(plan_nodes, "interrupts", lambda: nullcontext(Interrupted()))
    result = penstock("four.toml", "--advance", "plans", "--error", "0.001")
    assert result.exit_code == 0, result.stderr
    plans = load_plans("plans")
    assert len(plans.parts) == 2
    assert 0.001 < plans.error < 0.5
    errors = [part.error for part in plans.parts]
    assert max(errors) < 1.5 * min(errors)
    assert f"at most {plans.error:.1%} below the best score" in result.stdout


def _renamed(found: re.Match[str]) -> str:
    return f"[node.{found[1]}_too]" if found[1] else f'node = "{found[2]}_too"'
