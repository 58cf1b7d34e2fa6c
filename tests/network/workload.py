"""Networks that tests draw and compare: seven queries over packets, and one with everything."""

from __future__ import annotations

import penstock as ps
from penstock.network.aggregates import Aggregate as Asked
from penstock.network.graph import Graph
from penstock.network.operators import (
    Aggregate,
    Expression,
    Handle,
    Join,
    Map,
    Operator,
    Relation,
    Source,
    Union,
    filtered,
)
from penstock.network.query import Query
from penstock.windows import sliding

ROWS = object()


def source(name: str = "packets", event_time: str | None = "ts") -> Source:
    order = (event_time,) if event_time else ()
    return Source(name, event_time, 0, "generous", None, order, (), Handle(ROWS))


def where(of: Operator, predicate: str) -> Operator:
    return filtered(of, Expression(predicate))


def windows(
    of: Operator, range: str, slide: str, *keys: str, on: str = "ts", asked: dict[str, Asked]
) -> Aggregate:
    return Aggregate(of, Query(sliding(range, slide, on=on), keys, asked, order=(on,)))


def seven() -> Graph:
    """Tatbul & Zdonik's kind of workload: filters that share prefixes, windows of many lengths."""
    packets = source()
    tcp, udp = where(packets, "protocol = 'tcp'"), where(packets, "protocol = 'udp'")
    web = where(tcp, "dst_port = 80")
    large, dns = where(web, "size > 1000"), where(udp, "dst_port = 53")
    number = {"packets": ps.count()}
    both = {"bytes": ps.sum("size"), "packets": ps.count()}
    return Graph(
        {
            "tcp_packets": windows(tcp, "60 s", "10 s", asked=number),
            "tcp_bytes_by_port": windows(tcp, "60 s", "10 s", "dst_port", asked=both),
            "web_bytes_by_host": windows(web, "2 min", "10 s", "dst_host", asked=both),
            "web_large": windows(large, "2 min", "10 s", "dst_host", asked=number),
            "udp_bytes": windows(udp, "30 s", "5 s", asked=both),
            "dns_by_host": windows(dns, "60 s", "5 s", "src_host", asked=number),
            "traffic": windows(
                packets,
                "30 s",
                "5 s",
                "protocol",
                asked={"packets": ps.count(), "bytes": ps.sum("size")},
            ),
        }
    )


def everything() -> Graph:
    """Every kind of operator, a union of paths of unlike length, and windows over windows."""
    east, west = source("east"), source("west")
    hosts, blocked = Relation("hosts", Handle(ROWS)), Relation("blocked", Handle(ROWS))
    big = where(east, "size > 1000 AND port < 1024")
    both = Union((big, west))
    known = Join(both, hosts, (("host", "id"),), semi=False, added=("owner",))
    listed = Join(known, blocked, (("host", "host"),), semi=True, added=())
    kib = Map(listed, (("kib", Expression("size / 1024")),), only=False)
    few = Map(kib, (("ts", Expression("ts")), ("owner", Expression("owner"))), only=True)
    per_owner = windows(kib, "1 min", "10 s", "owner", asked={"total": ps.sum("kib")})
    peak = windows(per_owner, "5 min", "5 min", on="window_time", asked={"most": ps.max("total")})
    return Graph(
        {"alarms": few, "per_owner": per_owner, "peak": peak, "same": few, "raw": west},
    )
