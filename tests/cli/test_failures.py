"""What every command has in common: the version, the help, and how it fails."""

import re

import pytest
import typer
from pyspark.errors import PySparkException
from typer.testing import CliRunner

import penstock
from penstock.cli.failures import one_line_errors
from penstock.cli.main import app
from penstock.errors import (
    ArithmeticOverflow,
    PenstockError,
    SchemaError,
    SpecificationError,
    StreamFailed,
    UsageError,
)

COMMANDS = [["run"], ["demo"], ["explain"], ["bench", "windows"]]


def ended(error: BaseException, *, verbose: bool = False) -> int:
    """The exit code of a command that fails like this."""
    with pytest.raises(typer.Exit) as caught, one_line_errors(verbose=verbose):
        raise error
    return caught.value.exit_code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SpecificationError("no"), 2),
        (SchemaError("no"), 2),
        (UsageError("no"), 2),
        (StreamFailed("no", trace="java.io.IOException"), 1),
        (ArithmeticOverflow("no"), 1),
        (PenstockError("no"), 1),
        (PySparkException("no"), 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_is_one_line_with_its_exit_code(capsys, error, code):
    assert ended(error) == code
    assert capsys.readouterr() == ("", "penstock: no\n")


def test_a_message_of_several_lines_is_one_line_all_the_same(capsys):
    assert ended(StreamFailed("first\n  second")) == 1
    assert capsys.readouterr().err == "penstock: first second\n"


def test_verbose_shows_the_trace_of_the_engine(capsys):
    ended(StreamFailed("no", trace="java.io.IOException: gone\n\tat x.y.Z\n"), verbose=True)
    assert capsys.readouterr().err == "java.io.IOException: gone\n\tat x.y.Z\npenstock: no\n"


def test_verbose_shows_the_trace_of_python_where_the_engine_has_none(capsys):
    ended(StreamFailed("no"), verbose=True)
    error = capsys.readouterr().err
    assert error.startswith("Traceback (most recent call last):")
    assert error.endswith("StreamFailed: no\npenstock: no\n")


def test_an_interrupt_is_a_short_line_and_130(capsys):
    assert ended(KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == "penstock: stopped\n"


def test_a_bug_is_not_hidden():
    with pytest.raises(ZeroDivisionError), one_line_errors(verbose=False):
        raise ZeroDivisionError


def test_the_version():
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"penstock {penstock.__version__}\n")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_help_of_every_command_has_an_example_and_verbose(command):
    result = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    text = re.sub(r"\x1b\[[\d;]*m", "", result.stdout)
    assert f"Example: penstock {' '.join(command)}" in text
    assert "--verbose" in text


@pytest.mark.parametrize("arguments", [["--for", "1"], ["--for", "x"], ["--fro", "9"]])
def test_a_wrong_option_ends_with_code_2_before_anything_starts(arguments):
    result = CliRunner().invoke(app, ["demo", *arguments])
    assert (result.exit_code, result.stdout) == (2, "")
