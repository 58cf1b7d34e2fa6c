"""Scenes for tests of what shows them: a burst to three times the capacity, and what is done."""

import math
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from penstock.control.status import DropStatus, Phase, QueryStatus, Status
from penstock.network.config import read_config
from penstock.network.render import svg
from penstock.view.scene import Scene

ROOT = Path(__file__).parents[2]
CAPACITY, TARGET, BEGIN = 12_000.0, 3.0, 1_790_000_000.0
NASTY = "<script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">"


def status(batch: int, problems: tuple[str, ...] = ()) -> Status:
    """Of a batch of a run that is overloaded from batch 40 to 120."""
    burst = 2.1 / (1 + math.exp(-(batch - 45) / 3)) / (1 + math.exp((batch - 120) / 4))
    demand = 0.75 + burst + 0.05 * math.sin(batch / 3)
    late = max(0.0, min(1.0, (batch - 41) / 6) * min(1.0, max(0.0, (62 - batch) / 12)))
    response = 1.4 + 0.25 * math.sin(batch / 5) + 0.9 * min(burst, 1) + 1.1 * late
    keep = 1.0 if demand < 0.95 else min(1.0, 0.9 / demand)
    phase: Phase = "warm-up" if batch < 8 else "shedding" if keep < 1 else "exact"
    rows = round(CAPACITY * demand * 2)
    web = QueryStatus(
        name="web_bytes_by_host",
        kind="approximate",
        rows_in=rows,
        shed=round(rows * (1 - keep)),
        taken=rows - round(rows * (1 - keep)),
        keep=keep,
        error=0.031 if keep < 1 else 0.0,
        delivered=batch // 3,
    )
    large = QueryStatus(
        name="web_large", kind="subset", drop=(1 - keep), delivered=batch // 4, dropped=batch // 11
    )
    exact = QueryStatus(name="tcp_packets", delivered=batch // 3)
    drops: tuple[DropStatus, ...] = ()
    if keep < 1:
        why = f"demand {demand:.2f} of capacity; the filter passes 0.31 of its rows"
        drops = (
            DropStatus(
                after="packets",
                before="filter 1",
                keep=keep,
                queries=("web_bytes_by_host",),
                reason=why,
            ),
            DropStatus(after="filter 2", before="web_large", drop=1 - keep, queries=("web_large",)),
        )
    return Status(
        at=BEGIN + 2.0 * batch,
        batch=batch,
        seconds=1.7 + 0.2 * math.sin(batch),
        rows=rows,
        shed=round(rows * (1 - keep)),
        arriving=CAPACITY * demand,
        taking=CAPACITY * demand * keep,
        capacity=CAPACITY if batch >= 8 else None,
        demand=demand if batch >= 8 else None,
        backlog=900 + 30_000 * late,
        target=TARGET,
        response=response if batch > 0 else None,
        median=response * 0.6 if batch > 0 else None,
        keep=keep,
        phase=phase,
        reason=f"arriving {CAPACITY * demand:,.0f}/s, capacity {CAPACITY:,.0f}/s: keep {keep:.3f}",
        drops=drops,
        queries=(web, large, exact),
        problems=problems,
    )


@cache
def picture() -> str:
    """Of the example with seven queries."""
    return svg(read_config(str(ROOT / "examples/packets.toml")).outline())


def scene(batches: int = 150, title: str = "packets.toml") -> Scene:
    """Of a run after so many batches."""
    end = datetime.fromtimestamp(BEGIN + 2 * batches, tz=UTC).replace(microsecond=0)
    hosts = ["example.org", "news.example.net", NASTY, "mirror.example.com"]
    web = [
        {
            "window_end": end - timedelta(seconds=10 * n),
            "dst_host": host,
            "bytes": size,
            "bytes_low": size * 0.93,
            "bytes_high": size * 1.07,
            "packets": size / 640,
            "packets_low": size / 640 * 0.97,
            "packets_high": size / 640 * 1.03,
            "keep": 0.41,
            "sample": round(size / 1600),
            "exact": n == 1 and host == hosts[0],
        }
        for n in range(2)
        for host, size in zip(hosts, (8.1e6, 5.3e6, 1.9e6, 4.4e5), strict=True)
    ]
    rows = sum(status(n).rows for n in range(batches))
    shed = sum(status(n).shed for n in range(batches))
    account = {"rows_in": rows, "shed_at_stream": shed, "shed_on_the_way": 0}
    return Scene(
        title=title,
        picture=picture(),
        statuses=tuple(
            status(n, (f"batch 90: the record of {NASTY} was lost",) if n == 90 else ())
            for n in range(batches)
        ),
        answers={
            "web_bytes_by_host": web,
            "web_large": [{"window_end": end, "dst_host": hosts[0], "packets": 812}],
            "tcp_packets": [
                {"window_end": end - timedelta(seconds=10 * n), "packets": 90_211 + n}
                for n in range(6)
            ],
        },
        accounts={
            "web_bytes_by_host": {
                **account,
                "taken": rows - shed,
                "late_lost": 3,
                "no_time": 0,
            },
            "web_large": {**account, "taken": rows - shed},
            "tcp_packets": {**account, "taken": rows - shed},
        },
        gaps={
            "web_large": [
                (f"{end - timedelta(seconds=10 * n):%H:%M:%S}", "dropped") for n in range(1, 4)
            ]
        },
    )
