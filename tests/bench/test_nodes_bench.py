"""`penstock bench nodes` measures what was asked for, without Spark."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from penstock.bench import nodes
from penstock.cli.main import app
from penstock.nodes import optimal_plan


def test_the_figures_are_there_and_as_wanted(monkeypatch):
    monkeypatch.setattr(nodes, "wide_network", lambda _, make=nodes.wide_network: make(100))
    result = CliRunner().invoke(app, ["bench", "nodes", "--quick", "--json"])
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert {"lp_1000_nodes_s", "fit_8_inputs_s", "fit_8_entries", "lookup_us"} <= set(found)
    assert found["lookup_us"] == max(found["lookup_fit_us"], found["lookup_solver_us"])
    assert min(found["lookup_fit_us"], found["lookup_solver_us"]) > 0
    assert found["fit_8_kinds"] == 2
    assert 0 < found["delta_share"] < 1
    assert found["fit_8_inputs_s"] < 5
    shown = CliRunner().invoke(app, ["bench", "nodes", "--quick"])
    assert "fit_8_inputs_s" in shown.stdout


def test_the_wide_network_is_overloaded_and_has_so_many_nodes():
    network = nodes.wide_network(100)
    assert len(network.nodes) == 100
    assert optimal_plan(network).sheds
