"""A table of a TOML file; what is wrong in it is said with the file, the table and the key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError, SpecificationError, complaint, did_you_mean
from penstock.network.right_values import such_as, with_hint
from penstock.windows import parse_duration


class ConfigError(SpecificationError):
    """A file of settings says what cannot be."""


def text_of(path: str | Path) -> str:
    """The text of a file of settings.

    Args:
        path: of the file.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigError(complaint(str(path), "must be a file that can be read", why)) from error


def top_table(text: str, file: str) -> Table:
    """All that a TOML file says.

    Args:
        text: TOML.
        file: what messages call it.
    """
    try:
        return Table(file, (), tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: {error}{_line(text, str(error))}") from error


def _line(text: str, error: str) -> str:
    """The line that an error of TOML is about, and how its key is written rightly."""
    found = re.search(r"at line (\d+)", error)
    if found is None:
        return ""
    line = text.splitlines()[int(found[1]) - 1].strip()
    hint = such_as(line.partition("=")[0].strip())
    return f": {line}" + (f"; {hint}" if hint else "")


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """The keys of a table, each asked for once by its kind.

    Args:
        file: the name of the file, for messages.
        path: the keys that lead to the table.
        values: as they stand in the file.

    >>> Table("a.toml", ("query", "web"), {"wieght": 2}).known("cql", "weight")
    Traceback (most recent call last):
    penstock.network.tables.ConfigError: a.toml: [query.web] must have keys that are known, \
got 'wieght'; did you mean 'weight'?
    """

    file: str
    path: tuple[str, ...]
    values: Mapping[str, Any]

    @property
    def place(self) -> str:
        """The file and the table."""
        return f"{self.file}: [{'.'.join(self.path)}]" if self.path else f"{self.file}:"

    def known(self, *keys: str) -> None:
        """Refuses every other key."""
        for key in self.values:
            if key not in keys:
                rule, hint = "must have keys that are known", did_you_mean(key, keys)
                raise ConfigError(complaint(self.place, rule, key, hint))

    def refused(self, key: str, rule: str, hint: str = "") -> ConfigError:
        """The error for the value of a key; without another hint it has a value that is right."""
        got, hint = self.values.get(key), hint or such_as(key)
        return ConfigError(complaint(f"{self.place} {key}", rule, got, hint))

    def text(self, key: str) -> str | None:
        """A text that is not empty; None if it is not there."""
        value = self.values.get(key)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise self.refused(key, "must be a text")
        return value

    def needed(self, key: str, hint: str = "") -> str:
        """A text that must be there."""
        value = self.text(key)
        if value is None:
            raise self.refused(key, "must be given", hint)
        return value

    def choice(self, key: str, *words: str) -> str | None:
        """One of some words."""
        value = self.text(key)
        if value is not None and value not in words:
            listed = " or ".join(repr(word) for word in words)
            raise self.refused(key, f"must be {listed}", did_you_mean(value, words))
        return value

    def duration(self, key: str) -> int | None:
        """A length of time in microseconds."""
        value = self.text(key)
        if value is None:
            return None
        try:
            return parse_duration(value, key)
        except PenstockError as error:
            raise ConfigError(with_hint(f"{self.place} {error}", key)) from error

    def number(self, key: str, *, whole: bool = False) -> float | None:
        """A number greater than 0."""
        value = self.values.get(key)
        if value is None:
            return None
        kinds = int if whole else (int, float)
        if not isinstance(value, kinds) or isinstance(value, bool) or not 0 < value < float("inf"):
            what = "whole number" if whole else "number"
            raise self.refused(key, f"must be a {what} greater than 0")
        return value

    def names(self, key: str) -> tuple[str, ...]:
        """A name, or a list of them; none if it is not there."""
        value = self.values.get(key, [])
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list) or not all(isinstance(n, str) and n for n in listed):
            raise self.refused(key, "must be the name of a column, or a list of names")
        return tuple(listed)

    def table(self, key: str) -> Table:
        """A table in it; empty if it is not there."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self.refused(key, f"must be a table, [{'.'.join((*self.path, key))}]")
        return Table(self.file, (*self.path, key), value)

    def tables(self, key: str) -> Iterable[Table]:
        """The tables in a table, such as all [query.NAME]; their names are the last of the path."""
        outer = self.table(key)
        return [outer.table(name) for name in outer.values]

    @property
    def name(self) -> str:
        """The last key that leads to it."""
        return self.path[-1]
