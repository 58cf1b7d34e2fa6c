"""Boxes without windows: rows enter through gates, pass a query, and go into topics.

    topic ─► rows ─┬─[gate]─► query of a1 ─► topic a1      one Spark stream for all boxes of a node
                   └─[gate]─► query of a2 ─► topic a2

    batch N ─► written ─► promises ─► "these windows are dropped" ─► record of N+1 ─► commit

A row is there once: its key tells it apart, and a batch that is run again leaves out what its first
attempt has written. What is said and written comes in this order, so that whoever is killed at any
place between has dropped nothing that others do not know of.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from penstock.drops.orders import Orders
from penstock.engine.fleet.bearing import Bearing
from penstock.engine.fleet.bus import Bus
from penstock.engine.fleet.handing import FATES, Handing
from penstock.engine.fleet.links import UP_TO, Links
from penstock.engine.fleet.records import Accounts, Record, Records
from penstock.engine.interrupted import told_briefly
from penstock.fleet.dropped import announced
from penstock.fleet.gates import Gate, Seen, decided
from penstock.fleet.messages import Mailbox

_log = logging.getLogger(__name__)

_COUNTS = ("rows", *FATES)

Keeps = Callable[[float], tuple[float, ...]]
"""The share that the node can bear → what each gate may keep."""


@dataclass
class Relay:
    """The relays of a node, as one Spark stream.

    Args:
        links: the pipeline.
        node: its name.
        checkpoint: of the stream.
        bus: for promises, and for what is dropped.
        mailbox: of the node.
        keeps: what gates may keep now.
    """

    links: Links
    node: str
    checkpoint: str
    bus: Bus
    mailbox: Mailbox
    keeps: Keeps
    query: StreamingQuery | None = None
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.handing = Handing(self.links, self.node)
        self.gates, self.boxes = self.handing.gates, self.handing.boxes
        self.bearing = Bearing(self.links.pipeline, self.node, self.gates)
        self.records = Records(self.checkpoint, len(self.gates))
        self.record = Record(Orders(0, (), (), ()))
        self._places: dict[str, int] = {}

    def start(self, trigger: Mapping[str, Any]) -> StreamingQuery:
        """Starts the stream, or goes on where its checkpoint ends.

        Args:
            trigger: as Spark takes it.
        """
        batch, self.record, begun, wrong = self.records.first()
        if wrong:
            self._tell(wrong)
        self._again = batch if begun else -1
        # Whoever read the record of a batch that has not ended must know of its windows.
        self._announce(self.record)
        self.records.write(batch, self.record)
        writer = self.handing.rows().writeStream.foreachBatch(told_briefly(self._take))
        writer = writer.option("checkpointLocation", self.checkpoint).trigger(**trigger)
        self.query = writer.queryName(f"{self.node} relays").start()
        return self.query

    def _take(self, batch: DataFrame, number: int) -> None:
        """The whole of a batch, up to its control point."""
        spark = batch.sparkSession
        spark.conf.set("spark.sql.adaptive.enabled", "false")  # there is nothing to adapt to
        self.bearing.enter()
        # Rows are counted, and then go to each box: they are read once.
        batch = batch.persist()
        try:
            out, looks = self.handing.passed(batch, self.record.orders, number)
            if number == self._again:
                written = self.handing.written(spark, number, self.record.written)
                out = out.join(written, ["topic", "key"], "left_anti")
            control = self.links.pipeline.control
            options = {"kafka.acks": "all", **control.options}
            options["kafka.bootstrap.servers"] = control.servers
            out.write.format("kafka").options(**options).save()
        finally:
            batch.unpersist()
        self._end(number, looks)

    def _end(self, number: int, looks: Sequence[Mapping[str, Any]]) -> None:
        """The control point: promises, decisions, the record of the next batch."""
        before = self.record
        seen, promised, accounts = dict(before.seen), dict(before.promised), before.accounts
        for gate, look in zip(self.gates, looks, strict=True):
            name = gate.stream
            seen[name] = before.seen.get(name, Seen()).after(look["newest"])
            source, newest = self.handing.sources[name], seen[name].newest
            up_to = look["up_to"]
            if name not in self.links.queries and newest is not None:
                up_to = newest - source.slack
            if up_to is not None:
                promised[name] = max(up_to, promised.get(name, up_to))
        places = self._promise(promised)
        # Of a batch that is run again, some were written by the first attempt.
        handed = {} if number == self._again else between(self._places, places)
        self._places |= places
        accounts = _added(accounts, self.gates, looks)
        bears = self.bearing.step(number, looks, self.query, self.keeps(1.0), handed)
        keeps = self.keeps(bears)
        widest = max(seen.values(), key=lambda one: one.newest or 0)
        state, orders = decided(before.state, self.gates, keeps, widest, number + 1)
        record = Record(
            Orders(number + 1, (), orders, ()),
            state,
            seen,
            promised,
            accounts,
            int(time.time() * 1000),
        )
        self._announce(record)
        self.records.write(number + 1, record)
        self.record, self._again = record, -1

    def _promise(self, promised: Mapping[str, int]) -> dict[str, int]:
        """Tells readers how far rows have come; all that is older is in their topic by now.

        Returns:
            box → the place of this in its topic.
        """
        pipeline, places = self.links.pipeline, dict[str, int]()
        for box in self.boxes:
            inputs = pipeline.network.box[box].inputs
            if all(name in promised for name in inputs):
                at = datetime.fromtimestamp(min(promised[n] for n in inputs) / 1e6, UTC)
                text = at.isoformat(timespec="microseconds").replace("+00:00", "Z")
                place = self.bus.put(pipeline.topic(box), [json.dumps({UP_TO: text}).encode()])
                if place is not None:
                    places[box] = place
        return places

    def _announce(self, record: Record) -> None:
        """Tells which windows are dropped, before any row of them is."""
        names = {target.name for gate in self.gates for target in gate.targets}
        if any(record.state.runs(name) for name in names):
            message = self.mailbox.write("dropped", announced(record.state, sorted(names)))
            self.bus.send([message], surely=True)

    @property
    def accounts(self) -> Accounts:
        """Box → its rows, and those of them that were kept, shed, or had no time."""
        return self.record.accounts

    def _tell(self, problem: str) -> None:
        self.problems.append(problem)
        _log.warning(problem)


def between(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    """The rows that each box has handed on between two promises.

    A topic has one partition, and only its node writes there: so nobody need count them, which
    would be to compute them twice.

    Args:
        before: box → the place of its last promise; none of a box that has made none yet.
        now: box → the place of the next one.

    >>> between({"a1": 7, "a2": 9}, {"a1": 12, "a2": 10, "a3": 4})
    {'a1': 4, 'a2': 0}
    """
    known = {box: place - before[box] - 1 for box, place in now.items() if box in before}
    return {box: rows for box, rows in known.items() if rows >= 0}  # or it is another topic


def _added(
    accounts: Accounts, gates: Sequence[Gate], looks: Sequence[Mapping[str, Any]]
) -> dict[str, dict[str, int]]:
    found = {box: dict(rows) for box, rows in accounts.items()}
    for gate, look in zip(gates, looks, strict=True):
        mine = found.setdefault(gate.box, dict.fromkeys(_COUNTS, 0))
        for name in _COUNTS:
            mine[name] += int(look[name] or 0)
    return found
