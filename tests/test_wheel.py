"""The wheel has every file of the package, and works from an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import penstock

ROOT = Path(__file__).parents[1]

NETWORK = """
[stream.packets]
source = "packets"
event_time = "ts"
options = { rate = 200, length = "12 s", seed = 7 }
[query.traffic]
cql = '''
SELECT protocol, count(*) AS n
FROM packets [RANGE 4 seconds SLIDE 2 seconds WATTR ts]
GROUP BY protocol'''
[run]
trigger = "available now"
sink = { format = "parquet", path = "answers" }
[run.spark]
"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1"  # for it is short
"""


def finish(*command: str | Path, where: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs a command that must succeed, without the modules and settings of this process."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        command, cwd=where, env={**kept, **more}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # Not isolated, as a frontend would have it: nothing is fetched.
    build = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    subprocess.run(build, cwd=ROOT, capture_output=True, check=True)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of an environment that has the wheel, and what it depends on."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, symlinks=True, with_pip=False)
    pip = (sys.executable, "-m", "pip", "--python", folder / "bin/python", "install")
    finish(*pip, "--no-index", "--no-deps", "--no-compile", wheel, where=folder)
    # What the wheel depends on is here already. A path that is named in such a file is looked at
    # last, and files like it are not read there, so that this checkout cannot be found through it.
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "locked.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def test_the_wheel_has_every_file_of_the_package(wheel):
    package = ROOT / "src"
    there = {
        str(path.relative_to(package))
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in packed if not name.startswith("penstock-")} == there
    assert {"penstock/py.typed", "penstock/view/page/page.html"} < there


def test_the_command_comes_from_the_wheel_and_says_what_it_can(installed, tmp_path):
    where = finish(
        *(installed / "python", "-c", "import penstock; print(penstock.__file__)"), where=tmp_path
    )
    assert Path(where.stdout.strip()).is_relative_to(installed.parent)
    version = finish(installed / "penstock", "--version", where=tmp_path).stdout
    assert version == f"penstock {penstock.__version__}\n"
    said = finish(installed / "penstock", "--help", where=tmp_path, COLUMNS="100").stdout
    for command in ("run", "init", "doctor", "explain", "plan", "backfill", "bench", "demo"):
        assert f" {command} " in said
    network = ROOT / "examples" / "packets.toml"
    drawn = finish(installed / "penstock", "explain", network, where=tmp_path).stdout
    assert "tcp_bytes_by_port" in drawn


def test_a_network_runs_from_the_wheel_with_its_page_and_its_report(installed, tmp_path):
    (tmp_path / "small.toml").write_text(NETWORK)
    more = ("--speed", "100000", "--dashboard", "0", "--report", "report", "--json")
    run = finish(installed / "penstock", "run", "small.toml", *more, where=tmp_path)
    found = json.loads(run.stdout)
    assert (found["ended"], found["balanced"]) == ("the stream ended", True)
    assert "live page: http://127.0.0.1:" in run.stderr
    assert "<figure>" in (tmp_path / "report/report.html").read_text()
    assert list((tmp_path / "answers").glob("batch=*/*.parquet"))
