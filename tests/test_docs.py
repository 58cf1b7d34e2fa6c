"""Everything that the documentation shows is run.

Every ```python block of README.md and docs/ is executed: the blocks of one file one after the
other in one namespace, in an empty folder; those pages that one begins with make their session
themselves, others have it as `spark`. So is every line of a ```sh block that begins with
`penstock`, with that session; `penstock run` for some seconds, and commands that take longer are
only read. A block that cannot be run is given another language, such as ```text: commands in it, in
`code` and in the examples of the commands are read too. Tables in ```toml blocks must be right.
"""

import re
import shlex
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer.main
from pyspark.sql import DataFrame, DataFrameWriter, DataFrameWriterV2
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.network.config import parse_config
from tests.pages import Block, blocks, commands, commands_have

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON = {"python", "python3", "py", "pycon"}
FIRST = {README, ROOT / "docs" / "tutorial.md"}
"""Pages that may be all that somebody has read."""
LONG = {"demo", "bench", "backfill"}
"""Commands that have tests of their own, and take too long here."""
SHORT = ("--for", "3s")
NETWORK = """
[stream.packets]
source = "packets"
event_time = "ts"
[query.rest]
cql = "SELECT count(*) AS n FROM packets [RANGE 10 s SLIDE 10 s WATTR ts]"
"""
"""What tables that are shown alone stand beside."""


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


def call(words: list[str]) -> None:
    """Runs a command; reads it if it takes long, or if the file is not there that it would run."""
    if words[0] in LONG or (words[0] == "run" and not Path(words[1]).exists()):
        read(words)
        return
    cut = words[0] == "run"
    result = CliRunner().invoke(app, [*words, *(SHORT if cut else ())])
    # Spark's Python may print a trace where a stream ends in the middle of a batch.
    assert (result.exit_code, "" if cut else result.stderr) == (0, ""), result.output


def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """What a command line asks for, and the rest of its words."""
    command = typer.main.get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]  # type: ignore[attr-defined]
    return command, words


def read(words: list[str]) -> None:
    """A command line must be complete, and have only options that there are."""
    command, rest = command_of(words)
    assert not hasattr(command, "commands"), f"no such command: penstock {' '.join(words)}"
    command.make_context("penstock", rest)


def spoken_of(markdown: str) -> list[list[str]]:
    """The commands in `code`, which need not be complete; without what stands for something else.

    >>> spoken_of("See `penstock plan --load N` and `make`.")
    [['plan', '--load', 'N']]
    """
    prose = re.sub(r"^ *(```|~~~).*?^ *\1", "", markdown, flags=re.DOTALL | re.MULTILINE)
    spans = re.findall(r"`penstock\s([^`]+)`", prose)
    return [shlex.split(span) for span in spans]


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
    commands_have(spark, tmp_path_factory.mktemp("scratch"), monkeypatch)
    try:
        # As `__main__`, so that Spark sends functions to its workers by value.
        session_of = {} if page in FIRST else {"spark": spark}
        execute(page, {"__name__": "__main__", **session_of})
    finally:
        for query in spark.streams.active:
            query.stop()
        # Pages may use the same names, in whatever order they are run: each finds the folder empty.
        for left in set(spark_folder.iterdir()) - before:
            shutil.rmtree(left) if left.is_dir() else left.unlink()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_that_are_not_run_are_commands(page):
    text = page.read_text()
    shown = [block for block in blocks(text) if block.language not in {*PYTHON, "sh"}]
    examples = "\n".join(re.findall(r"^Example: .*", text, re.MULTILINE))
    for block in (*shown, Block("text", 1, examples)):
        for words in commands(block):
            read(words)
    for words in spoken_of(text):
        command, rest = command_of(words)
        options = {name for one in command.params for name in one.opts}
        if hasattr(command, "commands"):
            assert rest[0].startswith("--"), f"no such command: penstock {' '.join(words)}"
        assert {word for word in rest if word.startswith("-")} <= options | {"--help"}, words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_tables_are_such_as_a_file_may_have(page):
    for block in blocks(page.read_text()):
        if block.language == "toml":
            whole = {"stream", "query"} <= tomllib.loads(block.text).keys()
            parse_config(block.text if whole else block.text + NETWORK, page.name).outline()


class Recorder:
    """Takes every call that a class of Spark has, and writes it down."""

    def __init__(self, like: type, calls: list[tuple[object, ...]]) -> None:
        self.like, self.calls = like, calls

    def __getattr__(self, name: str) -> Any:
        assert hasattr(self.like, name), f"{self.like.__name__} has no {name}"
        if name == "write":
            return Recorder(DataFrameWriter, self.calls)

        def call(*given: object) -> Recorder:
            self.calls.append((name, *given))
            return Recorder(DataFrameWriterV2 if name == "writeTo" else self.like, self.calls)

        return call


def test_sinks_for_delta_and_iceberg_replace_a_batch_that_comes_again(spark):
    page = ROOT / "docs" / "howto" / "sinks.md"
    namespace: dict[str, Any] = {}
    for block in python_blocks(page.read_text()):
        if "def to_" in block.text:
            exec(compile(block.text, str(page), "exec"), namespace)  # noqa: S102 - that is the purpose
    calls: list[tuple[object, ...]] = []
    namespace["to_delta"](Recorder(DataFrame, calls), 7)
    assert [str(one) for one in calls[0]] == ["withColumn", "batch", "Column<'7'>"]
    assert calls[1:] == [
        ("format", "delta"),
        ("mode", "overwrite"),
        ("option", "replaceWhere", "batch = 7"),
        ("partitionBy", "batch"),
        ("save", "s3a://lake/answers"),
    ]
    calls.clear()
    namespace["to_iceberg"](Recorder(DataFrame, calls), 7)
    assert [call[0] for call in calls] == ["withColumn", "writeTo", "overwrite"]
    assert calls[1] == ("writeTo", "lake.answers")
    assert all(part in str(calls[2][1]) for part in ("batch", "7", "="))


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
