"""A recorded trace: rows in the order in which they arrived."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
from numpy.typing import NDArray

from penstock.errors import SpecificationError, complaint
from penstock.sources import ita
from penstock.sources.arrivals import in_order, micros

Format = Literal["parquet", "csv", "json", "numbers", "log"]
_ENDINGS: dict[str, Format] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".tl": "numbers",
    ".txt": "numbers",
    ".log": "log",
}


@dataclass(frozen=True, slots=True)
class Steps:
    """The rows of a trace in time: each is a step.

    Args:
        times: of arrival, in µs from that of the first row, in order.
    """

    times: NDArray[np.int64]

    @property
    def steps(self) -> int:
        """How many rows there are."""
        return len(self.times)

    def due(self, elapsed: int) -> int:
        """Rows that have arrived by then."""
        return int(np.searchsorted(self.times, elapsed, side="right"))

    def within(self, start: int, end: int, rows: int) -> int:
        """A step is a row."""
        return min(end, start + max(1, rows))


@dataclass(frozen=True, slots=True)
class Trace:
    """A file with a trace.

    Every process that reads of it holds all of it.

    Args:
        path: of the file, where the driver and all workers see it.
        format: of the file.
        arrival: the column by which rows arrive.
        event_time: the column that is made a timestamp, if it is none.
        begin: for times that count from a start, in µs since the epoch.
    """

    path: str
    format: Format
    arrival: str
    event_time: str
    begin: int

    def rows(self) -> pa.Table:
        """All rows, in order, with their numbers."""
        stamp = os.stat(self.path)  # noqa: PTH116 - a file that has changed is read anew
        return _load(self, stamp.st_mtime_ns, stamp.st_size)

    def timeline(self) -> Steps:
        """When the rows arrived."""
        return Rows(self.rows(), self.arrival).timeline()

    def tables(self, start: int, end: int) -> Iterator[tuple[pa.Table, NDArray[np.int64]]]:
        """Some rows, with the times at which they arrived."""
        return Rows(self.rows(), self.arrival).tables(start, end)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A trace in memory.

    Args:
        table: all rows, in order, with their numbers.
        arrival: the column by which rows arrive.
    """

    table: pa.Table
    arrival: str

    def rows(self) -> pa.Table:
        """All rows, in order, with their numbers."""
        return self.table

    def timeline(self) -> Steps:
        """When the rows arrived."""
        arrived = micros(self.table[self.arrival])
        return Steps(arrived - arrived[:1])

    def tables(self, start: int, end: int) -> Iterator[tuple[pa.Table, NDArray[np.int64]]]:
        """Some rows, with the times at which they arrived."""
        first = micros(self.table[self.arrival].slice(0, 1))
        part = self.table.slice(start, end - start)
        yield part, micros(part[self.arrival]) - first


def format_of(path: str) -> Format:
    """The format that the name of a file speaks of.

    >>> format_of("traces/BC-pAug89.TL.gz"), format_of("flights.csv")
    ('numbers', 'csv')
    """
    name = Path(path).name.lower().removesuffix(".gz")
    known = _ENDINGS.get(Path(name).suffix)
    if known is None:
        hint = f"give format=, one of {', '.join(get_args(Format))}"
        raise SpecificationError(complaint("trace", "must tell its format by its name", path, hint))
    return known


@functools.lru_cache(maxsize=2)
def _load(trace: Trace, changed: int, size: int) -> pa.Table:
    del changed, size
    match trace.format:
        case "numbers":
            table = ita.numbers(trace.path, trace.begin)
        case "log":
            table = ita.log(trace.path, trace.begin)
        case "csv":
            table = pyarrow.csv.read_csv(trace.path)
        case "json":
            table = pyarrow.json.read_json(trace.path)
        case _:
            table = pq.read_table(trace.path)
    return in_order(table, trace.event_time, trace.arrival)
