"""Packets for the benchmark of networks, and the seven queries over them."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock import sources
from penstock.bench.data import write_one

SCHEMA = (
    "ts timestamp, src_host int, dst_host int, protocol string, src_port int, dst_port int, "
    "size bigint, number bigint"
)
START = 1_700_000_000_000_000
"""The time of packet 0, in microseconds since the epoch."""
RATE = 10_000
"""Packets per second of event time."""

TCP, UDP, WEB = "protocol = 'TCP'", "protocol = 'UDP'", "dst_port = 80"

WORKLOAD: dict[str, tuple[str, tuple[str, ...], str, str, bool]] = {
    "tcp_packets": (TCP, (), "60 seconds", "10 seconds", False),
    "tcp_bytes_by_port": (TCP, ("dst_port",), "60 seconds", "10 seconds", True),
    "web_bytes_by_host": (f"{TCP} AND {WEB}", ("dst_host",), "120 seconds", "10 seconds", True),
    "web_large": (
        f"{TCP} AND {WEB} AND size > 1000",
        ("dst_host",),
        "120 seconds",
        "10 seconds",
        False,
    ),
    "udp_bytes": (UDP, (), "30 seconds", "5 seconds", True),
    "dns_by_host": (f"{UDP} AND dst_port = 53", ("src_host",), "60 seconds", "5 seconds", False),
    "traffic": ("", ("protocol",), "30 seconds", "5 seconds", True),
}
"""Query → its predicate, keys, RANGE, SLIDE, and whether bytes are summed too."""


def write(
    spark: SparkSession, folder: Path, files: int, rows: int, *, rate: int = RATE, first: int = 0
) -> list[Path]:
    """Writes packets, in files that a stream takes in order.

    Args:
        spark: a session.
        folder: where to.
        files: how many.
        rows: of each.
        rate: packets per second of event time.
        first: the number of the first packet; other numbers are other packets.
    """
    written = []
    for number in range(files):
        start = first + number * rows
        numbers = spark.range(start, start + rows, 1, 1)
        written.append(write_one(numbers.select(*_columns(rate)), folder, number))
    return written


BELOW = ("packets", "filter 1")
"""The operators that see all packets, where some are dropped: the stream, and the drop."""


def ours(
    rows: DataFrame | sources.Source,
    names: list[str],
    keep: float | None = None,
    slack: str = "0 seconds",
) -> ps.Network:
    """Some of the queries as one network.

    Args:
        rows: the packets; a source knows itself what tells them apart.
        names: of the queries.
        keep: the share of the packets that a drop lets through; None for no drop.
        slack: how far packets may be out of order.
    """
    identity = "number" if isinstance(rows, DataFrame) else None
    packets = ps.stream(rows, "ts", name="packets", identity=identity, slack=slack)
    if keep is not None:
        packets = packets.where(f"xxhash64(number) & 1023 < {round(keep * 1024)}")
    queries = {}
    for name in names:
        predicate, keys, length, slide, summed = WORKLOAD[name]
        stream = packets.where(predicate) if predicate else packets
        asked = {"n": ps.count()} | ({"bytes": ps.sum("size")} if summed else {})
        queries[name] = stream.window(length, every=slide).by(*keys).agg(**asked)
    return ps.Network(**queries)


def sparks(rows: DataFrame, name: str) -> DataFrame:
    """One of the queries as Spark itself computes it."""
    predicate, keys, length, slide, summed = WORKLOAD[name]
    packets = rows.withWatermark("ts", "0 seconds")
    packets = packets.where(predicate) if predicate else packets
    asked = [F.count(F.lit(1)).alias("n")] + ([F.sum("size").alias("bytes")] if summed else [])
    windows = packets.groupBy(F.window("ts", length, slide), *keys).agg(*asked)
    return windows.select(
        F.lit(name).alias("query"),
        F.col("window.start").alias("window_start"),
        F.col("window.end").alias("window_end"),
        *keys,
        *(["n", "bytes"] if summed else ["n"]),
    )


def _columns(rate: int) -> list[Column]:
    number = F.col("id")
    time = F.timestamp_micros(F.lit(START) + number * (1_000_000 // rate)).alias("ts")
    return [time, *attributes(number), number.alias("number")]


def attributes(number: Column) -> list[Column]:
    """What a packet is like, drawn by its number; its time is not among it."""

    def draw(purpose: str, below: int) -> Column:
        return F.pmod(F.xxhash64(number, F.lit(purpose)), F.lit(below)).cast("int")

    protocols = F.array(
        *map(F.lit, ("TCP", "TCP", "TCP", "TCP", "TCP", "TCP", "UDP", "UDP", "ICMP"))
    )
    ports = F.array(*map(F.lit, (80, 80, 80, 443, 443, 22, 25, 53)))
    protocol = F.get(protocols, draw("protocol", 9))
    port = F.when(protocol == "UDP", F.when(draw("dns", 2) == 0, 53).otherwise(123)).otherwise(
        F.get(ports, draw("port", 8))
    )
    size = F.when(draw("full", 3) == 0, F.lit(1500)).otherwise(draw("size", 1000) + 40)
    return [
        draw("src", 200).alias("src_host"),
        draw("dst", 200).alias("dst_host"),
        protocol.alias("protocol"),
        (draw("src_port", 60_000) + 1024).cast("int").alias("src_port"),
        port.cast("int").alias("dst_port"),
        size.cast("bigint").alias("size"),
    ]
