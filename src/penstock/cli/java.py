"""Spark needs Java; whether there is a good one is found out before Spark is started.

`scripts/check_java.sh` says the same in the same words, for use before there is any Python.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from penstock.errors import PenstockError

NEEDED = 17
_HOW = (
    "install it with 'apt-get install openjdk-17-jre-headless' (Debian, Ubuntu), "
    "'brew install openjdk@17' (macOS), or from https://adoptium.net"
)
# The line looks like: openjdk version "17.0.15" 2025-04-15; Java 8 calls itself 1.8.
_VERSION = re.compile(r'version "((?:1\.)?(\d*)[^"]*)"')


def check_java(environment: Mapping[str, str] = os.environ) -> None:
    """Fails, with how to get a newer one, unless the Java that Spark would start is new enough.

    Args:
        environment: where JAVA_HOME and PATH are looked up.
    """
    java = _java(environment)
    # The program is the one that Spark would start; what it is called is the user's choice.
    ran = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    found = _VERSION.search(ran.stderr + ran.stdout)
    if found is None:  # macOS has a java that only says that there is none
        raise _needed(f"{java} does not tell its version")
    version, major = found.groups()
    if not major:
        raise _needed(f"{java} calls its version '{version}'")
    if int(major) < NEEDED:
        raise _needed(f"{java} is version {version}")


def _java(environment: Mapping[str, str]) -> str:
    # Spark takes the Java of JAVA_HOME if that is set, and looks at the PATH only if it is not.
    home = environment.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if not os.access(java, os.X_OK):
            raise _needed(f"JAVA_HOME is {home}, which has no bin/java")
        return str(java)
    found = shutil.which("java", path=environment.get("PATH", ""))
    if found is None:
        raise _needed("there is no java on the PATH and JAVA_HOME is not set")
    return found


def _needed(reason: str) -> PenstockError:
    return PenstockError(f"needs Java {NEEDED} or newer, but {reason}: {_HOW}")
