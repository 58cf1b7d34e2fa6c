"""Packets that arrive by a schedule, whatever the consumer does, and the truth about them.

Spark's rate source makes numbers, so many in a second of the clock, and hands them out at the end
of the second. Each is a block of packets, as a consumer gets them from a broker: what it takes to
read a packet is little beside what is done with it. Eight of them, each an eighth of a second after
the one before, are eight publishers that send what they have once a second. (Each is a task of its
own: with four of them a batch of three quarters of a second has three tasks, which take two cores
as long as four do.) All else of a packet follows from its number, and repeats after `PERIOD`
packets: so the exact answer of any window is known without computing it.

    block       0, 8, 16, …     1, 9, 17, …     2, 10, …        3, 11, …      ts = number / rate
    arrive at   1, 2, 3 s       1.125, 2.125    1.25, 2.25      1.375 s, …    after the start
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.bench.packets import START, WORKLOAD

PERIOD = 200_000
PUBLISHERS = 8
BLOCK = 64
SLACK = "1 second"
"""How far the packets of one publisher may be behind those of another, in event time."""
RAMP = 40
"""Seconds in which the rate rises to what it will be: Java is not warm before."""

PROTOCOLS = ("TCP", "TCP", "TCP", "TCP", "TCP", "TCP", "UDP", "UDP", "ICMP")
PORTS = (80, 80, 80, 443, 443, 22, 25, 53)

_FRACTION = 32
"""Bits of a fraction."""
_SPREADS = [int(math.sqrt(n) % 1 * (1 << _FRACTION)) for n in (2, 3, 5, 7, 11, 13, 17, 19)]
"""The fractions of square roots, one for each attribute: these are irrational."""

Groups = dict[tuple[object, ...], tuple[int, int]]
"""Keys of a group → its packets and bytes."""


@dataclass(frozen=True, slots=True)
class Feed:
    """The packets as a source.

    Args:
        rate: packets in a second; so many as make whole blocks of each publisher come.
        ramp: seconds until it is reached.
    """

    rate: int
    ramp: int = RAMP

    @property
    def identity(self) -> tuple[str, ...]:
        """The number of the packet."""
        return ("number",)

    def dataframe(self, spark: SparkSession) -> DataFrame:
        """The packets as a stream."""
        source = spark.readStream.format("rate").option("rowsPerSecond", self._blocks)
        source = source.option("rampUpTime", f"{self.ramp}s").option("numPartitions", 1)
        value = F.col("value")
        # As a plain number it would be part of the code that Spark generates, and Java would have
        # to get warm with each rate anew; an array is not, and which one is taken is not known.
        apart = F.get(F.array(F.lit(1e6 / self.rate)), F.pmod(value, F.lit(1)).cast("int"))
        each = (
            source.load().select(
                ((value * PUBLISHERS + i) * BLOCK).alias("first"), apart.alias("apart")
            )
            for i in range(PUBLISHERS)
        )
        first, number = F.col("first"), F.col("number")
        packets = reduce(DataFrame.union, each).select(
            "apart", F.explode(F.sequence(first, first + (BLOCK - 1))).alias("number")
        )
        micros = F.floor(number * F.col("apart")) + F.lit(START)
        return packets.select(F.timestamp_micros(micros).alias("ts"), *attributes(number), number)

    @property
    def parts(self) -> int:
        """The publishers."""
        return PUBLISHERS

    @property
    def block(self) -> int:
        """The packets of a block."""
        return BLOCK

    @property
    def _blocks(self) -> int:
        """Of a publisher, in a second."""
        return max(1, self.rate // (PUBLISHERS * BLOCK))

    def behind(self, read: int, newest: int) -> float:
        """The packets of a publisher in some seconds, as the log of a broker would tell.

        Args:
            read: the seconds that have been read.
            newest: the seconds that are there.

        >>> Feed(25_600, ramp=0).behind(3, 7), Feed(25_600, ramp=3).behind(0, 3)
        (12800.0, 4608.0)
        """
        return float(BLOCK * (self._sent(newest) - self._sent(read)))

    def _sent(self, seconds: int) -> int:
        """The blocks that one publisher has sent, by Spark's arithmetic."""
        each = self._blocks
        rising = min(seconds, self.ramp)
        return rising * (rising + 1) // 2 * (each // (self.ramp + 1)) + (seconds - rising) * each

    def describe(self) -> str:
        """One line for a report."""
        return f"{self.rate} packets a second, by a schedule"


