"""Nodes on Spark, linked by topics: what is dropped upstream is never half of an answer."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import penstock as ps
from penstock.engine.fleet.node import NodeRun
from penstock.engine.fleet.report import report
from penstock.fleet.member import Alone
from penstock.fleet.pipeline import parse_pipeline
from penstock.nodes.splits import Location
from tests.fleet.pipelines import fig1

PATIENCE = 60
START = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = "ts timestamp, n bigint"
HALF = {Location("left", ("a1",)): 0.5, Location("right", ("a2",)): 0.3}


class Told(Alone):
    """A member whose keeps are given."""

    def __init__(self, keeps: Mapping[Location, float]) -> None:
        self.keeps = keeps


def records(first: int, last: int) -> list[bytes]:
    """Twenty rows in a second of event time."""
    return [
        json.dumps({"ts": (START + timedelta(seconds=i / 20)).isoformat(), "n": i}).encode()
        for i in range(first, last)
    ]


def wait_for(what: str, condition: Any, *nodes: NodeRun) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        for node in nodes:
            node.turn()
        assert time.monotonic() < deadline, f"no {what} in {PATIENCE} s"
        time.sleep(0.1)


def rows_of(node: NodeRun, box: str) -> int:
    assert node.relay is not None
    return node.relay.accounts.get(box, {}).get("rows", 0)


def answers(spark, folder) -> dict[Any, tuple[int, int]]:
    if not folder.exists():
        return {}
    rows = spark.read.parquet(str(folder)).collect()
    found = {row["window_end"]: (row["rows"], row["total"]) for row in rows}
    assert len(found) == len(rows)
    return found


def newest(found: dict[Any, tuple[int, int]]) -> float:
    """Seconds since the first row up to the end of the last window."""
    ends = [end.replace(tzinfo=UTC) for end in found]
    return max(((end - START).total_seconds() for end in ends), default=0.0)


def exact(spark, broker, topic: str, length: str, every: str) -> dict[Any, tuple[int, int]]:
    table = ps.sources.kafka(
        broker.servers, topic, parse=ps.sources.json(SCHEMA), batch=True
    ).dataframe(spark)
    query = ps.stream(table, "ts").window(length, every=every)
    rows = query.agg(rows=ps.count(), total=ps.sum("n")).dataframe().collect()
    return {row["window_end"]: (row["rows"], row["total"]) for row in rows}


def test_windows_that_are_dropped_upstream_are_missing_and_no_other_is_wrong(
    spark, broker, tmp_path
):
    left, right, control = (broker.topic(1) for _ in range(3))
    text = fig1(
        servers=broker.servers,
        control=control,
        mode="alone",
        left=left,
        right=right,
        unit=1e-5,
        out=str(tmp_path),
        name=control,
    )
    pipeline = parse_pipeline(text)
    lines: list[str] = []
    nodes = [
        NodeRun(pipeline, name, str(tmp_path / "at" / name), {}, lines.append)
        for name in ("A", "B")
    ]
    a, b = nodes
    a.member = Told(HALF)
    try:
        for node in nodes:
            node.start()
        for begin in range(0, 1600, 200):
            for topic in (left, right):
                broker.send(topic, records(begin, begin + 200), partition=0)
            come = begin + 200
            wait_for("rows", lambda come=come: rows_of(a, "a2") == come, a)
        wait_for("answers", lambda: newest(answers(spark, tmp_path / "second")) > 77, *nodes)
    finally:
        for node in nodes:
            node.stop()
    assert not [line for line in lines if line.startswith("failed")]
    for box, folder, topic, of in (
        ("a1", "first", left, ("2 s", "1 s")),
        ("a2", "second", right, ("1 s", "1 s")),
    ):
        got, wanted = answers(spark, tmp_path / folder), exact(spark, broker, topic, *of)
        assert got
        assert got.items() <= wanted.items()
        accounts = report(a)["accounts"][box]
        assert accounts["rows"] == 1600 == accounts["kept"] + accounts["shed"]
        assert accounts["shed"] > 300
        assert b.withheld.runs("b1" if box == "a1" else "b2")
