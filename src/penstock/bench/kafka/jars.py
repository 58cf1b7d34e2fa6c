"""Jars of a Kafka broker and of Spark's connector, by Maven, in a folder that stays between runs.

`PENSTOCK_KAFKA=required` makes it an error if they cannot be had; without it the tests that need
them are skipped with the reason.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[4]
CACHE = (
    ROOT / ".kafka"
    if (ROOT / "pyproject.toml").exists()
    else Path.home() / ".cache" / "penstock" / "kafka"
)
"""Beside the sources, where there are any."""

_PATIENCE = 300  # seconds
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies"


class Unavailable(Exception):
    """The jars cannot be had here, and why."""


def required() -> bool:
    """Whether the tests must run, as in continuous integration."""
    return os.environ.get("PENSTOCK_KAFKA") == "required"


@functools.cache
def jars(name: str) -> tuple[Path, ...] | str:
    """The jars of <name>.xml, "broker" or "connector"; or the reason why there are none."""
    pom = Path(__file__).with_name(f"{name}.xml")
    version = hashlib.sha256(pom.read_bytes()).hexdigest()[:12]
    folder = CACHE / f"{name}-{version}"
    if not folder.exists():
        try:
            _fetch(pom, folder)
        except Unavailable as error:
            if required():
                raise
            return str(error)
    return tuple(sorted(folder.glob("*.jar")))


def _fetch(pom: Path, folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise Unavailable("Maven is missing: a Kafka of our own needs `mvn` on the PATH")
    part = folder.with_name(f"{folder.name}.{os.getpid()}")
    command = [maven, "-B", "-ntp", "-q", "-f", str(pom), _COPY]
    try:
        done = subprocess.run(  # noqa: S603 - our own command
            [*command, "-DincludeScope=runtime", f"-DoutputDirectory={part}"],
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
        if done.returncode or not list(part.glob("*.jar")):
            said = [line for line in done.stdout.splitlines() if "ERROR" in line]
            reason = said[0] if said else f"exit code {done.returncode}"
            raise Unavailable(f"Maven could not fetch the jars of {pom.name}: {reason}")
        if not folder.exists():  # another run may have been faster
            part.rename(folder)
    except subprocess.TimeoutExpired:
        rule = f"Maven could not fetch the jars of {pom.name} in {_PATIENCE} s"
        raise Unavailable(rule) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
