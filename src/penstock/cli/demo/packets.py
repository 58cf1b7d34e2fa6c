"""Packets that are made up, but always the same: everything follows from the number of the row.

row  ─►  arrival ─► minus a delay ─► ts        most by less than 200 ms, some by up to SLACK,
                                               a few by much more, and a few have no time
     ─►  host, port, size                      one host is hot, and every few seconds another
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

SECOND = 1_000_000
SLACK = 2 * SECOND
"""How late an ordinary packet may be, in microseconds."""

HOSTS = 36
HOT_FOR = 8
"""Seconds after which another host is the hot one."""

OF = 10_000
LATE, SLOW, TIMELESS = 2, 500, 1
"""Of so many packets: those that come much too late, or up to SLACK late, or without a time."""

BATCH = "batch"
"""The column with the number of the batch that a packet arrives in."""


@dataclass(frozen=True, slots=True)
class Packets:
    """A second of packets in every batch.

    Args:
        start: when the first one arrives, in microseconds since the epoch.
        per_batch: how many; it divides a million.
    """

    start: int
    per_batch: int

    def stream(self, spark: SparkSession) -> DataFrame:
        """The packets as a stream."""
        numbers = (
            spark.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", self.per_batch)
            .option("numPartitions", spark.sparkContext.defaultParallelism)
            .load()
        )
        return self._packets(numbers.select("value"))

    def batch(self, spark: SparkSession, batches: int) -> DataFrame:
        """The packets of the first batches as a table, with `BATCH`."""
        numbers = spark.range(batches * self.per_batch).withColumnRenamed("id", "value")
        in_batch = F.expr(f"value div {self.per_batch}").alias(BATCH)
        return self._packets(numbers.select("value", in_batch), BATCH)

    def _packets(self, numbers: DataFrame, *kept: str) -> DataFrame:
        arrival = F.lit(self.start) + F.col("value") * (SECOND // self.per_batch)
        luck = _draw("luck", OF)
        delay = (
            F.when(luck < LATE, _draw("late", 27 * SECOND) + 3 * SECOND)
            .when(luck < SLOW, _draw("slow", SLACK))
            .otherwise(_draw("delay", 200_000))
        )
        time = F.when(luck < OF - TIMELESS, F.timestamp_micros(arrival - delay))
        host = self._host()
        ports = F.array(*(F.lit(port) for port in (443, 443, 443, 80, 53, 22)))
        return numbers.select(
            *kept,
            time.alias("ts"),
            F.concat(F.lit("host-"), F.lpad(host.cast("string"), 2, "0")).alias("host"),
            F.get(ports, _draw("port", 6)).alias("port"),
            _size(host).alias("size"),
        )

    def _host(self) -> Column:
        usual = F.floor(F.pow(_draw("host", 1_000) / 1_000, 2) * HOSTS)
        period = F.expr(f"value div {HOT_FOR * self.per_batch}")
        hot = F.pmod(F.xxhash64(period, F.lit("hot")), F.lit(HOSTS))
        return F.when(_draw("is hot", 8) == 0, hot).otherwise(usual)


def _size(host: Column) -> Column:
    """From a bare header to a full frame; some hosts send more of one, some of the other."""
    kind = _draw("kind", 12) - F.pmod(host, F.lit(7))
    full = F.lit(1_500).cast("bigint")
    middle, small = _draw("size", 600) + 500, _draw("size", 80) + 40
    return F.when(kind < 0, full).when(kind == 0, middle).otherwise(small)


def _draw(purpose: str, below: int) -> Column:
    """A whole number from 0 to `below` that looks random; other purposes draw others."""
    return F.pmod(F.xxhash64("value", F.lit(purpose)), F.lit(below))
