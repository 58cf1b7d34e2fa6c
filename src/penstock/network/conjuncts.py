"""A predicate is split at the ANDs that stand between its conditions, and nowhere else."""

from __future__ import annotations

from functools import lru_cache

from penstock.network.cql.errors import CqlError
from penstock.network.cql.tokens import Token, tokenize

_OPEN, _CLOSE = "([", ")]"


@lru_cache(maxsize=4096)  # operators are told apart by it, again and again
def words(expression: str) -> tuple[str, ...]:
    """What an expression says, without the spaces and comments between its words.

    >>> words("size/1024  -- in KiB")
    ('size', '/', '1024')
    """
    try:
        return tuple(token.text for token in tokenize(expression) if token.kind != "end")
    except CqlError:
        return (expression,)  # Spark will say what is wrong with it


def conjuncts(predicate: str) -> list[str]:
    """The conditions that all have to hold; the predicate itself if it cannot be split safely.

    >>> conjuncts("port = 80 AND (a OR b) AND x BETWEEN 1 AND 2")
    ['port = 80', '(a OR b)', 'x BETWEEN 1 AND 2']
    >>> conjuncts("a AND b OR c")
    ['a AND b OR c']
    """
    whole = [predicate.strip()]
    try:
        tokens = [token for token in tokenize(predicate) if token.kind != "end"]
    except CqlError:
        return whole
    parts: list[list[Token]] = [[]]
    nested, between = 0, 0
    for token in tokens:
        word = token.text.upper() if token.kind == "word" else ""
        nested += (token.text in _OPEN) - (token.text in _CLOSE)
        nested += (word == "CASE") - (word == "END")
        between += word == "BETWEEN"
        if nested < 0 or (nested == 0 and word == "OR"):
            return whole  # OR binds less than AND: the whole is one condition
        if word == "AND" and between:
            between -= 1
        elif word == "AND" and nested == 0:
            parts.append([])
            continue
        parts[-1].append(token)
    if nested or not all(parts):
        return whole
    return [predicate[part[0].at : part[-1].end] for part in parts]
