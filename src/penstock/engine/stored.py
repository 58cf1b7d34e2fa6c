"""The streams of a query as tables: the same operators over rows that are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import reduce

from py4j.protocol import Py4JError
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from penstock.drops.gaps import Span, stretches
from penstock.engine.results import rows_of
from penstock.engine.step import quoted
from penstock.errors import SchemaError, UsageError, complaint
from penstock.network.operators import Handle, Operator, Source, Union
from penstock.sources.kafka import AHEAD, Kafka
from penstock.sources.paced import SCHEDULED
from penstock.sources.source import Source as Origin
from penstock.sources.source import Stored

_MOST = 64
"""Stretches of time in the condition on rows."""


@dataclass
class Tables:
    """The rows of streams, from where they are stored.

    Args:
        given: stream → its rows as a table, where the user has them elsewhere.
        whole: whether Kafka is read from its first record on.
    """

    given: Mapping[str, DataFrame] = field(default_factory=dict)
    whole: bool = False
    _leads: list[tuple[Source, Observation]] = field(default_factory=list)

    def rows(self, source: Source, spans: Sequence[Span]) -> DataFrame:
        """The rows of a stream in stretches of event time.

        Args:
            source: the stream.
            spans: from a time to before another, in microseconds.
        """
        known = rows_of(source)
        least = stretches(spans, _MOST)
        found = self._found(source, least, known.sparkSession)
        lacking = [name for name in known.columns if name not in found.columns]
        if lacking or found.isStreaming:
            got = f"one without {', '.join(lacking)}" if lacking else "a stream"
            rule = "must be a table with all columns of the stream"
            raise SchemaError(complaint(f"stored {source.name}", rule, got))
        time = F.col(quoted(source.event_time or ""))
        return found.select(*map(quoted, known.columns)).where(_within(time, least))

    def _found(self, source: Source, spans: Sequence[Span], spark: SparkSession) -> DataFrame:
        if source.name in self.given:
            return self.given[source.name]
        origin = origin_of(source)
        if not rows_of(source).isStreaming:
            return rows_of(source)
        if not isinstance(origin, Stored) or source.event_time == SCHEDULED:
            got = origin.describe() if isinstance(origin, Origin) else "a streaming DataFrame"
            if isinstance(origin, Stored):
                got = f"event times of the run itself, {SCHEDULED}"
            rule = "must be stored, to be read again"
            hint = f"give its rows as a table: stored={{{source.name!r}: df}}"
            raise UsageError(complaint(f"stream {source.name}", rule, got, hint))
        if not isinstance(origin, Kafka):
            return origin.stored(spans[0][0], spans[-1][1]).dataframe(spark)
        if self.whole:
            return origin.whole().dataframe(spark)
        records = origin.stored(spans[0][0], spans[-1][1]).dataframe(spark)
        lead = Observation()
        time = F.unix_micros(F.col(quoted(source.event_time or "")))
        ahead = F.max(time - F.unix_micros("kafka_timestamp")).alias("ahead")
        self._leads.append((source, lead))
        return records.observe(lead, ahead)

    def missed(self) -> list[str]:
        """Streams of which records may have been left out, once the rows have been read.

        Kafka is asked for records by the time at which it got them. Where events turn out to be
        ahead of that, or there are no records at all, older ones may belong to the windows too.
        """
        found = []
        for source, lead in self._leads:
            ahead = None
            with suppress(Py4JError):  # Spark has nothing to tell where it has read nothing
                ahead = lead.get.get("ahead")
            if ahead is None or ahead > AHEAD:
                found.append(source.name)
        return found


def origin_of(source: Source) -> object:
    """Where the rows of a stream come from, if it was given as a source; None if not."""
    return None if source.origin is None else source.origin.of


def over(operator: Operator, tables: Mapping[Source, DataFrame]) -> Operator:
    """The same operator, whose streams are tables.

    Args:
        operator: any.
        tables: the rows of each stream that it stands on.
    """
    match operator:
        case Source():
            return replace(operator, rows=Handle(tables[operator]))
        case Union(inputs=several):
            return Union(tuple(over(one, tables) for one in several))
    return replace(operator, input=over(operator.input, tables))


def _within(time: Column, spans: Sequence[Span]) -> Column:
    inside = (
        (time >= F.timestamp_micros(F.lit(a))) & (time < F.timestamp_micros(F.lit(b)))
        for a, b in spans
    )
    return reduce(Column.__or__, inside)
