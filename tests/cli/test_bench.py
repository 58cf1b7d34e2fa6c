"""The table of `penstock bench windows`; the measurements have tests of their own."""

import io
import json
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from penstock.bench import windows
from penstock.cli import bench
from penstock.cli.main import app
from penstock.cli.session import Local

RESULT: dict[str, Any] = {
    "dense": {"1": 1.01, "6": 2.5, "60": 7.9},
    "sparse": {"1": 0.9, "6": 1.2, "60": 3.0},
    "free": 1.5,
    "day": None,
    "wanted": {
        "dense": {"1": 0.95, "6": 2, "60": 8, "600": 80},
        "sparse": {"1": 0.95, "6": 1, "60": 3},
        "free": 1.5,
        "day": 3,
    },
    "cases": [{"windows_compared": 40, "different": 0}, {}],
}


def lines(result: dict[str, Any]) -> list[list[str]]:
    console = Console(file=io.StringIO(), width=120, record=True)
    console.print(bench.table(result))
    text = console.export_text()
    return [
        [cell.strip() for cell in row.split("│")[1:-1]] for row in text.splitlines() if "│" in row
    ]


def test_every_wanted_value_has_a_row_with_a_tick_or_a_cross():
    assert lines(RESULT) == [
        ["dense", "1", "1.01 x", "≥ 0.95 x", "✓"],
        ["dense", "6", "2.50 x", "≥ 2.00 x", "✓"],
        ["dense", "60", "7.90 x", "≥ 8.00 x", "✗"],
        ["dense", "600", "not measured", "≥ 80.00 x", ""],
        ["sparse", "1", "0.90 x", "≥ 0.95 x", "✗"],
        ["sparse", "6", "1.20 x", "≥ 1.00 x", "✓"],
        ["sparse", "60", "3.00 x", "≥ 3.00 x", "✓"],
        ["free", "60", "1.50 x", "≤ 1.50 x", "✓"],
        ["day", "8640", "not measured", "≤ 3.00 x", ""],
        ["windows", "", "0 of 40 differ", "0", "✓"],
    ]


@pytest.fixture
def measured(monkeypatch) -> dict[str, Any]:
    """The result that the measurements will give, without any Spark."""
    result = deepcopy(RESULT)

    @contextmanager
    def no_spark(*_, **__):
        yield Local(None, Path())  # type: ignore[arg-type]

    def run(_, *, quick, say):
        say(f"quick: {quick}")
        return result

    monkeypatch.setattr(bench, "check_java", lambda: None)
    monkeypatch.setattr(bench, "local_spark", no_spark)
    monkeypatch.setattr(windows, "run", run)
    return result


def test_json_is_all_there_is_on_stdout_and_progress_is_on_stderr(measured):
    result = CliRunner().invoke(app, ["bench", "windows", "--json", "--quick"])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == measured
    assert result.stderr == "starting Spark\nquick: True\n"


def test_answers_that_differ_are_a_failure(measured):
    measured["cases"][0]["different"] = 3
    result = CliRunner().invoke(app, ["bench", "windows"])
    assert result.exit_code == 1
    assert "3 of 40 differ" in result.stdout
