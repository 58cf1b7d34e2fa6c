"""Key of a TOML file → a value that is right for it, for the hint of a message."""

from __future__ import annotations

RIGHT = {
    "latency": '"3 seconds"',
    "answers": '"approximate"',
    "source": '"kafka"',
    "options": '{ path = "in" }',
    "event_time": '"ts"',
    "slack": '"2 seconds"',
    "late": '"generous"',
    "order": '"number"',
    "identity": '"number"',
    "punctuation": '{ where = "kind = \'mark\'", up_to = "ts" }',
    "where": "\"kind = 'mark'\"",
    "up_to": '"ts"',
    "by": '"sensor"',
    "ordered_by": '"sensor"',
    "row_slack": "100",
    "heartbeat": '{ delay = "30 seconds" }',
    "delay": '"30 seconds"',
    "every": '"1 second"',
    "path": '"in"',
    "format": '"parquet"',
    "schema": '"ts timestamp, size bigint"',
    "servers": '"db:9092"',
    "topics": '"packets"',
    "pattern": '"packets-.*"',
    "starting": '"latest"',
    "ending": '"latest"',
    "most": "100_000",
    "malformed": '"malformed"',
    "trace": '"trace.csv"',
    "rows": "1000",
    "speed": "1.0",
    "partitions": "2",
    "cql": '"SELECT * FROM packets"',
    "weight": "2",
    "priority": "1",
    "max_gap": "5",
    "per": '"group"',
    "floor": "20",
    "sink": '{ format = "parquet", path = "answers" }',
    "rate": "50_000",
    "cost": "1e-6",
    "selectivity": "0.8",
    "rows_per_window": "20_000",
    "mean": "500",
    "deviation": "600",
    "mode": '"monitor"',
    "checkpoint": '"checkpoint"',
    "trigger": '"1 second"',
    "for": '"10 minutes"',
    "confidence": "0.99",
    "max_error": "0.1",
    "max_loss": "0.5",
    "wins": '"latency"',
}


def such_as(key: str) -> str:
    """The hint with a right value; empty if none is known.

    >>> such_as("max_gap"), such_as("anything")
    ('such as max_gap = 5', '')
    """
    return f"such as {key} = {RIGHT[key]}" if key in RIGHT else ""


def with_hint(message: str, key: str) -> str:
    """A message that ends with a hint: its own, or else a value that is right.

    >>> with_hint("most must be at least 1, got 0", "most")
    'most must be at least 1, got 0; such as most = 100_000'
    """
    hint = such_as(key)
    return message if ";" in message or not hint else f"{message}; {hint}"
