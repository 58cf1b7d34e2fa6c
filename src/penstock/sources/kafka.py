"""Records of Kafka topics, in columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.errors import SpecificationError, UsageError, complaint
from penstock.sources import checks, said
from penstock.sources.malformed import METRIC, counted
from penstock.sources.options import Options, without_login
from penstock.sources.parse import Parse, parsed

READ_FAST = {
    "kafka.max.poll.records": 20_000,
    "kafka.max.partition.fetch.bytes": 16 << 20,
    "kafka.fetch.max.bytes": 64 << 20,
    "kafka.receive.buffer.bytes": 1 << 20,
    "kafka.fetch.min.bytes": 1 << 20,
    "kafka.fetch.max.wait.ms": 50,
}
"""The consumer's own defaults read two to three times slower; with these a record waits 50 ms."""

PATIENT = {"fetchOffset.numRetries": 10, "fetchOffset.retryIntervalMs": 1_000}
"""How often Spark asks a broker that is away where the topic ends, before it gives up."""

KEPT = {
    "kafka_key": "key",
    "kafka_value": "value",
    "kafka_topic": "topic",
    "kafka_partition": "partition",
    "kafka_offset": "offset",
    "kafka_timestamp": "timestamp",
}
"""What is kept of a record beside its columns; Spark does not read what no one asks for."""

AHEAD = 3600 * 1_000_000
"""How far an event may be ahead of the time at which Kafka got it, in microseconds."""

Offsets = str | Mapping[str, Mapping[str | int, int]]


@dataclass(frozen=True, slots=True)
class Kafka:
    """Records of Kafka topics.

    Args:
        servers: of the cluster, as "host:port,host:port".
        topics: their names; none where there is a pattern.
        pattern: a Java regular expression for their names; "" where there are names.
        parse: how a record becomes columns; None for the bytes, as `key` and `value`.
        starting: "latest", "earliest", or offsets as JSON; where a stream without a checkpoint
            begins.
        ending: where a batch ends.
        most: records a batch of a stream takes at most; None for all there are.
        malformed: the folder where malformed records are kept; None if they are only counted.
        options: of the connector and of the consumer.
        batch: whether the records are read once, up to `ending`.
    """

    servers: str
    topics: tuple[str, ...]
    pattern: str = ""
    parse: Parse | None = None
    starting: str = "latest"
    ending: str = "latest"
    most: int | None = None
    malformed: str | None = None
    options: Options = field(default_factory=Options)
    batch: bool = False

    @property
    def identity(self) -> tuple[str, ...]:
        """Partition and offset, and the topic where there is more than one."""
        several = self.pattern or len(self.topics) > 1
        return (*(("kafka_topic",) if several else ()), "kafka_partition", "kafka_offset")

    @property
    def metric(self) -> str:
        """The name under which Spark's progress tells how many records were malformed."""
        return f"{METRIC} {self.pattern or ','.join(self.topics)}"

    def dataframe(self, spark: SparkSession) -> DataFrame:
        """The records as columns, with those of `KEPT` and the reason if one is malformed."""
        return self.parsed(self.raw(spark))

    def raw(self, spark: SparkSession) -> DataFrame:
        """The records as Spark's connector gives them: a drop before the parse stands here."""
        reader = spark.read if self.batch else spark.readStream
        try:
            return reader.format("kafka").options(**self.settings()).load()
        except (PySparkException, Py4JError) as error:
            words = self.options.hide(said.words(error))
            hint = ""
            if "Failed to find data source" in words or "DATA_SOURCE_NOT_FOUND" in words:
                hint = "give the session spark-sql-kafka-0-10 by spark.jars.packages"
            # Without the cause: its text may hold what has just been taken out.
            raise UsageError(complaint("kafka", "must be readable", words, hint)) from None

    def parsed(self, raw: DataFrame) -> DataFrame:
        """Raw records as columns; malformed ones are counted."""
        steps = self.parse if self.parse is not None else [F.col("key"), F.col("value")]
        step = steps if not isinstance(steps, list) else (lambda _: steps)
        return counted(parsed(raw, step, KEPT), self.metric, F.col("kafka_timestamp"))

    def settings(self) -> dict[str, str]:
        """The options that the connector gets; the user's own come last."""
        which = {"subscribePattern": self.pattern} if self.pattern else {}
        if not self.pattern:
            which = {"subscribe": ",".join(self.topics)}
        if {"assign", "subscribe", "subscribePattern"} & set(self.options):
            which = {}
        ours: dict[str, object] = {**READ_FAST, **PATIENT, **which}
        ours["kafka.bootstrap.servers"] = self.servers
        ours["startingOffsets"] = self.starting
        if self.batch:
            ours["endingOffsets"] = self.ending
        elif self.most is not None:
            ours["maxOffsetsPerTrigger"] = self.most
        return dict(Options({**ours, **self.options}))

    def stored(self, since: int, until: int) -> Kafka:
        """The records that Kafka got from an hour before that time on.

        A record comes after its event, unless clocks differ, and may come long after it.
        """
        del until
        begin = max(0, since - AHEAD) // 1000
        timed = {
            **self.options,
            "startingTimestamp": begin,
            "startingOffsetsByTimestampStrategy": "latest",
        }
        return replace(self.whole(), options=Options(timed))

    def whole(self) -> Kafka:
        """All records that there are, as a table."""
        return replace(self, starting="earliest", ending="latest", most=None, batch=True)

    def hide(self, text: str) -> str:
        """A text, such as an error of the connector's, without the secrets of this source."""
        return self.options.hide(text)

    def describe(self) -> str:
        """One line for a report."""
        what = f"topics like {self.pattern}" if self.pattern else f"topic {', '.join(self.topics)}"
        return f"Kafka {what} at {without_login(self.servers)}"


