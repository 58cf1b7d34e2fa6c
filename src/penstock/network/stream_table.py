"""How far a stream is, and what its rows stand for, in the words of a TOML file."""

from __future__ import annotations

from collections.abc import Callable

from penstock.errors import PenstockError
from penstock.network.progress import Progress, heartbeat, ordered_by, punctuation, row_slack
from penstock.network.right_values import with_hint
from penstock.network.tables import ConfigError, Table
from penstock.windows import parse_duration


def slack_of(table: Table) -> int | str:
    """How late rows may come: a duration as it is written, or a plain number."""
    value = table.values.get("slack", 0)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if not isinstance(value, str):
        raise table.refused("slack", "must be a duration, such as '2 seconds', or a plain number")
    table.duration("slack")
    return value


def micros(slack: int | str) -> int:
    """The slack in microseconds, or in steps of a whole number.

    >>> micros("2 s"), micros(5)
    (2000000, 5)
    """
    return slack if isinstance(slack, int) else parse_duration(slack, "slack")


def weight_of(table: Table) -> str | None:
    """The column that says how many rows a row stands for."""
    value = table.values.get("weight")
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise table.refused("weight", "must be the name of a column", 'such as weight = "w"')
    return value


def progress_of(table: Table) -> Progress | None:
    """What is given in place of a slack; at most one of the ways."""
    given = [key for key in WAYS if key in table.values]
    if not given:
        return None
    if len(given) > 1 or table.values.get("slack"):
        hint = f"{', '.join([*given, 'slack'][: max(2, len(given))])} are given"
        raise table.refused(given[-1], "must be alone: one thing says how far a stream is", hint)
    try:
        return WAYS[given[0]](table)
    except ConfigError:
        raise
    except PenstockError as error:
        message = f"{table.place} {given[0]}: {error}"
        raise ConfigError(with_hint(message, given[0])) from error


def _punctuation(table: Table) -> Progress:
    inner = table.table("punctuation")
    inner.known("where", "up_to", "by")
    return punctuation(inner.needed("where"), inner.needed("up_to"), inner.names("by"))


def _ordered_by(table: Table) -> Progress:
    return ordered_by(*table.names("ordered_by"))


def _row_slack(table: Table) -> Progress:
    return row_slack(table.values["row_slack"])


def _heartbeat(table: Table) -> Progress:
    inner = table.table("heartbeat")
    inner.known("delay", "every")
    return heartbeat(inner.needed("delay"), inner.text("every") or "1 second")


WAYS: dict[str, Callable[[Table], Progress]] = {
    "punctuation": _punctuation,
    "ordered_by": _ordered_by,
    "row_slack": _row_slack,
    "heartbeat": _heartbeat,
}
"""Key → how it is read."""
