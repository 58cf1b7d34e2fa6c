"""A cursor goes over the tokens; it takes what is expected, or says what was."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.network.cql.errors import CqlError, nearest
from penstock.network.cql.names import RESERVED, backquoted
from penstock.network.cql.tokens import Token, tokenize

_CLOSING = {"(": ")", "[": "]"}


class Cursor:
    """The tokens of a text, and how far they have been read.

    Args:
        text: the CQL text.
        several: whether it may have several statements, and UNION ALL in each.

    >>> cursor = Cursor("FROM Traffic")
    >>> cursor.expect("FROM").at, cursor.name("a stream").text, cursor.token.kind
    (0, 'Traffic', 'end')
    """

    def __init__(self, text: str, *, several: bool = False) -> None:
        self.text = text
        self.several = several
        self._tokens = tokenize(text)
        self._next = 0

    @property
    def token(self) -> Token:
        """The next token, which is not yet taken."""
        return self._tokens[self._next]

    def ahead(self, steps: int = 1) -> Token:
        """A token further on; the end if the text ends before it."""
        return self._tokens[min(self._next + steps, len(self._tokens) - 1)]

    def take(self) -> Token:
        """Takes the next token; the end stays where it is."""
        token = self.token
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token

    def at(self, text: str) -> bool:
        """Whether the next token is that keyword, in any case, or that symbol."""
        return self.token.kind in ("word", "symbol") and self.token.text.upper() == text

    def at_words(self, first: str, *second: str) -> bool:
        """Whether the next token is that keyword, and one of the others follows it."""
        following = self.ahead()
        return self.at(first) and following.kind == "word" and following.text.upper() in second

    def at_end(self) -> bool:
        """Whether a SELECT ends here."""
        if self.token.kind == "end" or self.at(";"):
            return True
        # Where a semicolon is missing, the next statement is no part of a predicate.
        return self.several and (
            self.at_words("UNION", "ALL", "DISTINCT", "SELECT")
            or self.at_words("CREATE", "VIEW", "QUERY")
        )

    def accept(self, text: str) -> Token | None:
        """Takes that keyword or symbol if it is next."""
        return self.take() if self.at(text) else None

    def expect(self, text: str) -> Token:
        """Takes that keyword or symbol, or refuses what is there instead."""
        token = self.accept(text)
        if token is None:
            # Words are written as they are, symbols in quotes.
            raise self.expected(text if text.isalpha() else repr(text), [text])
        return token

    def expected(self, what: str, known: Iterable[str] = (), hint: str = "") -> CqlError:
        """The error for the next token.

        Args:
            what: what it should have been.
            known: words that it may have been meant for.
            hint: what to say if it is close to none of them.
        """
        token = self.token
        hint = (nearest(token.text, known) if token.kind == "word" else "") or hint
        return self.error(f"expected {what}; got {token}" + (f"; {hint}" if hint else ""), token)

    def error(self, message: str, token: Token) -> CqlError:
        """The error at a token."""
        return CqlError(message, self.text, token.at)

    def name(self, what: str, reserved: Iterable[str] = (), *, dotted: bool = True) -> Token:
        """Takes a name, dots included, as one token of kind "name" if any of it is quoted.

        Args:
            what: what the message calls it.
            reserved: words, besides the reserved ones, that are a name only in quotes.
            dotted: whether it may have several parts.

        >>> Cursor("car . `top-speed`").name("a column")
        Token(kind='name', text='`car.top-speed`', at=0)
        """
        first = self.token
        parts = [self._part(what, reserved)]
        while dotted and self.accept("."):
            parts.append(self._part("a name after the dot", ()))
        joined = ".".join(part.name for part in parts)
        if all(part.kind == "word" for part in parts):
            self._refuse_hyphen(first, parts[-1].end)
            return Token("word", joined, first.at)
        return Token("name", backquoted(joined), first.at)

    def _part(self, what: str, reserved: Iterable[str]) -> Token:
        token = self.token
        if token.kind == "word" and token.text.upper() in (*RESERVED, *reserved):
            raise self.expected(what)
        if token.kind not in ("word", "name"):
            raise self.expected(what)
        return self.take()

    def _refuse_hyphen(self, first: Token, name_end: int) -> None:
        end = name_end
        while self.at("-") and self.token.at == end and self.ahead().at == end + 1:
            if self.ahead().kind not in ("word", "number"):
                break
            self.take()
            end = self.take().end
        if end > name_end:
            quoted = backquoted(self.text[first.at : end])
            raise self.error(f"a name with a hyphen must be quoted: write {quoted}", first)

    def nested(self) -> list[Token]:
        """Takes one token of an expression, or a bracket with all that is in it."""
        opening = self.take()
        if opening.text in (")", "]") and opening.kind == "symbol":
            raise self.error(f"{opening.text!r} closes what is not open", opening)
        if opening.kind != "symbol" or opening.text not in _CLOSING:
            return [opening]
        taken, open_ = [opening], [opening]
        while open_:
            closing = _CLOSING[open_[-1].text]
            if self.token.kind == "end" or self.at(";"):
                raise self.error(f"{open_[-1].text!r} is not closed", open_[-1])
            if self.at(")") or self.at("]"):
                if not self.at(closing):
                    raise self.expected(repr(closing))
                open_.pop()
            elif self.at("(") or self.at("["):
                open_.append(self.token)
            taken.append(self.take())
        return taken

    def source(self, tokens: list[Token]) -> str:
        """The text of these tokens as it is written, with names in the quotes that Spark wants.

        >>> cursor = Cursor('"seg-id"  = 7')
        >>> print(cursor.source([cursor.take(), cursor.take(), cursor.take()]))
        `seg-id`  = 7
        """
        pieces, at = [], tokens[0].at
        for token in tokens:
            pieces.append(self.text[at : token.at])
            # Spark would take double quotes for a string.
            pieces.append(backquoted(token.name) if token.kind == "name" else token.text)
            at = token.end
        return "".join(pieces)
