"""The text of a first TOML file for a source: its columns, its event time, one query."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.network.cql.names import written
from penstock.network.event_times import PER_SECOND, Column

FILL_IN = "FILL_IN"
"""What stands for the event time where none was found."""

_QUERY = "per_minute"
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Start:
    """What was found at a source.

    Args:
        asked: the source as the user named it, without secrets.
        name: of the stream.
        source: its kind, "kafka" or "files".
        options: of the source, as they are written; no secret is in them.
        columns: with the types that the file gives them.
        times: the columns that may be the event time, the likeliest first.
        rows: how many were looked at.
        apart: whether the source knows what tells its rows apart.
        spark: settings of the session.
    """

    asked: str
    name: str
    source: str
    options: Mapping[str, object]
    columns: Sequence[Column]
    times: Sequence[Column]
    rows: int
    apart: bool = True
    spark: Mapping[str, str] = field(default_factory=dict)


def stream_name(text: str) -> str:
    """A name for a stream that CQL takes without quotes.

    >>> stream_name("web-logs.v2"), stream_name("2026"), stream_name("from")
    ('web_logs_v2', 'rows_2026', 'rows_from')
    """
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "rows"
    plain = written(name) == name and name != _QUERY
    return name if plain else f"rows_{name}"


def starter(start: Start, file: str) -> str:
    """The text of the file.

    Args:
        start: what was found.
        file: what the commands in its comments call it.
    """
    blocks = [
        _head(start, file),
        _run(start),
        _stream(start),
        _options(start),
        _query(start),
    ]
    return "\n\n".join(blocks) + "\n"


def _head(start: Start, file: str) -> str:
    return f"""\
# Written by `penstock init {start.asked}` from {start.rows} of its rows. What to do next:
#
#     penstock doctor {file}           is everything in its place?
#     penstock explain {file}          what the queries need, and how they are computed
#     penstock plan {file} --load 3    what would be dropped at three times the capacity
#     penstock run {file}              runs it

answers = "approximate"      # where rows must go: "approximate" answers have error bounds,
                             # "subset" answers are exact and some windows are missing"""


def _run(start: Start) -> str:
    spark = "".join(f"\n{_key(k)} = {_text(v)}" for k, v in start.spark.items())
    more = f"\n\n[run.spark]                  # settings of Spark's session{spark}" if spark else ""
    return f"""\
[run]
latency = "5 seconds"        # how late answers may be: the one number that shedding needs
mode = "monitor"             # decides and reports, but drops nothing; "on" drops
checkpoint = "checkpoints/{start.name}"
sink = {{ format = "console" }} # or {{ format = "parquet", path = "answers" }}{more}"""


def _stream(start: Start) -> str:
    lines = [f"[stream.{start.name}]", f'source = "{start.source}"']
    if start.times:
        time, *others = start.times
        unit = f", {time.looks} since 1970" if time.looks in PER_SECOND else ""
        also = f"; it may also be {', '.join(c.name for c in others)}" if others else ""
        slack = _amount(time, 10)
        lines += [
            f"event_time = {_text(time.name)}  # of type {time.type}{unit}{also}",
            f"slack = {slack}  # how late a row may come; `penstock doctor` tells how late they do",
        ]
    else:
        texts = [column for column in start.columns if column.looks == "text"]
        lines += [
            "# No column looks like a time. Put the name of the one that is in the place of",
            f"# {FILL_IN}, here and in the query: a timestamp, or a whole number that grows.",
            *(f"# {c.name} has times as text: windows need a timestamp." for c in texts),
            f'event_time = "{FILL_IN}"',
            'slack = "10 seconds"',
        ]
    if not start.apart:
        lines += [
            "# Nothing tells two equal rows apart. Name columns that do, for samples to be fair:",
            '# identity = "id"',
        ]
    return "\n".join(lines)


def _options(start: Start) -> str:
    wide = max((len(column.name) for column in start.columns), default=0)
    lines = [f"[stream.{start.name}.options]"]
    lines += [f"{_key(key)} = {_value(value)}" for key, value in start.options.items()]
    lines += ["#", "# The columns, and those of the source's own:"]
    lines += [f"#     {column.name:<{wide}}  {column.type}" for column in start.columns]
    return "\n".join(lines)


def _query(start: Start) -> str:
    time = start.times[0] if start.times else Column(FILL_IN, "timestamp", "timestamp")
    minute = "1 minute" if time.looks not in PER_SECOND else _amount(time, 60)
    # It is CQL, and no database reads it.
    return f'''\
[query.{_QUERY}]
cql = """
SELECT count(*) AS rows
FROM {written(start.name)} [RANGE {minute} SLIDE {minute} WATTR {written(time.name)}]"""'''  # noqa: S608


def _amount(time: Column, seconds: int) -> str:
    if time.looks in PER_SECOND:
        return str(seconds * PER_SECOND[time.looks])
    return f'"{seconds} seconds"'


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(value: str) -> str:
    """A text as TOML writes it, which is as JSON does but for two characters."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
