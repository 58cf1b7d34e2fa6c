"""Writes docs/reference.md: the names of `penstock` with their signatures, and the commands.

python scripts/reference.py            # tests/test_reference.py tells when it is due
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

import penstock as ps
from penstock.cli.main import app

PAGE = Path(__file__).parents[1] / "docs" / "reference.md"

_WIDE = 88
"""Characters of a signature that stand in one line."""

EXIT_CODES = """\
| exit code | |
|---|---|
| 0 | it went well; `doctor`: nothing is wrong |
| 1 | it failed while it ran; `doctor`: something is wrong |
| 2 | it was asked for what cannot be: an option, a file, a query |
| 130 | Ctrl-C; `run`, `node` and `coordinate` end cleanly by the first one, with 0 |

What goes wrong is one line on stderr; `--verbose` adds the trace. Where there is `--json`, stdout
has nothing but JSON. `penstock --install-completion` installs completion for your shell (bash, zsh,
fish, PowerShell); `penstock --show-completion` prints it."""


def page() -> str:
    """The text of the page."""
    return "\n".join(
        [
            "# Reference",
            "",
            "Written by `scripts/reference.py` from the code.",
            "",
            "## Commands",
            "",
            EXIT_CODES,
            "",
            *_commands(typer.main.get_command(app), "penstock"),
            "## Python",
            "",
            "`import penstock as ps`",
            "",
            *_names(),
        ]
    )


def _commands(command: Any, name: str) -> Iterator[str]:  # noqa: ANN401 - Click's, whose types vary
    inner = getattr(command, "commands", {})
    if not inner:
        yield from [f"### {name}", "", _plain(command.help), ""]
        yield from ["| | |", "|---|---|"]
        for one in command.params:
            if getattr(one, "hidden", False):
                continue
            shown = ", ".join(one.opts) if one.param_type_name == "option" else one.metavar
            text = _plain(getattr(one, "help", "") or "")
            yield _cells(shown or one.name.upper(), text)
        yield from ["", f"{_plain(command.epilog)}", ""]
    for word, one in inner.items():
        yield from _commands(one, f"{name} {word}")


def _cells(code: str, text: str) -> str:
    return "| `{}` | {} |".format(*(cell.replace("|", "\\|") for cell in (code, text)))


def _names() -> Iterator[str]:
    for name in sorted(ps.__all__, key=lambda word: (word.lower(), word)):
        value = getattr(ps, name)
        if isinstance(value, str):
            yield from [f"### ps.{name}", "", "The version, as text.", ""]
        elif isinstance(value, types.ModuleType):
            for inner in sorted(value.__all__):
                yield from _name(f"ps.{name}.{inner}", getattr(value, inner))
        else:
            yield from _name(f"ps.{name}", value)


def _name(name: str, value: Any) -> Iterator[str]:  # noqa: ANN401 - whatever is public
    yield from [f"### {name}", ""]
    one_of_ours = inspect.isclass(value) and (
        issubclass(value, Exception) or getattr(value, "_is_protocol", False)
    )
    if not one_of_ours:
        yield from ["```text", f"{name}{_signature(value)}", "```", ""]
    yield from [_plain(_first(value)), ""]
    yield from _arguments(value)
    if inspect.isclass(value) and not one_of_ours:
        yield from _members(value)


def _arguments(value: object) -> Iterator[str]:
    """What the docstring says of each argument."""
    _, _, said = (inspect.getdoc(value) or "").partition("Args:\n")
    block = said.partition("\n\n")[0]
    found = re.findall(r"^    (\w+): (.*(?:\n     .*)*)", block, re.MULTILINE)
    yield from (f"- `{name}`: {_plain(text)}" for name, text in found)
    yield from [""] if found else []


def _members(value: type) -> Iterator[str]:
    listed = [
        (word, one)
        for word, one in inspect.getmembers(value)
        if not word.startswith("_")
        and inspect.getdoc(one)
        and any(word in base.__dict__ for base in value.__mro__[:-1])
    ]
    if listed:
        yield from ["| | |", "|---|---|"]
    for word, one in listed:
        call = f"{word}{_signature(one)}" if callable(one) else word
        yield _cells(" ".join(call.split()), _plain(_first(one)))
    yield from [""] if listed else []


def _signature(value: Any) -> str:  # noqa: ANN401 - whatever can be called
    found = inspect.signature(value)
    if inspect.isclass(value):
        found = found.replace(return_annotation=found.empty)
    given = [_bare(one) for one in found.parameters.values() if one.name != "self"]
    text = str(found.replace(parameters=given))
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text).replace("Ellipsis", "…")
    if len(text) <= _WIDE:
        return text
    result = text.rpartition(" -> ")[2] if " -> " in text else ""
    inside = [re.sub(r"(: )'([^']*)'", r"\1\2", str(one)) for one in given]
    stars = [i for i, one in enumerate(given) if one.kind is one.KEYWORD_ONLY]
    if stars and not any(one.kind is one.VAR_POSITIONAL for one in given):
        inside.insert(stars[0], "*")
    body = "".join(f"\n    {one}," for one in inside).replace("Ellipsis", "…")
    return f"({body}\n)" + (f" -> {result}" if result else "")


def _bare(one: inspect.Parameter) -> inspect.Parameter:
    """A default that is an object, such as a function, is shown as an ellipsis."""
    return one.replace(default=...) if repr(one.default).startswith("<function") else one


def _first(value: object) -> str:
    return (inspect.getdoc(value) or "").partition("\n\n")[0]


def _plain(text: str | None) -> str:
    return " ".join((text or "").split())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
