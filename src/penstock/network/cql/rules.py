"""What the parts of a statement may not be together; each is refused at its place."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.network.cql.clause import Attribute
from penstock.network.cql.errors import CqlError, shown
from penstock.network.cql.names import written
from penstock.network.cql.statement import Computed, Item, PlainColumn
from penstock.network.cql.tokens import Token


def check(
    text: str,
    items: Sequence[Item],
    places: Sequence[Token],
    groups: Sequence[Token] | None,
    pattr: Sequence[Attribute],
    *,
    window_columns: Sequence[str],
) -> None:
    """Raises at the first thing that does not fit.

    Args:
        text: the whole text.
        items: the SELECT list.
        places: where each item begins.
        groups: the columns of GROUP BY; None if there is no such clause.
        pattr: the columns of PATTR.
        window_columns: the columns that every result begins with.
    """
    _groups_once(text, groups or (), window_columns)
    _names_once(text, items, places, window_columns)
    if groups is not None:
        grouped = [*(token.name for token in groups), *(column.name for column in pattr)]
        _selected_are_grouped(text, items, places, grouped)
    if not any(isinstance(item, Computed) for item in items):
        raise CqlError("SELECT needs an aggregate, such as count(*)", text, places[0].at)


def _groups_once(text: str, groups: Sequence[Token], window_columns: Sequence[str]) -> None:
    taken: set[str] = set()
    for token in groups:
        if token.name.lower() in window_columns:
            message = f"GROUP BY must not have {shown(token.name)}: every result is by window"
            raise CqlError(message, text, token.at)
        if token.name.lower() in taken:
            message = f"GROUP BY must name each column once; got {shown(token.name)} again"
            raise CqlError(message, text, token.at)
        taken.add(token.name.lower())


def _names_once(
    text: str, items: Sequence[Item], places: Sequence[Token], window_columns: Sequence[str]
) -> None:
    # Spark takes `s` and `S` for one column.
    taken: set[str] = set()
    for item, place in zip(items, places, strict=True):
        name = item.name.lower()
        if name in window_columns:
            message = f"every result begins with {' and '.join(window_columns)} by itself"
            raise CqlError(f"{message}; got {shown(item.name)} too", text, place.at)
        if name in taken:
            message = f"each result needs a name of its own; got {shown(item.name)} again"
            raise CqlError(f"{message}; give one with AS", text, place.at)
        taken.add(name)


def _selected_are_grouped(
    text: str, items: Sequence[Item], places: Sequence[Token], grouped: Sequence[str]
) -> None:
    known = {name.lower() for name in grouped}
    for item, place in zip(items, places, strict=True):
        if isinstance(item, PlainColumn) and item.column.lower() not in known:
            message = f"{written(item.column)} must be in GROUP BY or in an aggregate"
            raise CqlError(f"{message}, as it is selected", text, place.at)