def kafka(
    servers: str,
    topics: str | Sequence[str] = (),
    *,
    pattern: str = "",
    parse: Parse | None = None,
    starting: Offsets | None = None,
    ending: Offsets = "latest",
    most: int | None = None,
    malformed: str | None = None,
    options: Mapping[str, object] | None = None,
    batch: bool = False,
) -> Kafka:
    """Records of Kafka topics; needs Spark's Kafka connector in the session.

    Args:
        servers: of the cluster, as "host:port,host:port".
        topics: the name of the topic, or several.
        pattern: a Java regular expression for the names of topics, in place of `topics`.
        parse: how a record becomes columns: `ps.sources.json(schema)`, or a function, or a Column;
            None for the bytes, as `key` and `value`.
        starting: where to begin: "latest", "earliest", or offsets by topic and partition. A stream
            with a checkpoint goes on where it was. A batch begins with the earliest.
        ending: where a batch ends: "latest", or offsets by topic and partition.
        most: records that a batch of a stream takes at most.
        malformed: a folder in which records that cannot be parsed are kept; see `Aside`. They are
            counted with or without it.
        options: any of the connector's and, with the prefix "kafka.", of the consumer's.
        batch: read the records once, up to `ending`, as a table.

    >>> kafka("db:9092", "packets", options={"kafka.sasl.jaas.config": "x"}).options
    Options(kafka.sasl.jaas.config=***)
    """
    given = ",".join(checks.names("topics", topics)).split(",")
    listed = tuple(name.strip() for name in given if name.strip())
    if bool(listed) == bool(pattern):
        rule = "must be named, or described by a pattern, but not both"
        raise SpecificationError(complaint("topics", rule, (listed, pattern)))
    if most is not None:
        checks.whole("most", most)
    if malformed is not None:
        checks.text("malformed", malformed)
    return Kafka(
        checks.text("servers", servers),
        listed,
        pattern,
        parse,
        _offsets("starting", starting or ("earliest" if batch else "latest")),
        _offsets("ending", ending),
        most,
        malformed,
        Options(options),
        batch,
    )


def _offsets(name: str, value: object) -> str:
    if isinstance(value, Mapping):
        return json.dumps(value)
    if value in ("latest", "earliest") or (isinstance(value, str) and value.startswith("{")):
        return str(value)
    hint = "such as {'packets': {0: 1200}}"
    rule = "must be 'latest', 'earliest', or offsets by topic and partition"
    raise SpecificationError(complaint(name, rule, value, hint))
