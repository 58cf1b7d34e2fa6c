"""A recording as a data source of Spark, batch or stream."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType, TimestampType

from penstock.sources.pace import Clock, Player, Position, Timeline, scheduled

SCHEDULED = "scheduled"
"""The column with the time at which a row was due: it arrived then, however late it is read."""

_TIMESTAMP = pa.timestamp("us", tz="UTC")
_number = itertools.count()


class Recording(Protocol):
    """What can be played; it is sent to the workers."""

    def timeline(self) -> Timeline:
        """Its steps in time."""
        ...

    def tables(self, start: int, end: int) -> Iterator[tuple[pa.Table, NDArray[np.int64]]]:
        """The rows of some steps, with their times in µs from the start of the recording."""
        ...


@dataclass(frozen=True, slots=True)
class Playing:
    """How a recording is played.

    Args:
        recording: what.
        speed: how many times its own pace; None for all at once.
        most: rows that a batch takes at most; None for all that are due.
        partitions: tasks that read a batch.
        clock: the time in microseconds.
    """

    recording: Recording
    speed: float | None
    most: int | None
    partitions: int
    clock: Clock

    def load(self, spark: SparkSession, schema: StructType, *, batch: bool) -> DataFrame:
        """The rows, with the column `scheduled`.

        Args:
            spark: a session.
            schema: of the recording's own rows.
            batch: read all there is, as a table.
        """
        playing = self
        whole = StructType(list(schema.fields)).add(SCHEDULED, TimestampType())
        called = f"penstock_recording_{next(_number)}"

        # Made here, so that Spark sends it to the workers with all that it refers to.
        class Source(DataSource):
            @classmethod
            def name(cls) -> str:
                return called

            def schema(self) -> StructType:
                return whole

            def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002
                return _Batch(playing)

            def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802
                return _Stream(playing)

        spark.dataSource.register(Source)
        return (spark.read if batch else spark.readStream).format(called).load()


class _Part(InputPartition):
    """Some steps, and when the recording began in µs of the clock; None if it is not played."""

    def __init__(self, start: int, end: int, began: int | None) -> None:
        super().__init__((start, end))
        self.start, self.end, self.began = start, end, began


class _Batch(DataSourceReader):
    def __init__(self, playing: Playing) -> None:
        self._playing = playing

    def partitions(self) -> list[_Part]:
        steps = self._playing.recording.timeline().steps
        if steps is None:
            raise ValueError("a recording without an end cannot be read as a table")
        return _parts(0, steps, None, self._playing.partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(self._playing, cast("_Part", partition))


class _Stream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    # The methods are called as Spark calls them.
    def __init__(self, playing: Playing) -> None:
        self._playing = playing
        self._player: Player | None = None

    def _at(self) -> Player:
        # Not in the constructor: readers also go to the workers, which need no timeline.
        if self._player is None:
            timeline = self._playing.recording.timeline()
            self._player = Player(timeline, self._playing.speed, self._playing.clock)
        return self._player

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return self._at().begin().offset()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        most = self._playing.most
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._at().only_what_is_due_now()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        return self._at().look(Position(**start), most).offset()

    def reportLatestOffset(self) -> dict[str, int] | None:  # noqa: N802
        newest = self._at().newest()
        return None if newest is None else newest.offset()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[_Part]:
        # By the end: it is in the checkpoint, so that a replayed batch has the same rows.
        return _parts(start["step"], end["step"], end["began"], self._playing.partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(self._playing, cast("_Part", partition))


def _parts(start: int, end: int, began: int | None, most: int) -> list[_Part]:
    """The steps from start to end, in equal parts."""
    count = min(most, max(0, end - start))
    cuts = [start + (end - start) * i // count for i in range(count + 1)] if count else []
    return [_Part(a, b, began) for a, b in itertools.pairwise(cuts)]


def _read(playing: Playing, part: _Part) -> Iterator[pa.RecordBatch]:
    for table, times in playing.recording.tables(part.start, part.end):
        if part.began is None:
            due = pa.nulls(len(times), _TIMESTAMP)
        else:
            wall = scheduled(times, part.began, playing.speed)
            due = pa.array(wall, pa.int64()).cast(_TIMESTAMP)
        yield from table.append_column(SCHEDULED, due).to_batches()
