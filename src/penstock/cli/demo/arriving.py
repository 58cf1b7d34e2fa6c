"""Packets that come by a schedule, and cost next to nothing.

Made-up packets are made in Python, at some 10 µs each. Here each of them begins a flow: it is
followed by others between the same hosts, which Spark makes itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.sources.packets import Packets
from penstock.sources.traffic import PACKET, SLOT

FLOW = 500
"""Packets of a flow."""


@dataclass(frozen=True, slots=True)
class Flows:
    """The packets as a source: the columns of `packets`.

    Args:
        first: the first packet of each flow.
    """

    first: Packets

    @property
    def identity(self) -> tuple[str, ...]:
        """The number of the packet."""
        return (PACKET,)

    @property
    def block(self) -> int:
        """The packets of a flow: Spark counts flows."""
        return FLOW

    def dataframe(self, spark: SparkSession) -> DataFrame:
        """The packets as a stream, or as a table if the first ones are."""
        return followed(self.first.dataframe(spark))

    def behind(self, read: Mapping[str, Any], newest: Mapping[str, Any]) -> float:
        """The packets that are due."""
        return FLOW * self.first.behind(read, newest)

    def describe(self) -> str:
        """One line for a report."""
        return f"flows of {FLOW} packets, which begin as {self.first.describe()}"


def followed(first: DataFrame) -> DataFrame:
    """All packets of the flows; those of one come within an eighth of a second.

    Args:
        first: the first packet of each.
    """
    each = first.select("*", F.explode(F.sequence(F.lit(0), F.lit(FLOW - 1))).alias("place"))
    time = F.unix_micros("ts") + F.col("place") * (SLOT // FLOW)
    number = F.col(PACKET) * FLOW + F.col("place")
    numbered = each.withColumns({"ts": F.timestamp_micros(time), PACKET: number})
    drawn = F.xxhash64(PACKET)
    size = F.when(F.shiftright(drawn, 20) % 3 == 0, 1500).otherwise(40 + F.pmod(drawn, F.lit(1000)))
    hosts = ("src_host", "dst_host", "protocol", "src_port", "dst_port")
    return numbered.select("ts", *hosts, size.cast("int").alias("size"), PACKET)
