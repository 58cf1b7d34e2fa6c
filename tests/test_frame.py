"""The frame around the library: the checks before Spark starts, the Makefile, the tree itself."""

import os
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

import penstock

ROOT = Path(__file__).parents[1]
TARGETS = [
    "help",
    "install",
    "java",
    "demo",
    "test",
    "soak",
    "lint",
    "bench",
    "docs",
    "format",
    "clean",
]


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run in the project's folder, with no environment but the one given."""
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def script(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


def fake_java(folder: Path, version_line: str, before: str = "") -> Path:
    return script(folder / "bin/java", f"echo '{before}{version_line}' >&2")


def check_java(**environment: str) -> subprocess.CompletedProcess[str]:
    return run("/bin/sh", "scripts/check_java.sh", **environment)


def the_line(result: subprocess.CompletedProcess[str]) -> str:
    """The only line that a failed check printed."""
    assert result.returncode != 0
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


class TestJavaCheck:
    def test_missing_java_is_one_line_that_says_how_to_install_it(self, tmp_path):
        line = the_line(check_java(PATH=str(tmp_path)))
        assert "needs Java 17 or newer" in line
        assert "no java on the PATH" in line
        for way in ("apt-get install openjdk-17-jre-headless", "brew install", "adoptium.net"):
            assert way in line

    @pytest.mark.parametrize("number", ["11.0.2", "1.8.0_292", "9", "16-ea"])
    def test_old_java_is_one_line_that_names_the_version_found(self, tmp_path, number):
        fake_java(tmp_path, f'openjdk version "{number}" 2019-01-15')
        line = the_line(check_java(PATH=str(tmp_path / "bin")))
        assert f"is version {number}" in line
        assert "adoptium.net" in line

    @pytest.mark.parametrize("number", ["17.0.15", "17", "21.0.1", "25-ea", "100.0.1"])
    def test_java_17_and_newer_pass_silently(self, tmp_path, number):
        fake_java(tmp_path, f'openjdk version "{number}" 2025-04-15')
        result = check_java(PATH=str(tmp_path / "bin"))
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")

    def test_lines_before_the_version_are_skipped(self, tmp_path):
        fake_java(tmp_path, 'openjdk version "21"', before="Picked up JAVA_TOOL_OPTIONS: -Xmx1g\n")
        assert check_java(PATH=str(tmp_path / "bin")).returncode == 0

    def test_java_home_wins_over_the_path(self, tmp_path):
        fake_java(tmp_path / "old", 'openjdk version "11.0.2"')
        fake_java(tmp_path / "new", 'openjdk version "17.0.1"')
        old, new = str(tmp_path / "old"), str(tmp_path / "new")
        assert check_java(PATH=old + "/bin", JAVA_HOME=new).returncode == 0
        assert "is version 11.0.2" in the_line(check_java(PATH=new + "/bin", JAVA_HOME=old))

    def test_java_home_without_java_is_an_error_even_if_the_path_has_one(self, tmp_path):
        fake_java(tmp_path, 'openjdk version "17.0.1"')
        line = the_line(check_java(PATH=str(tmp_path / "bin"), JAVA_HOME=str(tmp_path / "gone")))
        assert "JAVA_HOME is" in line

    def test_a_java_that_only_apologises_is_one_line(self, tmp_path):
        script(tmp_path / "java", "echo 'Unable to locate a Java Runtime.' >&2", "exit 1")
        assert "does not tell its version" in the_line(check_java(PATH=str(tmp_path)))


class TestMakefile:
    def test_help_lists_every_target_with_one_line(self):
        result = run("make", "--no-print-directory", PATH=os.environ["PATH"])
        assert result.returncode == 0, result.stderr
        listed = [line.split(maxsplit=2) for line in result.stdout.splitlines()]
        assert [(make, target) for make, target, _ in listed] == [("make", t) for t in TARGETS]
        assert all(description for _, _, description in listed)

    def test_an_old_python_is_one_line(self, tmp_path):
        old = script(tmp_path / "python", 'test "$1" = -V && echo Python 3.9.2', "exit 1")
        self.fails_to_install(tmp_path, old, f"{old} is Python 3.9.2")

    def test_a_missing_python_is_one_line(self, tmp_path):
        self.fails_to_install(tmp_path, tmp_path / "gone", "there is no")

    def fails_to_install(self, tmp_path: Path, python: Path, reason: str) -> None:
        venv = tmp_path / "venv"
        result = run(
            *("make", "install", f"VENV={venv}"), PATH=os.environ["PATH"], PYTHON=str(python)
        )
        assert result.returncode != 0
        line, *rest = result.stderr.splitlines()
        assert "needs Python 3.11 or newer" in line
        assert reason in line
        assert all(line.startswith("make") for line in rest)  # make reports the failure too
        assert not venv.exists()


class TestTheTestScript:
    @pytest.mark.parametrize("fails", [None, "spark and not soak", "not spark and not soak"])
    def test_all_tests_run_and_each_process_must_pass(self, tmp_path, fails):
        # A pytest that says what it was asked for, and fails if that is what should fail.
        fake = script(tmp_path / "pytest", 'echo "ran $*"', f'test "$2" != "{fails}"')
        result = run("/bin/sh", "scripts/test.sh", fake, PATH=os.environ["PATH"])
        assert result.stdout.splitlines() == [
            "ran -m spark and not soak -n 2 --dist loadfile",
            "Without Spark:",
            "ran -m not spark and not soak",
        ]
        assert (result.returncode == 0) == (fails is None)


def test_tests_are_marked_by_whether_they_share_the_session(request):
    for item in request.session.items:
        shares = {"spark", "spark_folder"} & set(getattr(item, "fixturenames", ()))
        assert bool(shares) == (item.get_closest_marker("spark") is not None), item.nodeid


def project_files() -> list[Path]:
    """Every text file that is, or could be, committed."""
    listing = run("git", "ls-files", "-coz", "--exclude-standard", PATH=os.environ["PATH"])
    if listing.returncode == 0:
        paths = [ROOT / name for name in listing.stdout.split("\0") if name]
    else:  # not a checkout: all but what .gitignore calls made or cached
        ignored = {line.rstrip("/") for line in (ROOT / ".gitignore").read_text().splitlines()} | {
            ".git"
        }
        paths = [
            path
            for path in ROOT.rglob("*")
            if ignored.isdisjoint(path.relative_to(ROOT).parts) and path.suffix != ".pyc"
        ]
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()[:8192]]


def test_no_file_mentions_a_path_of_the_machine_that_it_was_written_on():
    # Absolute paths below folders that differ from machine to machine; not part of a longer path.
    folders = ["Users", "builds", "home", "mnt", "root", "tmp", "work", "workspace"]
    somewhere = re.compile(rf"(?<![\w.~$)}}\]*-])/(?:{'|'.join(folders)})\b(?![-.]\w)")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in project_files()
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if somewhere.search(line)
    ]
    assert found == []


def test_the_lock_has_every_package_exactly_pinned_and_hashed():
    lock = (ROOT / "requirements.lock").read_text()
    entries = re.split(r"\n(?=[a-z])", lock)[1:]
    assert len(entries) > 10
    for entry in entries:
        assert re.match(r"[\w.\-\[\]]+==\S+", entry), entry
        assert "--hash=sha256:" in entry, entry
    assert "://" not in lock  # no address of an index: pip's own setting decides


def test_the_version_is_that_of_the_package():
    assert penstock.__version__ == version("penstock")
