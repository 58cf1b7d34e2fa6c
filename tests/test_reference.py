"""The documentation as a site: complete, built without a warning, and as the code is."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
import yaml
from typer.testing import CliRunner

import penstock as ps
from penstock.cli.main import app

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference.md"


def walked(command, words=()):
    """All commands and groups, each with the words that lead to it."""
    yield words
    for name, inner in getattr(command, "commands", {}).items():
        yield from walked(inner, (*words, name))


COMMANDS = list(walked(typer.main.get_command(app)))


def script():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "scripts" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_as_the_script_writes_it():
    assert REFERENCE.read_text() == script().page(), "run `python scripts/reference.py`"


def test_the_reference_has_every_name_and_every_command():
    text = REFERENCE.read_text()
    names = [n for n in ps.__all__ if n not in {"sources", "sinks"}]
    names += [f"{m}.{n}" for m in ("sources", "sinks") for n in getattr(ps, m).__all__]
    assert [name for name in names if f"### ps.{name}\n" not in text] == []
    leaves = [words for words in COMMANDS if (*words,) and words != ("bench",)]
    missing = [words for words in leaves if f"### penstock {' '.join(words)}\n" not in text]
    assert missing == []


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words) or "penstock")
def test_every_help_has_an_example(words):
    result = CliRunner().invoke(app, [*words, "--help"])
    assert result.exit_code == 0
    assert "Example: penstock" in result.stdout


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("penstock d", {"demo", "doctor"}),
        ("penstock run --da", {"--dashboard"}),
        ("penstock backfill a.toml --s", {"--since"}),
    ],
)
def test_completion_knows_the_commands_and_their_options(words, found):
    last = str(len(words.split()) - 1)
    asked = {"_PENSTOCK_COMPLETE": "complete_bash", "COMP_CWORD": last, "COMP_WORDS": words}
    command = [sys.executable, "-c", "from penstock.cli.main import app; app(prog_name='penstock')"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        command, env={**environ, **asked}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert found == set(done.stdout.split())


def test_completion_is_installed_by_an_option():
    assert "--install-completion" in CliRunner().invoke(app, ["--help"]).stdout
    command = [sys.executable, "-c", "from penstock.cli.main import app; app(prog_name='penstock')"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "SHELL": "/bin/bash"}
    off = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(
        [*command, "--show-completion", "bash"],
        env={**environ, **off},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "_PENSTOCK_COMPLETE" in done.stdout


def test_the_site_is_built_without_a_warning_and_needs_no_network(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    home = (tmp_path / "site" / "index.html").read_text()
    assert 'src="http' not in home
    assert "cdnjs" not in home


def test_every_page_stands_in_the_navigation():
    def pages(part):
        if isinstance(part, str):
            yield part
        for one in part.values() if isinstance(part, dict) else part if part != str(part) else ():
            yield from pages(one)

    found = set(pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    there = {str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md")}
    assert found == there
