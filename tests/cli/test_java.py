"""Java is looked at before Spark starts, by the command and by the script, in the same words."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.java import check_java
from penstock.errors import PenstockError

SCRIPT = Path(__file__).parents[2] / "scripts/check_java.sh"
VERSIONS = {
    'openjdk version "17.0.15" 2025-04-15': True,
    'openjdk version "21"': True,
    'java version "25-ea"': True,
    'Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "17.0.1"': True,
    'openjdk version "11.0.2" 2019-01-15': False,
    'java version "1.8.0_292"': False,
    'openjdk version "16-ea"': False,
    'openjdk version "early"': False,
    "Unable to locate a Java Runtime.": False,
}


def fake_java(folder: Path, text: str) -> None:
    java = folder / "bin/java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    java.chmod(0o755)


def both(**environment: str) -> str | None:
    """What the command says, if anything; the script must say the same."""
    script = subprocess.run(
        ["/bin/sh", SCRIPT], env=environment, capture_output=True, text=True, check=False
    )
    said = None
    try:
        check_java(environment)
    except PenstockError as error:
        said = str(error)
    expected = (0, "") if said is None else (1, f"penstock {said}\n")
    assert (script.returncode, script.stderr) == expected
    return said


@pytest.mark.parametrize("text", VERSIONS, ids=lambda text: text[-25:])
@pytest.mark.parametrize("where", ["PATH", "JAVA_HOME"])
def test_command_and_script_agree(tmp_path, text, where):
    fake_java(tmp_path, text)
    home, path = str(tmp_path), str(tmp_path / "bin")
    said = both(PATH=path) if where == "PATH" else both(PATH="", JAVA_HOME=home)
    if VERSIONS[text]:
        assert said is None
    else:
        assert said is not None
        assert said.startswith("needs Java 17 or newer, but ")
        assert "apt-get install openjdk-17-jre-headless" in said


def test_no_java_at_all(tmp_path):
    assert "there is no java on the PATH" in str(both(PATH=str(tmp_path)))


def test_java_home_without_java_is_an_error_even_if_the_path_has_one(tmp_path):
    fake_java(tmp_path, 'openjdk version "17"')
    said = both(PATH=str(tmp_path / "bin"), JAVA_HOME=str(tmp_path / "gone"))
    assert "which has no bin/java" in str(said)


@pytest.mark.parametrize("command", [["demo"], ["bench", "windows", "--json"]], ids=" ".join)
def test_a_command_without_java_is_one_line_on_stderr(tmp_path, command):
    environment = {**os.environ, "JAVA_HOME": str(tmp_path)}
    penstock = Path(sys.executable).with_name("penstock")
    result = subprocess.run(
        [penstock, *command],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (result.returncode, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("penstock: needs Java 17 or newer, but JAVA_HOME is ")
