"""The window clause as it is written: parts in any order, each at most once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from penstock.errors import SpecificationError
from penstock.network.cql.cursor import Cursor
from penstock.network.cql.names import WINDOW_WORDS
from penstock.network.cql.tokens import Token
from penstock.windows import parse_duration
from penstock.windows.kinds import ROW_NUM, Unit

UNITS = ("seconds", "minutes", "hours", "days", "milliseconds", "rows")
_ALSO = ("second", "minute", "hour", "day", "millisecond", "ms", "row")
_LARGEST = 2**63 - 1  # an engine holds it in 64 bits
_MOST_DIGITS = 40
_NO_FIXED_LENGTH = ("month", "months", "year", "years", "quarter", "quarters")


@dataclass(frozen=True, slots=True)
class Amount:
    """A length: after RANGE or SLIDE.

    Args:
        value: in microseconds if the unit is "time".
        unit: "value" where no unit is written.
        token: its first number.
    """

    value: int
    unit: Unit
    token: Token


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column that RANGE or SLIDE is on, or that parts the stream.

    Args:
        name: the column, or `ROW_NUM`.
        token: where it stands.
        rank: whether it is rank(name).
    """

    name: str
    token: Token
    rank: bool = False


@dataclass(slots=True)
class Clause:
    """The parts of a window clause; None where a part is not written.

    Args:
        opening: the opening bracket.
    """

    opening: Token
    closing: Token = field(init=False)
    words: dict[str, Token] = field(default_factory=dict)
    range: Amount | None = None
    slide: Amount | None = None
    wattr: Attribute | None = None
    rattr: Attribute | None = None
    sattr: Attribute | None = None
    pattr: tuple[Attribute, ...] = ()


def window_clause(cursor: Cursor) -> Clause:
    """Takes the brackets and what is in them; whether it makes a window is for `windows` to say.

    >>> clause = window_clause(Cursor("[SLIDE 1 row SATTR row-num]"))
    >>> clause.slide.value, clause.sattr.name, list(clause.words)
    (1, 'row-num', ['SLIDE', 'SATTR'])
    """
    if not cursor.at("["):
        raise cursor.expected("'[' and a window", hint="such as [RANGE 60 s SLIDE 5 s WATTR ts]")
    clause = Clause(cursor.take())
    while not cursor.at("]"):
        word = cursor.token.text.upper()
        if cursor.token.kind != "word" or word not in _PARTS:
            raise cursor.expected(f"']' or one of {', '.join(WINDOW_WORDS)}", WINDOW_WORDS)
        if word in clause.words:
            raise cursor.error(f"{word} must be given once; it stands here again", cursor.token)
        clause.words[word] = cursor.take()
        _PARTS[word](cursor, clause)
    clause.closing = cursor.take()
    return clause


def _range(cursor: Cursor, clause: Clause) -> None:
    clause.range = _amount(cursor, "RANGE")


def _landmark(cursor: Cursor, clause: Clause) -> None:
    """LANDMARK is a word by itself."""


def _slide(cursor: Cursor, clause: Clause) -> None:
    clause.slide = _amount(cursor, "SLIDE")


def _wattr(cursor: Cursor, clause: Clause) -> None:
    clause.wattr = _attribute(cursor)


def _rattr(cursor: Cursor, clause: Clause) -> None:
    clause.rattr = _attribute(cursor)


def _sattr(cursor: Cursor, clause: Clause) -> None:
    # A column may be called rank as well.
    if not (cursor.at("RANK") and cursor.ahead().text == "("):
        clause.sattr = _attribute(cursor)
        return
    token = cursor.take()
    cursor.take()
    clause.sattr = Attribute(_attribute(cursor).name, token, rank=True)
    cursor.expect(")")


def _pattr(cursor: Cursor, clause: Clause) -> None:
    columns: list[Attribute] = []
    while not columns or cursor.accept(","):
        token = cursor.name("a column", WINDOW_WORDS)
        if token.name.lower() in (column.name.lower() for column in columns):
            raise cursor.error(f"PATTR must name each column once; got {token}", token)
        columns.append(Attribute(token.name, token))
    clause.pattr = tuple(columns)


_PARTS: dict[str, Callable[[Cursor, Clause], None]] = dict(
    zip(WINDOW_WORDS, (_range, _landmark, _slide, _wattr, _rattr, _sattr, _pattr), strict=True)
)


def _attribute(cursor: Cursor) -> Attribute:
    """A column or row-num, the one name that may have a hyphen and no quotes."""
    row, hyphen, num = cursor.token, cursor.ahead(1), cursor.ahead(2)
    if (row.text + hyphen.text + num.text).lower() == ROW_NUM and num.end - row.at == len(ROW_NUM):
        for _ in range(3):
            cursor.take()
        return Attribute(ROW_NUM, row)
    token = cursor.name("a column or row-num", WINDOW_WORDS)
    # In quotes, row_num is a column of the stream; row-num never is.
    spellings = (ROW_NUM, "row_num") if token.kind == "word" else (ROW_NUM,)
    return Attribute(ROW_NUM if token.name.lower() in spellings else token.name, token)


def _amount(cursor: Cursor, part: str) -> Amount:
    first = cursor.token
    number = _number(cursor)
    unit, scale = _unit(cursor, optional=True)
    total = number * scale
    # '2 min 30 s' is one length, as everywhere in the library.
    while unit == "time" and cursor.token.kind == "number":
        number = _number(cursor)
        total += number * _unit(cursor, optional=False)[1]
    if total.denominator != 1:
        what = {"time": "microseconds", "rows": "rows", "value": "steps"}[unit]
        raise cursor.error(f"{part} must be a whole number of {what}; got {first}", first)
    if not 0 < total <= _LARGEST:
        rule = "must fit in 64 bits" if total else "must be greater than 0"
        raise cursor.error(f"{part} {rule}; got {first}", first)
    return Amount(int(total), unit, first)


def _number(cursor: Cursor) -> Fraction:
    token = cursor.token
    # An exponent or a very long number would take Python long to work out.
    if token.kind != "number" or "e" in token.text.lower() or len(token.text) > _MOST_DIGITS:
        raise cursor.expected("a number, such as 60 or 6.4")
    return Fraction(cursor.take().text)


def _unit(cursor: Cursor, *, optional: bool) -> tuple[Unit, int]:
    token = cursor.token
    known = [*UNITS, *_ALSO]
    if optional and (cursor.at("]") or token.text.upper() in WINDOW_WORDS):
        return "value", 1
    word = token.text.lower()
    if token.kind == "word" and optional and word in ("row", "rows"):
        cursor.take()
        return "rows", 1
    scale = _microseconds(word) if token.kind == "word" else None
    if scale is None:
        hint = "its length is not fixed: give days" if word in _NO_FIXED_LENGTH else ""
        hint = "'m' may be minutes or months: write 'min'" if word == "m" else hint
        maybe = () if hint else (*known, *WINDOW_WORDS)
        raise cursor.expected(f"a unit, one of {', '.join(UNITS)}", maybe, hint)
    cursor.take()
    return "time", scale


def _microseconds(word: str) -> int | None:
    """The length of a unit of time; every spelling that durations have is known."""
    if not word.isalpha():
        return None
    try:
        return parse_duration(f"1 {word}")
    except SpecificationError:
        return None
