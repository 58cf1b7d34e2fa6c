"""The tables of `penstock bench`; the measurements have tests of their own."""

import io
import json
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

from penstock.bench import stateful, windows
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


def report(window: str, ratio: float, overlap: int | None, **more: Any) -> dict[str, Any]:
    return {
        "penstock": 300_000,
        "buffering": round(300_000 / ratio),
        "ratio": ratio,
        "window": window,
        "group_by": ["k"],
        "overlap": overlap,
        "results_compared": 40,
        "batches_different": 0,
        **more,
    }


STATEFUL: dict[str, Any] = {
    "tuple": report("RANGE 40 rows", 6, 40, by_overlap=[report("RANGE 4000 rows", 8, 4000)]),
    "slide by tuple": report("RANGE 1 s", 2, 1000),
    "landmark": report("LANDMARK", 3, None),
    "wanted": {"tuple": {"ratio": 5, "penstock": 250_000}, "slide by tuple": {"ratio": 3}},
}


def lines(shown: Table) -> list[list[str]]:
    console = Console(file=io.StringIO(), width=150, record=True)
    console.print(shown)
    text = console.export_text()
    return [
        [cell.strip() for cell in row.split("│")[1:-1]] for row in text.splitlines() if "│" in row
    ]


def test_every_wanted_value_has_a_row_with_a_tick_or_a_cross():
    assert lines(bench.table(RESULT)) == [
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


def test_every_stateful_window_has_a_row_and_a_mark_where_something_is_wanted():
    assert lines(bench.stateful_table(STATEFUL)) == [
        ["RANGE 40 rows", "k", "40", "300,000", "50,000", "6.00 x", "≥ 5 x, ≥ 250,000", "✓"],
        ["RANGE 4000 rows", "k", "4,000", "300,000", "37,500", "8.00 x", "", ""],
        ["RANGE 1 s", "k", "1,000", "300,000", "150,000", "2.00 x", "≥ 3 x", "✗"],
        ["LANDMARK", "k", "", "300,000", "100,000", "3.00 x", "", ""],
    ]


@pytest.fixture
def measured(monkeypatch) -> dict[str, Any]:
    """The results that the measurements will give, without any Spark."""
    results = {"windows": deepcopy(RESULT), "stateful": deepcopy(STATEFUL)}

    @contextmanager
    def no_spark(*_, **__):
        yield Local(None, Path())  # type: ignore[arg-type]

    def gives(name: str):
        def run(_, *, quick, say):
            say(f"quick: {quick}")
            return results[name]

        return run

    monkeypatch.setattr(bench, "check_java", lambda: None)
    monkeypatch.setattr(bench, "local_spark", no_spark)
    monkeypatch.setattr(windows, "run", gives("windows"))
    monkeypatch.setattr(stateful, "run", gives("stateful"))
    return results


@pytest.mark.parametrize("name", ["windows", "stateful"])
def test_json_is_all_there_is_on_stdout_and_progress_is_on_stderr(measured, name):
    result = CliRunner().invoke(app, ["bench", name, "--json", "--quick"])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == measured[name]
    assert result.stderr == "starting Spark\nquick: True\n"


def test_answers_that_differ_are_a_failure(measured):
    measured["windows"]["cases"][0]["different"] = 3
    result = CliRunner().invoke(app, ["bench", "windows"])
    assert result.exit_code == 1
    assert "3 of 40 differ" in result.stdout


def test_batches_that_differ_are_a_failure(measured):
    measured["stateful"]["tuple"]["by_overlap"][0]["batches_different"] = 3
    result = CliRunner().invoke(app, ["bench", "stateful"])
    assert result.exit_code == 1
    assert "3 batches differ" in " ".join(result.stdout.split())


def test_what_drops_cost_is_beside_what_is_wanted():
    result = {
        "overhead": {"25/1.0": 0.99, "100/0.5": 0.91},
        "interval": {"25/1.0": [0.96, 1.02], "100/0.5": [0.9, 0.92]},
        "a_a_range": [0.95, 1.04],
        "dropped_row": 0.12,
        "dropped_row_kafka": 0.3,
        "wanted": {"overhead": 0.97, "dropped_row": 0.15},
    }
    marks = [row[-1] for row in lines(bench.overhead_table(result))]
    assert marks == ["✓", "✗", "✓"]


def test_errors_under_plans_are_beside_what_is_wanted():
    one = {"avg_error": 0.02, "max_error": 0.04, "planned_avg_error": 0.024, "avg_ratio": 2.5}
    one |= {"max_ratio": 2.9, "uniform_avg_error": 0.05, "uniform_max_error": 0.116}
    wanted = {"avg_ratio": 2, "max_ratio": 3, "avg_error": 0.05, "planned_off": 0.25}
    far = {**one, "avg_error": 0.06}
    shown = lines(bench.placement_table({"2": one, "5": far, "wanted": wanted, "rows": 7}))
    assert shown == [
        ["2 x", "2.40% ✓", "2.00% ✓", "5.00%", "2.50 x ✓", "4.00%", "11.60%", "2.90 x ✗"],
        ["5 x", "2.40% ✗", "6.00% ✗", "5.00%", "2.50 x ✓", "4.00%", "11.60%", "2.90 x ✗"],
    ]
