"""Results as records of a Kafka topic, at least once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.errors import StreamFailed
from penstock.sources import checks
from penstock.sources.options import Options, without_login

HEADER = "penstock-batch-id"
"""The header of a record that has the number of its batch, as text."""


@dataclass(frozen=True, slots=True)
class Kafka:
    """Records of a topic.

    Args:
        servers: of the cluster, as "host:port,host:port".
        topic: its name.
        key: a column or SQL expression for the key; None for no key.
        value: one for the value; None for the whole row as JSON.
        options: of the connector and of the producer.
    """

    servers: str
    topic: str
    key: str | None = None
    value: str | None = None
    options: Options = field(default_factory=Options)

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Sends a batch; the same number again sends it again.

        A reader that wants each row once keeps one record for each header and key.

        Args:
            batch: the results.
            batch_id: the number of the batch.
        """
        row = F.to_json(F.struct(*(F.col(f"`{n}`") for n in batch.columns)))
        value = row if self.value is None else _bytes(batch, self.value)
        columns = [value.alias("value"), F.lit(self.topic).alias("topic")]
        if self.key is not None:
            columns.append(_bytes(batch, self.key).alias("key"))
        number = F.struct(
            F.lit(HEADER).alias("key"), F.lit(str(batch_id)).cast("binary").alias("value")
        )
        columns.append(F.array(number).alias("headers"))
        options = {"kafka.acks": "all", **self.options, "kafka.bootstrap.servers": self.servers}
        try:
            batch.select(*columns).write.format("kafka").options(**options).save()
        except (PySparkException, Py4JError) as error:
            # Without the cause: it may hold what is taken out here.
            trace = self.options.hide(str(error))
            first = trace.strip().splitlines()[0]
            raise StreamFailed(f"{self.describe()} failed: {first}", trace=trace) from None

    def describe(self) -> str:
        """One line for a report."""
        return f"Kafka topic {self.topic} at {without_login(self.servers)}"


def kafka(
    servers: str,
    topic: str,
    *,
    key: str | None = None,
    value: str | None = None,
    options: Mapping[str, object] | None = None,
) -> Kafka:
    """Results as records of a Kafka topic; needs Spark's Kafka connector in the session.

    A record has the number of its batch in the header `penstock-batch-id`. After a failure a batch
    is sent again: each record is there at least once.

    Args:
        servers: of the cluster, as "host:port,host:port".
        topic: its name.
        key: a column or SQL expression for the key.
        value: one for the value; without it the whole row as JSON.
        options: any of the connector's and, with the prefix "kafka.", of the producer's.

    >>> kafka("db:9092", "answers", options={"kafka.ssl.key.password": "x"}).options
    Options(kafka.ssl.key.password=***)
    """
    for name, text in {"key": key, "value": value}.items():
        if text is not None:
            checks.text(name, text)
    servers, topic = checks.text("servers", servers), checks.text("topic", topic)
    return Kafka(servers, topic, key, value, Options(options))


def _bytes(batch: DataFrame, text: str) -> Column:
    """A column or an expression, as text unless it is binary already."""
    column = F.col(f"`{text}`") if text in batch.columns else F.expr(text)
    kind = batch.select(column.alias("it")).schema["it"].dataType.simpleString()
    return column if kind == "binary" else column.cast("string")
