"""The rows of a stream: are there any, and is the event time what it is said to be?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.cli.doctor.check import Check, ok, warn, wrong
from penstock.engine.failures import cause
from penstock.engine.from_toml import source_of
from penstock.engine.schema import check_rows
from penstock.errors import PenstockError
from penstock.network.settings import StreamSettings
from penstock.network.stream_table import micros
from penstock.sources.sample import recent
from penstock.windows import format_duration

LOOKED_AT = 20_000
"""Rows, at the most."""
HALF = 0.5
_ARRIVAL = (("kafka_timestamp", "kafka_offset"), ("file_path", "file_row"))
"""Columns by which rows are put in the order in which they come."""


def stream_checks(
    one: StreamSettings, spark: SparkSession, environ: Mapping[str, str], now: datetime
) -> Iterator[Check]:
    """What is to be said of a stream.

    Args:
        one: its settings.
        spark: the session.
        environ: the variables that `${NAME}` stands for.
        now: the time.
    """
    name = f"stream {one.name}"
    try:
        source = source_of(one, environ)
        rows = source if isinstance(source, DataFrame) else recent(source, spark)
        if rows is None:
            yield ok(name, f"{one.source} makes rows by itself")
            return
        check_rows(rows, one.event_time)
        times = _times(rows, one.event_time)
    except PenstockError as error:
        yield wrong(name, str(error))
        return
    except PySparkException as error:
        hide = getattr(source, "hide", str)
        yield wrong(name, f"cannot be read: {hide(cause(str(error)))}")
        return
    if not times:
        yield warn(name, "has no rows yet", "it is looked at again when there are some")
        return
    yield ok(name, f"{one.source}, {_many(len(times))}, {len(rows.columns)} columns")
    if one.event_time is not None:
        kind = dict(rows.dtypes)
        timed = kind.get(one.event_time, "timestamp") == "timestamp"
        yield time_check(one, times, int(now.timestamp() * 1e6) if timed else None)
    if not one.identity and not getattr(source, "identity", ()):
        mend = f'name columns that do, such as identity = "id", in [stream.{one.name}]'
        yield warn(f"{name} rows", "nothing tells two equal rows apart in a sample", mend)


def time_check(one: StreamSettings, times: Sequence[int | None], now: int | None) -> Check:
    """What is to be said of the event time.

    Args:
        one: the settings of the stream.
        times: in the order in which they came; microseconds since 1970, or plain numbers.
        now: the time in microseconds since 1970; None where times are plain numbers.
    """
    name = f"stream {one.name} time"
    known = [time for time in times if time is not None]
    nulls = 1 - len(known) / len(times)
    missing = f"{one.event_time} is null in {nulls:.0%} of {_many(len(times))}"
    if nulls > HALF:
        return wrong(name, missing, "such rows are in no window: is it the right column?")
    slack = micros(one.slack)
    if now is not None and max(known) > now + slack:
        ahead = datetime.fromtimestamp(max(known) / 1e6, UTC)
        says = f"{one.event_time} is in the future: {ahead:%Y-%m-%d %H:%M:%S} UTC"
        return wrong(name, says, "all later rows would be late: mend the clock or the unit")
    behind = max(top - time for top, time in zip(accumulate(known, max), known, strict=True))
    late = f"rows come up to {_length(behind, now)} out of order"
    if one.progress is None and behind > slack:
        mend = f"slack is {_length(slack, now)}: later rows count in no closed window; raise it"
        return warn(name, late, mend)
    if nulls:
        return warn(name, missing, "such rows are counted, and are in no window")
    allowed = str(one.progress) if one.progress is not None else f"slack is {_length(slack, now)}"
    return ok(name, f"{one.event_time}: {late}, {allowed}")


def _times(rows: DataFrame, event_time: str | None) -> list[int | None]:
    """The event times in the order in which they came; as many None where there is none."""
    order = next((c for c in _ARRIVAL if set(c) <= set(rows.columns)), ())
    if event_time is None:
        time = F.lit(None).cast("bigint")
    else:
        time = F.col(f"`{event_time}`")
        if dict(rows.select(time.alias("t")).dtypes)["t"] == "timestamp":
            time = F.unix_micros(time)
    some = rows.limit(LOOKED_AT).select(time.alias("penstock_time"), *order)
    found: list[Any] = some.orderBy(*order).collect() if order else some.collect()
    return [row[0] for row in found]


def _length(amount: int, now: int | None) -> str:
    return format_duration(amount) if now is not None else str(amount)


def _many(rows: int) -> str:
    return f"{rows} rows" if rows < LOOKED_AT else f"{rows} rows or more"
