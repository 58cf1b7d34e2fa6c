"""The machine: Java, the versions of packages, room on the disk."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from penstock.cli.doctor.check import Check, ok, warn, wrong
from penstock.cli.java import NEEDED, check_java
from penstock.errors import PenstockError

PINS: dict[str, tuple[str, str | None]] = {
    "pyspark": ("4.3", "4.4"),
    "pandas": ("2.2", "3"),
    "pyarrow": ("18", None),
    "numpy": ("1.26", None),
    "protobuf": ("5", None),
}
"""Package → the oldest version, and the first one that is too new; as pyproject.toml has them."""

GIB = 1 << 30
LITTLE, ENOUGH = 1 * GIB, 5 * GIB
"""Bytes: with less, a run will fail soon; with less, it may."""


def machine(
    environ: Mapping[str, str] = os.environ, installed: Callable[[str], str] = version
) -> Iterator[Check]:
    """Java and the packages.

    Args:
        environ: where JAVA_HOME and PATH are looked up.
        installed: package → its version.
    """
    try:
        check_java(environ)
        yield ok("Java", f"{NEEDED} or newer")
    except PenstockError as error:
        says, _, mend = str(error).partition(": ")
        yield wrong("Java", says, mend)
    found = {name: _installed(name, installed) for name in PINS}
    bad = {name: has for name, has in found.items() if not fits(has, *PINS[name])}
    if bad:
        says = ", ".join(f"{name} is {has or 'missing'}" for name, has in bad.items())
        wanted = " ".join(f"'{name}{pin(name)}'" for name in bad)
        yield wrong("packages", says, f"pip install {wanted}")
    else:
        yield ok("packages", ", ".join(f"{name} {has}" for name, has in found.items()))


def room(folder: Path, usage: Callable[[Path], tuple[int, int, int]] = shutil.disk_usage) -> Check:
    """The room on a disk.

    Args:
        folder: that need not be there yet.
        usage: folder → bytes in all, used, free.
    """
    there = nearest(folder)
    free = usage(there)[2]
    says = f"{free / GIB:.1f} GiB free for {folder}"
    if free < LITTLE:
        return wrong("space", says, "a checkpoint and Spark's shuffles need 1 GiB at the least")
    return ok("space", says) if free >= ENOUGH else warn("space", says, "a long run may need more")


def nearest(folder: Path) -> Path:
    """The folder, or the first above it that is there."""
    folder = folder.absolute()
    return next(one for one in (folder, *folder.parents) if one.exists())


def pin(name: str) -> str:
    """What pip is told of a package.

    >>> pin("pandas"), pin("pyarrow")
    ('>=2.2,<3', '>=18')
    """
    least, below = PINS[name]
    return f">={least}" + (f",<{below}" if below else "")


def fits(has: str | None, least: str, below: str | None) -> bool:
    """Whether a version is new enough, and not too new.

    >>> fits("2.3.1", "2.2", "3"), fits("3.0.0rc1", "2.2", "3"), fits(None, "2", None)
    (True, False, False)
    """
    if has is None:
        return False
    numbers = _numbers(has)
    return numbers >= _numbers(least) and (below is None or numbers < _numbers(below))


def _numbers(text: str) -> tuple[int, ...]:
    found = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def _installed(name: str, installed: Callable[[str], str]) -> str | None:
    try:
        return installed(name)
    except PackageNotFoundError:
        return None