def begin(checkpoint: Path, now: float) -> list[float]:
    """Writes down when each publisher begins, before the stream does; in seconds since the epoch.

    Args:
        checkpoint: of the stream.
        now: when the first one begins.
    """
    begins = [now + i / PUBLISHERS for i in range(PUBLISHERS)]
    for i, at in enumerate(begins):
        log = checkpoint / "sources" / str(i)
        log.mkdir(parents=True)
        (log / "0").write_text(f"v1\n{round(at * 1000)}", encoding="utf-8")
    return begins


def attributes(number: Column) -> list[Column]:
    """What a packet is like: as in `packets`, but each attribute is as good as read.

    A column of rows that were read costs next to nothing. So it is one multiplication here and no
    hash: the fractions of n √2, n √3, n √5 … are spread evenly, and nothing tells one by another.
    What several columns have in common Spark computes for every row, before any is asked whether it
    stays: it would be drawn for packets that are dropped, too. So what two columns need is written
    in two ways.

    Args:
        number: of the packet.
    """

    def bits(purpose: int, below: int, at: Column = number % PERIOD) -> Column:
        share = (at * F.lit(_SPREADS[purpose])).bitwiseAND(F.lit((1 << _FRACTION) - 1))
        return F.shiftright(share * F.lit(below), _FRACTION).cast("int")

    def protocol(at: Column) -> Column:
        return F.get(F.array(*map(F.lit, PROTOCOLS)), bits(2, 9, at))

    udp = F.when(bits(3, 2) == 0, 53).otherwise(123)
    tcp = F.get(F.array(*map(F.lit, PORTS)), bits(4, 8))
    port = F.when(protocol((number + PERIOD) % PERIOD) == "UDP", udp).otherwise(tcp)
    size = F.when(bits(5, 3) == 0, F.lit(1500)).otherwise(bits(6, 1000) + 40)
    return [
        bits(0, 200).alias("src_host"),
        bits(1, 200).alias("dst_host"),
        protocol(number % PERIOD).alias("protocol"),
        (bits(7, 60_000) + 1024).alias("src_port"),
        port.cast("int").alias("dst_port"),
        size.cast("bigint").alias("size"),
    ]


@dataclass
class Truth:
    """The exact answers.

    Args:
        spark: a session, to draw one period.
        rate: packets in a second.
    """

    spark: SparkSession
    rate: int
    _period: pd.DataFrame = field(init=False)

    def __post_init__(self) -> None:
        drawn = self.spark.range(0, PERIOD, 1, 1).select(*attributes(F.col("id")))
        self._period = drawn.toPandas()
        self._masks = {
            name: self._period.query(_in_pandas(of[0])).index.to_numpy() if of[0] else None
            for name, of in WORKLOAD.items()
        }

    @property
    def asked(self) -> dict[str, float]:
        """Query → the share of the packets that pass its filters."""
        return {n: 1.0 if m is None else len(m) / PERIOD for n, m in self._masks.items()}

    def first(self, micros: int) -> int:
        """The first packet at or after a time, as Spark computes times."""
        number = max(0, math.floor((micros - START) * self.rate / 1e6) - 2)
        while START + math.floor(number * (1e6 / self.rate)) < micros:
            number += 1
        return number

    def groups(self, query: str, start: int, end: int) -> Groups:
        """The answer of a query for a window, in microseconds."""
        since, until = self.first(start), self.first(end)
        whole, rest = divmod(until - since, PERIOD)
        total: dict[tuple[object, ...], NDArray[np.int64]] = {}
        for times, numbers in ((whole, np.arange(PERIOD)), (1, np.arange(rest) + since)):
            for key, sums in self._sums(query, numbers % PERIOD):
                total[key] = total.get(key, np.zeros(2, np.int64)) + times * sums
        return {key: (int(n), int(b)) for key, (n, b) in total.items() if n}

    def _sums(
        self, query: str, numbers: NDArray[np.int64]
    ) -> Iterator[tuple[tuple[object, ...], NDArray[np.int64]]]:
        mask, keys = self._masks[query], list(WORKLOAD[query][1])
        counts = np.bincount(numbers, minlength=PERIOD)
        if mask is not None:
            kept = np.zeros(PERIOD, counts.dtype)
            kept[mask] = counts[mask]
            counts = kept
        frame = self._period.assign(n=counts, b=counts * self._period["size"])
        if not keys:
            yield (), frame[["n", "b"]].sum().to_numpy(np.int64)
            return
        for key, row in frame.groupby(keys)[["n", "b"]].sum().iterrows():
            yield (key if isinstance(key, tuple) else (key,)), row.to_numpy(np.int64)


def _in_pandas(predicate: str) -> str:
    return predicate.replace(" AND ", " and ").replace(" = ", " == ")
