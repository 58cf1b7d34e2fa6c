"""Coordinator, nodes and broker are killed one after the other: no answer is wrong, no row lost."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.bench.kafka.broker import Broker
from penstock.bench.kafka.jars import jars
from penstock.bench.pipeline import Feed, Fleet, make_topics, text
from penstock.engine.fleet.links import UP_TO

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]

NAME, RATE, UNIT = "killed", 300, 1e-5
PATIENCE = 120


@dataclass
class Running:
    broker: Broker
    fleet: Fleet
    feed: Feed
    folder: Path

    def until(self, what: str, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            self.fleet.check()
            said = {name: self.fleet.said(name)[-1500:] for name in self.fleet.processes}
            assert time.monotonic() < deadline, f"no {what}: {said}"
            time.sleep(0.5)

    def rows(self, box: str) -> int:
        return int(self.fleet.report("A").get("accounts", {}).get(box, {}).get("rows", 0))

    def answers(self, output: str) -> dict[datetime, tuple[int, int]]:
        path = self.folder / output
        rows = pq.read_table(path).to_pylist() if path.exists() else []
        found = {row["window_end"].replace(tzinfo=UTC): (row["rows"], row["total"]) for row in rows}
        assert len(found) == len(rows), "a window was delivered twice"
        return found

    def goes_on(self) -> None:
        """More rows have come through, and more answers have come out."""
        rows, answers = self.rows("a1"), self.delivered
        self.until("rows", lambda: self.rows("a1") > rows + RATE)
        self.until("answers", lambda: self.delivered > answers)

    @property
    def shed(self) -> int:
        return sum(of["shed"] for of in self.fleet.report("A").get("accounts", {}).values())

    @property
    def delivered(self) -> int:
        return len(self.answers("first")) + len(self.answers("second"))


def pipeline(broker: Broker, folder: Path) -> str:
    """Nodes that are not busy, but believe that they are."""
    return text(
        broker,
        folder,
        name=NAME,
        unit=UNIT,
        rate=RATE,
        latency="6 seconds",
        side=20,
        capacity=0.015,
    )


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    for name in ("connector", "broker"):
        if isinstance(found := jars(name), str):
            pytest.skip(found)
    (tmp_path / "kafka").mkdir()
    assert not isinstance(found, str)
    broker = Broker(found, tmp_path / "kafka")
    broker.start()
    file = tmp_path / "pipeline.toml"
    file.write_text(pipeline(broker, tmp_path))
    make_topics(broker, NAME)
    made = Running(broker, Fleet(file, tmp_path), Feed(broker, NAME, RATE), tmp_path)
    yield made
    made.feed.stop()
    for name in list(made.fleet.processes):
        made.fleet.kill(name)
    broker.kill()


def exact(broker: Broker, topic: str) -> dict[datetime, tuple[int, int]]:
    """The answers, from all rows that were ever sent."""
    windows: dict[int, list[int]] = defaultdict(list)
    for _, value, _ in broker.records(topic, 1):
        row = json.loads(value)
        windows[int(datetime.fromisoformat(row["ts"]).timestamp())].append(row["n"])
    return {
        datetime.fromtimestamp(start + 1, UTC): (len(some), sum(some))
        for start, some in windows.items()
    }


def test_no_answer_is_wrong_and_no_row_is_lost(running: Running) -> None:
    fleet, broker = running.fleet, running.broker
    for name in ("A", "B", "coordinator"):
        fleet.start(name)
    fleet.running("A", "B")
    running.feed.start()
    running.until("drops", lambda: running.shed > 0)
    running.goes_on()
    for name in ("coordinator", "A", "B"):
        fleet.kill(name)
        time.sleep(1)
        fleet.start(name)
        running.goes_on()
    broker.kill()
    time.sleep(4)
    broker.start()
    running.goes_on()
    running.feed.stop()
    sent = len(broker.records(f"{NAME}.left", 1))
    running.until("the last rows", lambda: running.rows("a1") == running.rows("a2") == sent)
    time.sleep(6)
    fleet.stop()

    accounts = fleet.report("A")["accounts"]
    for box, source, output in (("a1", "left", "first"), ("a2", "right", "second")):
        wanted = exact(broker, f"{NAME}.{source}")
        got = running.answers(output)
        assert len(got) > 10
        wrong = {end: (n, wanted.get(end)) for end, n in got.items() if wanted.get(end) != n}
        assert wrong == {}
        mine = accounts[box]
        assert mine["rows"] == sent == mine["kept"] + mine["shed"] + mine["no_time"]
        topic = broker.records(f"{NAME}.{box}", 1)
        handed = Counter(key for key, value, _ in topic if UP_TO not in json.loads(value))
        assert max(handed.values()) == 1
        assert len(handed) == mine["kept"]
    assert sum(accounts[box]["shed"] for box in accounts) > 0
    answered = fleet.report("B")["accounts"]
    for of in answered.values():
        assert of["rows_in"] == of["shed_at_stream"] + of["shed_on_the_way"] + of["taken"]
