"""How a network is run, and where its answers go, in the words of a TOML file.

[run]                                       [query.web]
latency = "3 seconds"                       sink = { format = "kafka", servers = …, topic = … }
mode = "monitor"                            confidence = 0.95
trigger = "2 seconds"
sink = { format = "parquet", path = "answers" }
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from penstock.network.settings import MODES, WINNERS, Mode, RunSettings, Winner
from penstock.network.tables import Table

AVAILABLE_NOW = "available now"
"""The trigger of a run that ends when it has read what there is."""

SINKS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "parquet": (("path",), ("partition_by",)),
    "kafka": (("servers", "topic"), ("key", "value", "options")),
    "console": ((), ("rows", "width")),
    "memory": ((), ("name",)),
}
"""Format of a sink → the keys that it needs, and those that it may have."""

_CONFIDENCE = 0.5, 1.0


def run_of(top: Table) -> RunSettings:
    """What the table [run] says; `latency` may stand above all tables as well.

    Args:
        top: the whole file.
    """
    table = top.table("run")
    table.known(
        *("latency", "mode", "checkpoint", "trigger", "for", "sink", "spark"),
        *("max_error", "max_loss", "wins"),
    )
    if "latency" in table.values and "latency" in top.values:
        raise table.refused("latency", "must be given once, and it stands above all tables too")
    return RunSettings(
        latency_of(table) or latency_of(top),
        cast("Mode", table.choice("mode", *MODES) or "on"),
        table.text("checkpoint"),
        trigger_of(table),
        lasting(table, "for"),
        sink_of(table),
        spark_of(table),
        table.number("max_error"),
        _share(table, "max_loss"),
        cast("Winner", table.choice("wins", *WINNERS) or "latency"),
    )


def latency_of(table: Table) -> int | None:
    """How long after the arrival of its rows an answer is due, in microseconds."""
    return lasting(table, "latency")


def lasting(table: Table, key: str) -> int | None:
    """A length of time that is not nothing, in microseconds."""
    found = table.duration(key)
    if found == 0:
        raise table.refused(key, "must be greater than 0")
    return found


def _share(table: Table, key: str) -> float | None:
    found = table.number(key)
    if found is not None and found > 1:
        raise table.refused(key, "must be a share from 0 to 1", "such as 0.2")
    return found


def trigger_of(table: Table) -> int | None:
    """From one batch to the next, in microseconds; 0 for one that ends with what there is."""
    value = table.text("trigger")
    if value is None:
        return None
    if value == AVAILABLE_NOW:
        return 0
    if not value[:1].isdigit():
        rule = f"must be a duration, such as '2 seconds', or '{AVAILABLE_NOW}'"
        raise table.refused("trigger", rule)
    return lasting(table, "trigger")


def sink_of(table: Table) -> Mapping[str, Any]:
    """Where answers go; empty if nowhere is said.

    >>> sink_of(Table("a.toml", ("run",), {"sink": {"format": "parquet"}}))
    Traceback (most recent call last):
    penstock.network.tables.ConfigError: a.toml: [run.sink] path must be given, got None; ...
    """
    if "sink" not in table.values:
        return {}
    inner = table.table("sink")
    form = inner.choice("format", *SINKS)
    if form is None:
        hint = "such as sink = { format = 'parquet', path = 'answers' }"
        raise inner.refused("format", "must be given", hint)
    needed, more = SINKS[form]
    inner.known("format", *needed, *more)
    for key in needed:
        inner.needed(key, f"a sink of format '{form}' needs {' and '.join(needed)}")
    for key in ("key", "value", "name"):
        inner.text(key)
    inner.number("rows", whole=True)
    width = inner.values.get("width", 0)
    if not isinstance(width, int) or isinstance(width, bool) or width < 0:
        raise inner.refused("width", "must be a whole number of at least 0")
    inner.names("partition_by")
    inner.table("options")
    return inner.values


def spark_of(table: Table) -> Mapping[str, str]:
    """Settings of Spark's session; `${NAME}` in them is a variable of the environment."""
    inner = table.table("spark")
    found = {}
    for key, value in inner.values.items():
        if not key.startswith("spark.") or isinstance(value, dict | list):
            hint = 'such as "spark.sql.shuffle.partitions" = 8, with the quotes'
            raise inner.refused(key, "must be a setting of Spark's", hint)
        found[key] = str(value).lower() if isinstance(value, bool) else str(value)
    return found


def confidence_of(table: Table, answers: str) -> float | None:
    """How often the exact answer is within the bounds; None if it is not said."""
    found = table.number("confidence")
    if found is None:
        return None
    if answers != "approximate":
        raise table.refused("confidence", "must be left out where answers are not 'approximate'")
    least, most = _CONFIDENCE
    if not least <= found < most:
        raise table.refused("confidence", "must be from 0.5 to below 1", "such as 0.99")
    return found
