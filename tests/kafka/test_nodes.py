"""Nodes on Spark, linked by topics: what is dropped upstream is never half of an answer."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.bench.fig1 import INPUTS, Fig1
from penstock.bench.kafka.broker import Broker
from penstock.bench.processes import Feed
from penstock.engine.fleet.bus import Bus
from penstock.engine.fleet.links import takes_weights
from penstock.engine.fleet.node import NodeRun
from penstock.engine.fleet.report import report
from penstock.fleet.member import Alone
from penstock.fleet.neighbour import Neighbour
from penstock.fleet.pipeline import Control, parse_pipeline
from penstock.fleet.statistics import told
from penstock.nodes.splits import Location
from tests.fleet.delivered import delivered
from tests.fleet.pipelines import fig1, inner

PATIENCE, ROWS = 180, 1600
LAST = 73
"""Seconds of event time: of the windows up to 78 at most three in a row are missing."""
START = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = "ts timestamp, n bigint"
SOME = "n % 4 > 0"
"""The rows of one input that count: three in four."""
KEEPS = {Location("left", ("a1",)): 0.5, Location("right", ("a2",)): 0.3}


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
        now = [(node.node, report(node)["accounts"], node.failure()) for node in nodes]
        assert time.monotonic() < deadline, f"no {what} in {PATIENCE} s: {now}"
        time.sleep(0.3)


def rows_of(node: NodeRun, box: str) -> int:
    assert node.relay is not None
    return node.relay.accounts.get(box, {}).get("rows", 0)


def newest(found: dict[Any, tuple[float, float]]) -> float:
    """Seconds since the first row up to the end of the last window."""
    return max(((end - START).total_seconds() for end in found), default=0.0)


def exact(spark, broker, topic: str, spans: tuple[str, str], of: str) -> dict[Any, Any]:
    table = ps.sources.kafka(
        broker.servers, topic, parse=ps.sources.json(SCHEMA), batch=True
    ).dataframe(spark)
    length, every = spans
    query = ps.stream(table.where(of), "ts").window(length, every=every)
    rows = query.agg(rows=ps.count(), total=ps.sum("n")).dataframe().collect()
    ends = [row["window_end"].replace(tzinfo=UTC) for row in rows]
    return {end: (row["rows"], row["total"]) for end, row in zip(ends, rows, strict=True)}


@dataclass
class Two:
    """Both nodes of Fig. 1, in one session: whole windows of one input, samples of the other."""

    broker: Broker
    folder: Path
    other: str = "approximate"
    change: Callable[[str], str] = str
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left, self.right, control = (self.broker.topic(1) for _ in range(3))
        text = fig1(
            servers=self.broker.servers,
            control=control,
            mode="alone",
            left=self.left,
            right=self.right,
            answers="subset",
            other=self.other,
            unit=1e-5,
            out=str(self.folder),
            name=control,
            trigger="200 ms",
            latency="10 minutes",  # a slow machine makes nobody drop more than is told
            where=SOME,
        )
        pipeline = parse_pipeline(self.change(text))
        self.a, self.b = (
            NodeRun(pipeline, name, str(self.folder / "at" / name), {}, self.lines.append)
            for name in ("A", "B")
        )
        self.a.member = Told(KEEPS)

    def run(self) -> None:
        """Eighty seconds of event time, in four batches of node A; B is there for the last."""
        first, second = self.folder / "first", self.folder / "second"
        try:
            self.a.start()
            for begin in range(0, ROWS, ROWS // 4):
                for topic in (self.left, self.right):
                    self.broker.send(topic, records(begin, begin + ROWS // 4), partition=0)
                come = begin + ROWS // 4
                wait_for("rows", lambda come=come: rows_of(self.a, "a2") == come, self.a)
                if come == ROWS // 2:
                    self.b.start()
            wait_for("answers", lambda: newest(delivered(first)) > LAST, self.b)
            wait_for("answers", lambda: newest(delivered(second)) > LAST, self.b)
        finally:
            self.a.stop()
            self.b.stop()
        assert not [line for line in self.lines if line.startswith("failed")]

    def balanced(self, box: str) -> dict[str, int]:
        accounts: dict[str, int] = report(self.a)["accounts"][box]
        assert accounts["rows"] == ROWS == accounts["kept"] + accounts["shed"]
        return accounts


@pytest.mark.skipif(not takes_weights(), reason="streams take no weights yet")
def test_what_was_dropped_upstream_makes_no_answer_wrong(spark, broker, tmp_path):
    two = Two(broker, tmp_path)
    two.run()

    # Windows that were dropped are missing, and no other is wrong.
    got, wanted = (
        delivered(tmp_path / "first"),
        exact(spark, broker, two.left, ("2 s", "1 s"), SOME),
    )
    assert got
    assert got.items() <= wanted.items()
    assert two.balanced("a1")["shed"] > 100
    assert two.b.withheld.runs("b1")

    # What a node hands on, it has counted: plans go by that, and not by what the file says.
    assert two.a.relay is not None
    boxes = told(two.a.relay.bearing.now)["boxes"]
    assert boxes["a1"][1] == pytest.approx(0.75, abs=0.03)
    assert boxes["a2"][1] == pytest.approx(1.0)

    # Answers over rows that were sampled are unbiased.
    assert 0.3 * ROWS < two.balanced("a2")["kept"] < 0.8 * ROWS
    got, wanted = (
        delivered(tmp_path / "second"),
        exact(spark, broker, two.right, ("1 s", "1 s"), "true"),
    )
    counted, true = (sum(of[end][0] for end in got) for of in (got, wanted))
    # Windows come whole, and rows of the first batches at full weight: four deviations.
    assert abs(counted - true) < 4 * (true * (1 - 0.3) / 0.3) ** 0.5


@pytest.mark.soak
def test_boxes_of_one_node_feed_each_other_and_windows_windows(spark, broker, tmp_path):
    two = Two(broker, tmp_path, "subset", lambda text: inner(text, cost=1e-5))
    two.run()
    for folder, topic, spans, of in (
        ("first", two.left, ("2 s", "1 s"), f"n % 2 = 0 AND {SOME}"),
        # Of windows of a second, those of four seconds have the rows of four seconds.
        ("second", two.right, ("4 s", "2 s"), "true"),
    ):
        got, wanted = delivered(tmp_path / folder), exact(spark, broker, topic, spans, of)
        assert got
        assert got.items() <= wanted.items()
        assert len(got) < len(wanted)
    # What is dropped upstream for windows over windows is dropped for all that they stand on.
    assert two.balanced("a1")["shed"] > 100
    assert two.balanced("a2")["shed"] > 100
    assert two.b.withheld.runs("b2")
    assert "b0" not in report(two.b)["accounts"]


@pytest.mark.skipif(not takes_weights(), reason="streams take no weights yet")
def test_peers_tell_each_other_what_they_can_take_over_a_broker(spark, broker, tmp_path):
    name = broker.topic(1)
    # Nodes have more time than the plan knows of: on a slow machine too, they get on.
    figure = Fig1(
        broker.servers,
        tmp_path,
        name,
        mode="peers",
        unit=1,
        rate=100,
        latency="8 seconds",
        answers="subset",
        capacity=0.15,
    )
    pipeline, lines = parse_pipeline(figure.text), list[str]()
    left, right = (broker.topic(1, f"{name}.{one}") for one in INPUTS)

    def node(of: str) -> NodeRun:
        return NodeRun(pipeline, of, str(tmp_path / "at" / of), {}, lines.append)

    def said() -> set[str]:
        return {line.partition(":")[0] for line in lines}

    phases = {"planned", "overloaded", "chosen", "in force"}
    a, b = node("A"), node("B")
    feed = Feed(broker.servers, [left, right], figure.rows)
    try:
        a.start()
        b.start()
        feed.start()
        # A slow node drops for its own sake first: the plan of both is what is waited for.
        wait_for("plan", lambda: phases <= said(), a, b)
        wait_for("drops", lambda: any(of["shed"] for of in _accounts(a)), a, b)
        first, second = tmp_path / "first", tmp_path / "second"
        wait_for("answers", lambda: delivered(first) and delivered(second), a, b)
    finally:
        feed.stop()
        a.stop()
        b.stop()
    assert a.mailbox.ignored == b.mailbox.ignored == 0
    # The whole of B's table is with A, and A begins with its last plan when it comes back.
    assert isinstance(a.member, Neighbour)
    assert isinstance(b.member, Neighbour)
    assert b.member.peer.deltas
    assert a.member.plan.keeps
    again = node("A")
    again.bus.close()
    assert again.member.keeps == a.member.plan.keeps
    for folder, topic in ((first, left), (second, right)):
        got = delivered(folder)
        assert got.items() <= exact(spark, broker, topic, ("1 s", "1 s"), "true").items()


def _accounts(node: NodeRun) -> list[dict[str, int]]:
    return list(report(node)["accounts"].values())


def test_a_control_topic_that_is_made_a_moment_later_is_waited_for(broker):
    name = f"{broker.topic(1)}.later"
    bus = Bus(Control(broker.servers, name, "peers", "later", {}, {}))
    made = threading.Timer(1.0, lambda: broker.topic(1, name))
    made.start()
    try:
        assert bus.catch_up() == []
        bus.send([b"here"], surely=True)
        assert bus.catch_up() == [b"here"]
    finally:
        made.join()
        bus.close()
