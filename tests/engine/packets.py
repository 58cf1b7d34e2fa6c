"""Packets, and the seven queries of examples/packets.* in Python."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.engine.cql_network import Answers
from penstock.network.graph import Graph

EXAMPLES = Path(__file__).parents[2] / "examples"
COLUMNS = (
    "timestamp_seconds(1767225600 + id) AS ts",
    "concat('h', id % 3) AS src_host",
    "concat('h', id % 5) AS dst_host",
    "if(id % 4 = 0, 'udp', 'tcp') AS protocol",
    "cast(id % 100 AS int) AS src_port",
    "cast(element_at(array(80, 53, 443), cast(id % 3 + 1 AS int)) AS int) AS dst_port",
    "cast(id * 7 % 1500 AS int) AS size",
)


def make_packets(spark: SparkSession) -> DataFrame:
    """A packet a second, for 200 seconds."""
    return spark.range(0, 200, 1, 1).selectExpr(*COLUMNS)


def make_hosts(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([("h0", "ada"), ("h1", "bob")], "host string, owner string")


def graph(queries: dict[str, Answers]) -> Graph:
    return Graph({name: query.node for name, query in queries.items()})


def in_python(rows: DataFrame) -> dict[str, Answers]:
    """The seven queries of examples/packets.*."""
    packets = ps.stream(rows, event_time="ts", slack="2 seconds", name="packets")
    tcp, udp = packets.where("protocol = 'tcp'"), packets.where("protocol = 'udp'")
    web = tcp.where("dst_port = 80")
    n, size = ps.count(), ps.sum("size")
    return {
        "tcp_packets": tcp.window("60 s", "10 s").agg(packets=n),
        "tcp_bytes_by_port": tcp.window("60 s", "10 s").by("dst_port").agg(bytes=size, packets=n),
        "web_bytes_by_host": web.window("2 min", "10 s").by("dst_host").agg(bytes=size, packets=n),
        "web_large": (
            web.where("size > 1000").window("2 min", "10 s").by("dst_host").agg(packets=n)
        ),
        "udp_bytes": udp.window("30 s", "5 s").agg(bytes=size, packets=n),
        "dns_by_host": (
            udp.where("dst_port = 53").window("60 s", "5 s").by("src_host").agg(packets=n)
        ),
        "traffic": packets.window("30 s", "5 s").by("protocol").agg(packets=n, bytes=size),
    }
