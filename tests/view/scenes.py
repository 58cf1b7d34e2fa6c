"""A made-up run of seven queries: it warms up, is calm, gets three times its capacity, recovers."""

from __future__ import annotations

from penstock.control.status import DropStatus, Phase, QueryStatus, Status
from penstock.network.render import svg
from penstock.view.scene import Scene
from tests.network.workload import seven

START, TARGET, CAPACITY = 1_767_225_600.0, 3.0, 17_000
NAMES = tuple(seven().queries)
WARM, CALM, BURST, END = 8, 25, 55, 80
"""The batch with which each time ends; a batch is a second."""


def phase(batch: int) -> Phase:
    if batch < WARM:
        return "warm-up"
    return "shedding" if CALM < batch < BURST + 5 else "exact"


def response(batch: int) -> float:
    if batch < 2:
        return 6.0 - 2 * batch
    if batch in (CALM + 2, CALM + 3):
        return 3.4
    return 1.2 + (1.4 if phase(batch) == "shedding" else 0.0) + 0.1 * (batch % 3)


def query(name: str, batch: int, keep: float, rows: int) -> QueryStatus:
    subset = name == "web_large"
    asked = rows // (2 + len(name) % 3)
    gone = round(asked * (1 - keep)) if not subset else round(asked * (1 - keep) / 2)
    return QueryStatus(
        name=name,
        kind="subset" if subset else "approximate",
        rows_in=rows,
        shed=gone,
        not_asked=rows - asked,
        taken=asked - gone,
        keep=1.0 if subset else keep,
        drop=(1 - keep) / 2 if subset else 0.0,
        error=None if subset else 0.0 if keep == 1 else 0.01 * len(name) / 5,
        delivered=batch // 2,
        dropped=max(0, batch - CALM) // 9 if subset else 0,
    )


def status(batch: int) -> Status:
    burst = CALM <= batch < BURST
    arriving = CAPACITY * (3.1 if burst else 0.8) * (1 + 0.05 * (batch % 3 - 1))
    demand = arriving / CAPACITY
    shedding = phase(batch) == "shedding"
    keep = 0.95 / demand if shedding and burst else 0.8 if shedding else 1.0
    rows = round(arriving)
    drops = (
        DropStatus(after="packets", before="filter 1", keep=keep, queries=NAMES[:3]),
        DropStatus(after="filter 4", before="web_large", drop=0.5, queries=("web_large",)),
        DropStatus(after="packets", before="traffic", keep=keep * 0.9, queries=("traffic",)),
    )
    return Status(
        at=START + batch,
        batch=batch,
        seconds=0.7 + 0.2 * shedding,
        rows=rows,
        shed=round(rows * (1 - keep)),
        arriving=arriving,
        taking=min(arriving, CAPACITY),
        capacity=None if batch < WARM else CAPACITY,
        demand=None if batch < WARM else demand,
        backlog=max(0.0, (arriving - CAPACITY) * (1 if burst else 0)),
        target=TARGET,
        response=response(batch),
        median=response(batch) * 0.6,
        keep=keep,
        phase=phase(batch),
        reason=f"{demand:.1f} x the capacity of 17.0 k/s arrives: keep {keep:.2f} of it, so that "
        "the backlog is worked off in 4 s"
        if shedding
        else "",
        drops=drops if shedding else (),
        queries=tuple(query(name, batch, keep, rows) for name in NAMES),
        problems=("plan 31 could not be read: nothing is dropped in this batch",)
        if batch == 31
        else (),
    )


def answers(name: str, batch: int) -> list[dict[str, object]]:
    keep = status(batch).keep
    sampled = {"keep": keep, "sample": round(900 * keep), "exact": keep == 1}
    rows: list[dict[str, object]] = []
    for n in range(6):
        end = f"2026-01-01 00:{(batch - n // 3 * 10) // 60:02d}:{(batch - n // 3 * 10) % 60:02d}"
        group = {} if name == "tcp_packets" else {"dst_host": f"10.0.0.{n % 3}"}
        value = 41_200 - 7_000 * n
        window: dict[str, object] = {"window_start": end, "window_end": end}
        if name == "web_large":
            rows.append({**window, **group, "packets": value})
            continue
        wide = value * (1 - keep) * 0.05
        bounds = {"packets": value, "packets_low": value - wide, "packets_high": value + wide}
        rows.append({**window, **group, **bounds, **sampled})
    return rows


def account(statuses: tuple[Status, ...], name: str) -> dict[str, int]:
    mine = [one for status in statuses for one in status.queries if one.name == name]
    total = {
        what: sum(getattr(one, what) for one in mine)
        for what in ("rows_in", "shed", "not_asked", "taken")
    }
    at_stream = total["shed"] // 2
    return {
        "rows_in": total["rows_in"],
        "shed_at_stream": at_stream,
        "shed_on_the_way": total["shed"] - at_stream,
        "not_asked": total["not_asked"],
        "taken": total["taken"],
        "late_lost": 3,
        "no_time": 1,
    }


def burst(batches: int = END) -> Scene:
    """The run up to some batch.

    Args:
        batches: that have ended.
    """
    statuses = tuple(status(batch) for batch in range(batches))
    return Scene(
        title="packets.toml",
        picture=svg(seven()),
        statuses=statuses,
        answers={name: answers(name, batches) for name in NAMES} if batches > WARM else {},
        accounts={name: account(statuses, name) for name in NAMES},
        gaps={"web_large": [("2026-01-01 00:00:40", "dropped")]} if batches > BURST else {},
    )
