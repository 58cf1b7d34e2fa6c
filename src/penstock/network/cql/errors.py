"""A CQL error says what was expected, and shows the place with a caret under it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from penstock.errors import SpecificationError, did_you_mean

_LONGEST_WORD = 40
_BEFORE, _AFTER = 80, 20


class CqlError(SpecificationError):
    r"""The text is not CQL, or it asks for what cannot be; `line` and `column` count from 1.

    Args:
        message: one line: what was expected, what was got, and a hint where there is one.
        text: the whole text.
        offset: where in the text, in characters from 0.
        place: where the text itself stands, such as a file and a key in it.

    >>> print(CqlError("expected FROM; got 'FORM'", "SELECT count(*)\nFORM Traffic", 16))
    line 2, column 1: expected FROM; got 'FORM'
      FORM Traffic
      ^
    """

    def __init__(self, message: str, text: str, offset: int, place: str = "") -> None:
        # All of the arguments are kept, so that the error can be pickled.
        super().__init__(message, text, offset, place)
        self.place = place
        self.message = _on_one_line(message)
        begin = text.rfind("\n", 0, offset) + 1
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - begin + 1
        self._excerpt = _excerpt(text[begin:].partition("\n")[0], offset - begin)

    def __str__(self) -> str:
        place = f"{self.place}, " if self.place else ""
        return f"{place}line {self.line}, column {self.column}: {self.message}\n{self._excerpt}"

    def within(self, place: str) -> CqlError:
        """The same error, with the place of the text; one that has a place keeps it."""
        message, text, offset, known = self.args
        return CqlError(message, text, offset, known or place)


def nearest(word: str, known: Iterable[str]) -> str:
    """The hint with the closest known name, whichever case it is in; empty if none is close.

    >>> nearest("slde", ["RANGE", "SLIDE"]), nearest("Sped", ["speed"]), nearest("x", ["speed"])
    ("did you mean 'SLIDE'?", "did you mean 'speed'?", '')
    """
    lowered = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), lowered, n=1)
    return did_you_mean(lowered[close[0]], lowered.values()) if close else ""


def shown(text: str) -> str:
    r"""A piece of the text as a message quotes it: on one line, and short.

    >>> shown("secnds"), shown("it's")
    ("'secnds'", '"it\'s"')
    """
    return repr(text if len(text) <= _LONGEST_WORD else text[: _LONGEST_WORD - 3] + "...")


def _on_one_line(text: str) -> str:
    # A tab would move the caret, and other such characters would break the line.
    return "".join(c if c.isprintable() else " " for c in text)


def _excerpt(line: str, at: int) -> str:
    line = _on_one_line(line).rstrip()
    cut = max(0, at - _BEFORE)
    part = line[cut : at + _AFTER] if cut or len(line) > _BEFORE + _AFTER else line
    return f"  {part}\n  {' ' * (at - cut)}^"
