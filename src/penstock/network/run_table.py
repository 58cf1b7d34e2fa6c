"""What a TOML file says of a run: the table [run].

latency = "3 seconds"       how long after the end of its window an answer is due
mode = "monitor"            "on" drops, "monitor" only counts what it would drop, "off" does neither
checkpoint = "checkpoint"   a folder, on any file system
trigger = "1 second"        from one batch to the next; or "available now"
sink = { format = "parquet", path = "answers" }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import did_you_mean
from penstock.network.tables import Table

MODES = ("on", "monitor", "off")
AVAILABLE_NOW = "available now"
SINKS = {
    "parquet": ("path",),
    "kafka": ("servers", "topic"),
    "console": (),
    "memory": ("name",),
}
"""Format of a sink → the keys that it needs."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How a network is run.

    Args:
        latency: how long after the end of its window an answer is due, in microseconds.
        mode: "on", "monitor" or "off".
        checkpoint: the checkpointLocation; `${NAME}` in it is a variable of the environment.
        trigger: a duration from one batch to the next, or "available now"; None for at once.
        sink: where the answers go that have no sink of their own.
    """

    latency: int | None = None
    mode: str = "on"
    checkpoint: str | None = None
    trigger: str | None = None
    sink: Mapping[str, Any] = field(default_factory=dict)


def run_of(top: Table) -> RunSettings:
    """The table [run]; the latency may also stand at the top of the file.

    Args:
        top: the whole file.
    """
    table = top.table("run")
    table.known("latency", "mode", "checkpoint", "trigger", "sink")
    both = [one for one in (top, table) if "latency" in one.values]
    if len(both) > 1:
        raise table.refused("latency", "must be given once, and stands at the top of the file too")
    latency = both[0].duration("latency") if both else None
    if latency == 0:
        raise both[0].refused("latency", "must be greater than 0")
    return RunSettings(
        latency,
        table.choice("mode", *MODES) or "on",
        table.text("checkpoint"),
        _trigger(table),
        sink_of(table),
    )


def sink_of(table: Table) -> Mapping[str, Any]:
    """Where answers go; empty if it is not said.

    Args:
        table: of a run, or of a query.
    """
    if "sink" not in table.values:
        return {}
    sink = table.table("sink")
    kind = sink.choice("format", *SINKS)
    if kind is None:
        raise sink.refused("format", "must be given", f"known: {', '.join(SINKS)}")
    for key in SINKS[kind]:
        sink.needed(key, f'such as {key} = "{"db:9092" if key == "servers" else "answers"}"')
    return sink.values


def _trigger(table: Table) -> str | None:
    text = table.text("trigger")
    if text is not None and text != AVAILABLE_NOW:
        hint = did_you_mean(text, [AVAILABLE_NOW])
        if hint.startswith("did"):
            raise table.refused("trigger", f"must be a duration or {AVAILABLE_NOW!r}", hint)
        table.duration("trigger")
    return text
