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


EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", ["packets.toml", "packets.cql"])
def test_a_network_is_drawn_and_each_query_explained(name, tmp_path):
    picture = tmp_path / "packets.svg"
    result = penstock(str(EXAMPLES / name), "--svg", str(picture))
    assert (result.exit_code, result.stderr) == (0, "")
    drawn, _, said = result.stdout.partition("\n\ntcp_packets\n")
    assert drawn == (Path(__file__).parents[1] / "network/render/seven.txt").read_text().strip()
    lines = said.splitlines()
    assert lines[0] == "cql       SELECT count(*) AS packets"
    assert "window    RANGE 1 min SLIDE 10 s WATTR ts" in lines
    assert "dns_by_host" in lines
    assert sum(line.startswith("computed ") for line in lines) == 7
    assert picture.read_text().startswith("<svg ")


def test_the_picture_in_the_documentation_is_the_one_that_is_drawn(tmp_path):
    picture = tmp_path / "packets.svg"
    penstock(str(EXAMPLES / "packets.toml"), "--svg", str(picture))
    assert picture.read_text() == (EXAMPLES.parent / "docs/packets.svg").read_text()


def test_a_network_as_json():
    shown = json.loads(penstock(str(EXAMPLES / "packets.toml"), "--json").stdout)
    shared = next(one for one in shown["operators"] if one["name"] == "filter 2")
    assert shared == {
        "name": "filter 2",
        "kind": "filter",
        "text": "filter dst_port = 80",
        "inputs": ["filter 1"],
        "queries": ["web_bytes_by_host", "web_large"],
    }
    assert shown["queries"]["udp_bytes"]["kind"] == "sliding"


def test_statements_may_stand_on_the_command_line_too():
    asked = "CREATE VIEW web AS SELECT * FROM packets WHERE port = 80; CREATE QUERY all AS SELECT *"
    result = penstock(asked + " FROM web")
    assert result.stdout.splitlines()[-2:] == ["all", "each row of filter 1, as it comes"]


WRONG = {
    "gone.toml": (None, "gone.toml must be a file that can be read, got 'No such file"),
    "gone.cql": (None, "explain needs a file to read, got"),
    "bad.toml": ("latncy = 3", "bad.toml: must have keys that are known, got 'latncy'; did you"),
    "cql.toml": (
        "[stream.s]\nsource = 'x'\n[query.q]\ncql = 'SELECT * FROM t'",
        "cql.toml: [query.q] cql, line 1, column 15: FROM needs a stream, a view or a query; got",
    ),
    "bad.cql": (
        "CREATE QUERY a AS\nSELECT * FORM s",
        "bad.cql, line 2, column 10: expected ',' or FROM; got 'FORM'; did you mean 'FROM'?",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_network_that_cannot_be_is_one_line(name, tmp_path):
    text, message = WRONG[name]
    if text is not None:
        (tmp_path / name).write_text(text)
    result = penstock(str(tmp_path / name))
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert message in line


def test_a_picture_needs_a_network_and_a_place(tmp_path):
    window = "SELECT count(*) FROM T [RANGE 5 s SLIDE 1 s WATTR ts]"
    for asked in ((window,), ("--range", "5 s")):
        result = penstock(*asked, "--svg", str(tmp_path / "a.svg"))
        assert "--svg needs a network: a .toml or .cql file" in result.stderr
    result = penstock(str(EXAMPLES / "packets.cql"), "--svg", str(tmp_path / "gone" / "a.svg"))
    assert "--svg must be a file to write" in result.stderr
