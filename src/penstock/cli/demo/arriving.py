"""Packets that Spark makes itself, so many in each second: they cost next to nothing.

Spark's rate source makes ticks, and hands out those of a second when it is over. Each tick becomes
as many packets as the schedule says for its second. Four sources, each a quarter of a second after
the one before, are four publishers; all else of a packet follows from its number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.bench.feed import PUBLISHERS

TICKS = 100
"""Of a publisher, in a second."""

HOSTS = 128
_PLACES = 1 << 20  # more packets than a tick can have
_PORTS = (443, 443, 443, 443, 80, 80, 80, 22, 25, 53)
_DNS = 53


@dataclass(frozen=True, slots=True)
class Schedule:
    """How many packets come.

    Args:
        calm: in a second before the burst, and after it.
        burst: in a second of the burst.
        begin: the second in which it begins.
        length: its seconds.
    """

    calm: float
    burst: float
    begin: int
    length: int

    def per_tick(self, second: Column) -> Column:
        """How many packets a tick becomes."""
        ticks = TICKS * PUBLISHERS
        calm, burst = (max(1, round(rate / ticks)) for rate in (self.calm, self.burst))
        last = self.begin + self.length - 1
        return F.when(second.between(self.begin, last), F.lit(burst)).otherwise(F.lit(calm))


@dataclass(frozen=True, slots=True)
class Arriving:
    """The packets as a source: ts, src_host, dst_host, protocol, src_port, dst_port, size, packet.

    Args:
        schedule: how many come; None for batches that follow each other at once.
        at_once: packets of such a batch.
    """

    schedule: Schedule | None = None
    at_once: int = 200_000

    @property
    def identity(self) -> tuple[str, ...]:
        """The number of the packet."""
        return ("packet",)

    def dataframe(self, spark: SparkSession) -> DataFrame:
        """The packets as a stream."""
        if self.schedule is None:
            ticks = spark.readStream.format("rate-micro-batch").option("numPartitions", 2)
            ticks = ticks.option("rowsPerBatch", TICKS * PUBLISHERS)
            return packets(ticks.load(), 0, F.lit(self.at_once // (TICKS * PUBLISHERS)))
        ticks = spark.readStream.format("rate").option("numPartitions", 1)
        ticks = ticks.option("rowsPerSecond", TICKS)
        many = self.schedule.per_tick(F.expr(f"value div {TICKS}"))
        each = (packets(ticks.load(), publisher, many) for publisher in range(PUBLISHERS))
        return reduce(DataFrame.union, each)

    def describe(self) -> str:
        """One line for a report."""
        if self.schedule is None:
            return f"made-up packets, {self.at_once:,} in each batch"
        calm, burst = self.schedule.calm, self.schedule.burst
        return f"made-up packets, {calm:,.0f} a second, and {burst:,.0f} in a burst"


def packets(ticks: DataFrame, publisher: int, many: Column) -> DataFrame:
    """The packets of some ticks.

    Args:
        ticks: of Spark's rate source.
        publisher: from 0 on.
        many: packets of a tick.
    """
    place = F.explode(F.sequence(F.lit(0), many - 1))
    drawn = ticks.select("timestamp", "value", many.alias("many"), place.alias("place"))
    length = 1_000_000 // TICKS  # of a tick, in microseconds
    time = F.unix_micros("timestamp") + F.expr(f"place * {length} div many")
    number = (F.col("value") * PUBLISHERS + publisher) * _PLACES + F.col("place")
    numbered = drawn.select(F.timestamp_micros(time).alias("ts"), number.alias("packet"))
    return numbered.select("ts", *_attributes(F.col("packet")), "packet")


def _attributes(number: Column) -> list[Column]:
    drawn = F.xxhash64(number)

    def bits(at: int, below: int) -> Column:
        return F.pmod(F.shiftright(drawn, at), F.lit(below)).cast("int")

    def host(at: int) -> Column:
        # The product of two: the first hosts have most of the traffic.
        which = F.shiftright(bits(at, HOSTS) * bits(at + 7, HOSTS), 7)
        return F.concat(F.lit("10.0.0."), which.cast("string"))

    port = F.get(F.array(*map(F.lit, _PORTS)), bits(28, len(_PORTS)))
    size = F.when(bits(38, 3) == 0, F.lit(1500)).otherwise(bits(42, 1000) + 40)
    return [
        host(0).alias("src_host"),
        host(14).alias("dst_host"),
        F.when(port == _DNS, F.lit("udp")).otherwise(F.lit("tcp")).alias("protocol"),
        (bits(33, 60_000) + 1024).alias("src_port"),
        port.alias("dst_port"),
        size.alias("size"),
    ]
