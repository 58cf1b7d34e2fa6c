"""The text as words, names, numbers, strings and symbols, each with its place in it.

Quotes and comments are Spark's, with one difference: in double quotes stands a name, as in standard
SQL, never a string. What stands between tokens (spaces, comments) is not kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from penstock.network.cql.errors import CqlError, shown

TokenKind = Literal["word", "name", "number", "string", "symbol", "end"]
"""A word is not quoted: a keyword, a function or a plain name. A name is quoted."""

_PATTERNS: tuple[tuple[TokenKind | None, str], ...] = (
    # A backslash carries a comment on to the next line, as in Spark.
    (None, r"\s+|--(?:\\\n|[^\r\n])*"),
    ("name", r'`(?:[^`]|``)*`|"(?:[^"]|"")*"'),
    # The second one is a raw string (r'\d+'), in which a backslash is only a backslash.
    ("string", r"'(?:[^'\\]|\\.|'')*'|[rR](?:'[^']*'|\"[^\"]*\")"),
    ("number", r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"),
    ("word", r"[^\W\d]\w*"),
    ("symbol", r"."),
)
_TOKEN = re.compile("|".join(f"({pattern})" for _, pattern in _PATTERNS), re.DOTALL)
_COMMENT_EDGE = re.compile(r"/\*|\*/")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text.

    Args:
        kind: what it is; the last token is the "end".
        text: as it is written, quotes included.
        at: where it begins, in characters from 0.
    """

    kind: TokenKind
    text: str
    at: int

    @property
    def end(self) -> int:
        """Where it ends: the place of the first character after it."""
        return self.at + len(self.text)

    @property
    def name(self) -> str:
        """The name without its quotes; the text of anything else.

        >>> Token("name", "`a``b-c`", 0).name, Token("word", "speed", 0).name
        ('a`b-c', 'speed')
        """
        if self.kind != "name":
            return self.text
        quote = self.text[0]
        return self.text[1:-1].replace(quote * 2, quote)

    def __str__(self) -> str:
        return "the end of the text" if self.kind == "end" else shown(self.text)


def tokenize(text: str) -> list[Token]:
    """The tokens of the text, and at last its end; a quote or comment left open is refused.

    >>> [token.text for token in tokenize("max(speed) -- the fastest")]
    ['max', '(', 'speed', ')', '']
    """
    tokens, at = [], 0
    while found := _TOKEN.match(text, at):
        if text.startswith("/*", at):
            at = _comment_end(text, at)
            continue
        kind = _PATTERNS[(found.lastindex or 1) - 1][0]
        if kind is not None:
            tokens.append(_checked(Token(kind, found[0], at), text))
        at = found.end()
    # What is missing at the end is missing after the last token, not after a comment or a line.
    return [*tokens, Token("end", "", tokens[-1].end if tokens else 0)]


def _checked(token: Token, text: str) -> Token:
    if token.kind == "symbol" and token.text in "'\"`":
        raise CqlError(f"the quote {token.text} is not closed", text, token.at)
    if token.kind == "name" and not token.name.strip():
        hint = "a string stands in single quotes" if token.text[0] == '"' else ""
        message = "a quoted name must not be empty" + (f"; {hint}" if hint else "")
        raise CqlError(message, text, token.at)
    return token


def _comment_end(text: str, at: int) -> int:
    # As in Spark, there may be comments in comments.
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, at):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    raise CqlError("the comment /* is not closed", text, at)
