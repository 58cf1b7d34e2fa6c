"""Everything that the documentation shows is run.

Every ```python block of README.md and docs/ is executed: the blocks of one file one after the
other in one namespace, which has the session as `spark`, in an empty folder. So is every line of a
```sh block that begins with `penstock`, with that session; those of commands that take long are
only read. A block that cannot be run is given another language, such as ```text.
"""

import re
import shlex
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from penstock.cli import init as init_command
from penstock.cli.doctor import command as doctor_command
from penstock.cli.main import app
from penstock.cli.session import Local

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON = {"python", "python3", "py", "pycon"}
LONG = {"run", "demo", "bench", "backfill"}
"""Commands that have tests of their own, and take too long here."""


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


def python_blocks(markdown: str) -> list[Block]:
    return [b for b in blocks(markdown) if b.language in PYTHON]


def make_commands(markdown: str) -> set[str]:
    """The targets in `make target`, in fenced blocks and in `code`, but not in prose.

    >>> sorted(make_commands("Now make sure: `make test`\\n```sh\\n$ make demo && make lint\\n```"))
    ['demo', 'lint', 'test']
    """
    fenced = [block.text for block in blocks(markdown) if block.language != "python"]
    prose = re.sub(r"^ *(```|~~~).*?^ *\1", "", markdown, flags=re.DOTALL | re.MULTILINE)
    spans = re.findall(r"`([^`\n]+)`", prose)
    command = re.compile(r"(?:^|&&|;|\|)[ $]*(?:\w+=\S+ +)*make +([a-z][\w-]*)", re.MULTILINE)
    return {target for text in fenced + spans for target in command.findall(text)}


def commands(block: Block) -> list[list[str]]:
    r"""The commands of a block that are penstock's own, each as words.

    >>> commands(Block("sh", 1, "cd x\npenstock plan a.toml --load 3  # three times\n"))
    [['plan', 'a.toml', '--load', '3']]
    """
    lines = block.text.replace("\\\n", " ").splitlines()
    words = [shlex.split(line, comments=True) for line in lines]
    return [found[1:] for found in words if found[:1] == ["penstock"]]


def call(words: list[str]) -> None:
    """Runs a command, or reads it if it takes long: it must be there, with these options."""
    if words[0] not in LONG:
        result = CliRunner().invoke(app, words)
        assert (result.exit_code, result.stderr) == (0, ""), result.output
        return
    command, name = typer.main.get_command(app), "penstock"
    while hasattr(command, "commands"):
        name, *words = words
        command = command.commands[name]
    command.make_context(name, words)


def runs(page: Path) -> bool:
    """Whether there is anything to run on a page."""
    text = page.read_text()
    return bool(python_blocks(text)) or any(b.language == "sh" for b in blocks(text))


def execute(page: Path, namespace: dict[str, object]) -> None:
    for block in blocks(page.read_text()):
        if block.language == "sh":
            for words in commands(block):
                call(words)
        if block.language not in PYTHON:
            continue
        # Empty lines in front, so that a traceback has the page's own line numbers.
        source = "\n" * (block.line - 1) + block.text
        exec(compile(source, str(page), "exec"), namespace)  # noqa: S102 - that is the purpose


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_run(page, request, spark_folder, tmp_path_factory, monkeypatch):
    if not runs(page):
        return  # do not start Spark for it
    spark = request.getfixturevalue("spark")
    monkeypatch.chdir(spark_folder)  # relative paths must mean the same to Python and to Spark
    before = set(spark_folder.iterdir())
    shutil.copytree(ROOT / "examples", "examples")
    scratch = tmp_path_factory.mktemp("scratch")

    @contextmanager
    def session(*_, **__):
        yield Local(spark, scratch)

    monkeypatch.setattr(init_command, "local_spark", session)
    monkeypatch.setattr(doctor_command, "running_spark", session)
    try:
        # As `__main__`, so that Spark sends functions to its workers by value.
        execute(page, {"__name__": "__main__", "spark": spark})
    finally:
        for query in spark.streams.active:
            query.stop()
        # Pages may use the same names, in whatever order they are run: each finds the folder empty.
        for left in set(spark_folder.iterdir()) - before:
            shutil.rmtree(left) if left.is_dir() else left.unlink()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_only_targets_that_exist(page):
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][\w-]*):(?!=)", makefile, re.MULTILINE))
    assert make_commands(page.read_text()) - targets == set()


class TestTheHarness:
    def test_blocks_of_one_page_share_a_namespace(self, tmp_path):
        page = tmp_path / "page.md"
        page.write_text("```python\nx = 1\n```\ntext\n```python\ny = x + 1\n```\n")
        namespace: dict[str, object] = {}
        execute(page, namespace)
        assert namespace["y"] == 2

    def test_a_failure_is_reported_at_its_line_of_the_page(self, tmp_path):
        page = tmp_path / "page.md"
        page.write_text("# Title\n\n```python\nx = 1\n\nassert x == 2\n```\n")
        with pytest.raises(AssertionError) as failure:
            execute(page, {})
        last = failure.traceback[-1]
        assert (str(last.path), last.lineno + 1) == (str(page), 6)

    def test_other_languages_are_not_run(self):
        assert python_blocks("```text\nx = \n```\n```toml\na = 1\n```\n```\nplain\n```\n") == []

    def test_a_python_block_cannot_be_excluded_by_an_attribute_or_a_nickname(self):
        assert (
            len(python_blocks("```python skip\n1/0\n```\n```py\n1/0\n```\n~~~Python\n1/0\n~~~"))
            == 3
        )

    def test_an_indented_block_is_dedented(self):
        (block,) = blocks("- item\n  ```python\n  if True:\n      x = 1\n  ```\n")
        assert block.text == "if True:\n    x = 1\n"

    def test_an_unclosed_block_is_an_error(self):
        with pytest.raises(ValueError, match="line 2"):
            blocks("text\n```python\nx = 1\n")

    def test_prose_that_makes_something_is_no_command(self):
        assert make_commands("We make things. `make` alone is fine.") == set()
