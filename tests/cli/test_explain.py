"""`penstock explain`: what it prints, and what it refuses."""

import doctest
import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.windows import Density, choose, sliding

GOLDEN = Path(__file__).with_name("explain.txt")


def penstock(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["explain", *arguments])


def golden() -> list[tuple[str, str]]:
    """The commands of the file, each with what it prints."""
    _, *blocks = GOLDEN.read_text().split("$ penstock explain ")
    return [(command, text.strip()) for command, _, text in (b.partition("\n") for b in blocks)]


@pytest.mark.parametrize(("command", "expected"), golden(), ids=[c for c, _ in golden()])
def test_it_prints_what_the_file_shows(command, expected):
    result = penstock(*shlex.split(command))
    assert (result.exit_code, result.stderr) == (0, "")
    printed = result.stdout.strip()
    same = doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS)
    assert same, f"expected\n{expected}\nbut it prints\n{printed}"


def test_the_way_and_its_reason_are_those_that_a_stream_would_take():
    asked = ("--range", "60 s", "--slide", "1 s", "--rows-per-pane-and-key", "100", "--json")
    shown = json.loads(penstock(*asked).stdout)
    chosen = choose(sliding("60 s", "1 s", on="ts"), Density(100))
    assert (shown["computed"], tuple(shown["rungs"])) == (chosen.name, chosen.rungs)
    assert shown["reason"] == chosen.reason


REFUSED = {
    "no unit": (["--range", "60"], "range must be a duration, got '60'"),
    "month": (["--range", "1 month"], "range must have a fixed length, got '1 month'"),
    "nothing": ([], "needs either --range or --period"),
    "both": (["--range", "1 s", "--period", "1 s"], "needs either --range or --period"),
    "no slide": (["--period", "1 day"], "--slide is needed with --period"),
    "slide": (["--range", "1 s", "--slide", "0 s"], "slide must be greater than 0"),
    "uneven": (["--period", "1 min", "--slide", "7 s"], "slide must divide the period"),
    "no rows": (["--range", "1 s", "--rows-per-pane-and-key", "0"], "must be greater than 0"),
    "nan": (["--range", "1 s", "--rows-per-pane-and-key", "nan"], "must be greater than 0"),
    "query and window": (["SELECT 1", "--range", "1 s"], "needs a query or a window, not both"),
    "misspelled query": (
        ["SELECT count(*)\nFROM T [RANGE 5 secnds SLIDE 1 s WATTR ts]"],
        "line 2, column 17: expected a unit, one of seconds, minutes, hours, ",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_one_line_on_stderr_and_exit_code_2(case):
    arguments, message = REFUSED[case]
    result = penstock(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("penstock: ")
    assert message in line


def test_verbose_shows_the_trace_before_the_line():
    lines = penstock("--range", "60 m", "--verbose").stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-2].startswith("penstock.errors.SpecificationError: ")
    assert lines[-1].startswith("penstock: range must be in a known unit of time, got '60 m'")
