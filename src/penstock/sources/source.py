"""What all sources have in common."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from pyspark.sql import DataFrame, SparkSession


@runtime_checkable
class Source(Protocol):
    """Where rows come from."""

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns that tell two rows apart, also after a restart; none if there are none."""
        ...

    def dataframe(self, spark: SparkSession) -> DataFrame:
        """The rows as a DataFrame, a stream unless the source was asked for a batch."""
        ...

    def describe(self) -> str:
        """One line for a report or a picture; no secret is in it."""
        ...


@runtime_checkable
class Queue(Protocol):
    """A source whose offsets tell how many of its rows wait."""

    def behind(self, read: Any, newest: Any) -> float:  # noqa: ANN401 - whatever its JSON is
        """The rows from one offset to another; a fraction where they are expected, not counted.

        Args:
            read: where a batch has ended, as Spark reports it: what its JSON holds.
            newest: how far the source could be read then.
        """
        ...


@runtime_checkable
class InParts(Protocol):
    """A source whose DataFrame is a union of several, each with offsets of its own."""

    @property
    def parts(self) -> int:
        """How many."""
        ...


@runtime_checkable
class InBlocks(Protocol):
    """A source each of whose records is as many rows; Spark counts records."""

    @property
    def block(self) -> int:
        """Rows of a record."""
        ...


@runtime_checkable
class Stored(Protocol):
    """A source whose rows can be read again, long after a stream has read them."""

    def stored(self, since: int, until: int) -> Source:
        """The same source as a table, with all rows of a stretch of event time, and maybe others.

        Args:
            since: from this time, in microseconds since the epoch.
            until: to before this time.
        """
        ...
