"""A recorded trace, played at its own pace or at another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import SpecificationError, UsageError, complaint, did_you_mean
from penstock.sources import checks
from penstock.sources.arrivals import ROW, in_order
from penstock.sources.options import without_login
from penstock.sources.pace import Clock, wall_clock
from penstock.sources.paced import SCHEDULED, Playing
from penstock.sources.trace import Format, Rows, Trace, format_of
from penstock.windows.durations import Instant, parse_instant

BEGIN: dict[str, Instant] = {
    "numbers": datetime(2000, 1, 1, tzinfo=UTC),
    "log": datetime(1995, 8, 1, tzinfo=UTC),
}
"""When times begin that count from a start: the month of EPA-HTTP, or a day like any other."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A trace that is played.

    Args:
        trace: the rows.
        speed: how many times its own pace; None for all at once.
        most: rows that a batch takes at most; None for all that are due.
        partitions: tasks that read a batch.
        batch: whether all of it is read once, as a table.
        clock: the time in microseconds since the epoch.
    """

    trace: Trace | Rows
    speed: float | None
    most: int | None
    partitions: int
    batch: bool
    clock: Clock

    @property
    def identity(self) -> tuple[str, ...]:
        """The number of the row in the trace."""
        return (ROW,)

    def dataframe(self, spark: SparkSession) -> DataFrame:
        """The rows of the trace, with `trace_row` and `scheduled`."""
        try:
            rows = self.trace.rows()
        except (OSError, pa.ArrowException) as error:
            words = without_login(str(error))
            raise UsageError(complaint(self.describe(), "must be readable", words)) from error
        checks.no_clash("trace", rows.column_names, (SCHEDULED,))
        schema = spark.createDataFrame(rows.slice(0, 0)).schema
        playing = Playing(self.trace, self.speed, self.most, self.partitions, self.clock)
        return playing.load(spark, schema, batch=self.batch)

    def stored(self, since: int, until: int) -> Replay:
        """All of the trace."""
        del since, until
        return replace(self, batch=True)

    def behind(self, read: Mapping[str, Any], newest: Mapping[str, Any]) -> float:
        """The rows that are due, but not read; a step is a row."""
        return float(max(0, newest["step"] - read["step"]))

    def describe(self) -> str:
        """One line for a report."""
        what = "rows in memory" if isinstance(self.trace, Rows) else without_login(self.trace.path)
        pace = "all at once" if self.speed is None else f"at {self.speed:g} times its pace"
        return f"replay of {what}, {'as a table' if self.batch else pace}"


def replay(
    trace: str | Path | pa.Table | DataFrame | Sequence[Mapping[str, Any]],
    *,
    speed: float | None = 1.0,
    format: Format | None = None,  # noqa: A002 - as in Spark's readers
    event_time: str = "ts",
    arrival: str | None = None,
    begin: Instant | None = None,
    most: int | None = None,
    partitions: int = 2,
    batch: bool = False,
    clock: Clock = wall_clock,
) -> Replay:
    """A recorded trace, played as if it happened now; a restart goes on where it was.

    A row that arrived t seconds after the first comes t / speed after the start of the stream, and
    its column `scheduled` has that time. The times in its other columns stay as recorded.

    Args:
        trace: the path of a file, which the driver and all workers see and hold in memory; or a
            few rows, as dictionaries or a table.
        speed: how many times the trace's own pace; None for as fast as it can be read.
        format: "parquet", "csv" or "json" (an object per line); "numbers" or "log" for files of
            the Internet Traffic Archive; None to go by the name of the file.
        event_time: its column with a time: a timestamp, or seconds since the epoch.
        arrival: the column by which rows arrive, where that is another.
        begin: when times begin that count from a start: second 0 of "numbers", the first of the
            month of a "log"; since the epoch.
        most: rows that a batch takes at most.
        partitions: tasks that read a batch.
        batch: read all of it once, as a table; `scheduled` is null.
        clock: gives the time in microseconds since the epoch.
    """
    if speed is not None:
        checks.positive("speed", speed)
    if most is not None:
        checks.whole("most", most)
    checks.whole("partitions", partitions)
    checks.text("event_time", event_time)
    found: Trace | Rows
    if isinstance(trace, str | Path):
        trace = str(trace)
        kind = format or format_of(trace)
        if kind not in get_args(Format):
            hint = did_you_mean(kind, get_args(Format))
            raise SpecificationError(complaint("format", "must be one that is known", kind, hint))
        start = parse_instant(begin if begin is not None else BEGIN.get(kind, 0), "begin")
        found = Trace(trace, kind, arrival or event_time, event_time, start)
    else:
        table = _table(trace)
        found = Rows(in_order(table, event_time, arrival or event_time), arrival or event_time)
    return Replay(found, speed, most, partitions, batch, clock)


def _table(rows: object) -> pa.Table:
    if isinstance(rows, DataFrame):
        return rows.toArrow()
    if isinstance(rows, pa.Table):
        return rows
    if isinstance(rows, Sequence) and all(isinstance(row, Mapping) for row in rows):
        return pa.Table.from_pylist(list(rows))
    rule = "must be a path, a table, or a list of dictionaries"
    raise SpecificationError(complaint("trace", rule, type(rows).__name__))
