"""What the pages of the documentation show: blocks, and the commands in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.cli import init as init_command
from penstock.cli.doctor import command as doctor_command
from penstock.cli.session import Local


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the number of its first line in the file, its text."""

    language: str
    line: int
    text: str


def blocks(markdown: str) -> list[Block]:
    """The fenced blocks of a page, in order; a fence ends with the marks that it began with.

    >>> blocks("Say:\\n```python\\nx = 1\\n```\\n")
    [Block(language='python', line=3, text='x = 1\\n')]
    """
    found = []
    opening, language, start, indent = "", "", 0, 0
    content: list[str] = []
    for number, line in enumerate(markdown.splitlines(), start=1):
        fence = re.match(r"( *)(`{3,}|~{3,}) *([\w+-]*)", line)
        if not opening and fence:
            opening, language, start, indent = fence[2], fence[3], number + 1, len(fence[1])
            content = []
        elif opening and fence and fence[2].startswith(opening) and not fence[3]:
            found.append(Block(language.lower(), start, "".join(text + "\n" for text in content)))
            opening = ""
        elif opening:
            content.append(line[min(indent, len(line) - len(line.lstrip())) :])
    if opening:
        raise ValueError(f"the block that starts in line {start - 1} is never closed")
    return found


def commands(block: Block) -> list[list[str]]:
    r"""The commands of a block that are penstock's own, each as words.

    >>> commands(Block("sh", 1, "cd x\npenstock plan a.toml --load 3  # three times\n"))
    [['plan', 'a.toml', '--load', '3']]
    """
    lines = block.text.replace("\\\n", " ").splitlines()
    each = [one for line in lines for one in line.removeprefix("Example: ").split(" && ")]
    return [shlex.split(one, comments=True)[1:] for one in each if one.startswith("penstock ")]


def commands_have(spark: SparkSession, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets commands that would start a Spark of their own have this one."""

    @contextmanager
    def session(*_: Any, **__: Any) -> Iterator[Local]:
        yield Local(spark, scratch)

    monkeypatch.setattr(init_command, "local_spark", session)
    monkeypatch.setattr(doctor_command, "running_spark", session)
    monkeypatch.setattr("penstock.cli.run.running_spark", session)
