"""A node that runs: its streams, what it hears, and what it does about it.

    bus ──► mailbox ─┬─► member ──► keeps ──► gates, network
                     └─► windows that others have dropped
    streams ──► statistics ──► member ──► bus

The streams need nobody: while the coordinator, a neighbour or the control topic is away they go on
with the last plan. A stream that fails because a broker is away is started again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import SparkSession

from penstock.control.snapshot import Snapshot
from penstock.engine.fleet.answering import Answering
from penstock.engine.fleet.bus import Bus, BusDown
from penstock.engine.fleet.last_plan import LastPlan
from penstock.engine.fleet.links import Links
from penstock.engine.fleet.relay import Relay
from penstock.errors import (
    PenstockError,
    RecordDamaged,
    StreamFailed,
    UsageError,
    complaint,
    did_you_mean,
)
from penstock.fleet.dropped import Runs, Withheld
from penstock.fleet.gates import keeps_of
from penstock.fleet.member import Alone, Follower, Member
from penstock.fleet.messages import COORDINATOR, Mailbox, Message
from penstock.fleet.neighbour import Neighbour
from penstock.fleet.pipeline import Pipeline
from penstock.fleet.prepared import Prepared
from penstock.network.secrets import filled
from penstock.nodes.lookup import Plans

_log = logging.getLogger(__name__)

_PAUSE, _SHORT, _TRIES = 2.0, 20.0, 5
"""Seconds before a stream is started again; one that ran for less than so many seconds has failed
at once, and is given up after so many times."""

_LOOK = 1.0
"""Seconds after which it is looked again what was measured."""


def with_variables(pipeline: Pipeline, environ: Mapping[str, str]) -> Pipeline:
    """The pipeline with variables of the environment in its control.

    Args:
        pipeline: as the file says.
        environ: the variables.
    """
    place, of = f"{pipeline.file}: [control]", pipeline.control
    control = replace(
        of,
        servers=filled(of.servers, environ, place),
        options=filled(dict(of.options), environ, place),
        client=filled(dict(of.client), environ, place),
    )
    return replace(pipeline, control=control)


@dataclass
class NodeRun:
    """A node of a pipeline.

    Args:
        pipeline: what the file says.
        node: its name.
        checkpoint: a folder of its own.
        environ: the variables that `${NAME}` stands for.
        log: takes a line for all that is worth one.
        plans: made in advance, for a node that asks nobody; None for the mode of the file.
    """

    pipeline: Pipeline
    node: str
    checkpoint: str
    environ: Mapping[str, str]
    log: Callable[[str], None]
    plans: Plans | None = None
    withheld: Withheld = field(default_factory=Withheld)
    relay: Relay | None = None
    answering: Answering | None = None
    seen: Snapshot | None = None
    _failures: int = 0
    _started: float = 0.0
    _looked: float = float("-inf")

    def __post_init__(self) -> None:
        names = [node.name for node in self.pipeline.network.nodes]
        if self.node not in names or not self.pipeline.boxes(self.node):
            hint = did_you_mean(self.node, names)
            raise UsageError(complaint("--node", "must be a node with boxes", self.node, hint))
        self.pipeline = with_variables(self.pipeline, self.environ)
        self.bus = Bus(self.pipeline.control)
        others = [name for name in names if name != self.node]
        self.mailbox = Mailbox(
            self.pipeline.control.name, self.node, [*others, COORDINATOR], time.time
        )
        self._plans = LastPlan(self.checkpoint)
        self.member = self._member()
        self._lock = threading.RLock()

    def _member(self) -> Member:
        pipeline = self.pipeline
        if self.plans is not None:
            return Prepared(pipeline.network, self.node, self.plans, self.log)
        match pipeline.control.mode:
            case "coordinator":
                return Follower(self.mailbox, time.time, self.log, self._plans.last())
            case "peers":
                return Neighbour(
                    pipeline.network,
                    self.node,
                    self.mailbox,
                    period=pipeline.period,
                    clock=time.time,
                    log=self.log,
                    last=self._plans.last(),
                )
        return Alone()

    def start(self) -> None:
        """Makes the topics that are not there, hears what was said, and starts the streams."""
        control = self.pipeline.control
        inputs = {name for box in self.pipeline.boxes(self.node) for name in box.inputs}
        handed = [box.name for box in self.pipeline.relays(self.node)]
        topics = [self.pipeline.topic(n) for n in (*handed, *inputs) if n in self._boxes]
        self.bus.create([control.topic, *topics])
        links = Links.of(self.pipeline, SparkSession.active(), self.environ)
        self._remember(self.bus.catch_up())
        if self.pipeline.relays(self.node):
            where = f"{self.checkpoint}/relays"
            self.relay = Relay(links, self.node, where, self.bus, self.mailbox, self._keeps)
        if self.pipeline.windows(self.node):
            where = f"{self.checkpoint}/answers"
            self.answering = Answering(links, self.node, where, self.all_dropped, self._dropped)
        self._send(self.member.start())
        self._begin()

    @property
    def _boxes(self) -> Mapping[str, Any]:
        return self.pipeline.network.box

    def _begin(self) -> None:
        trigger = {"processingTime": f"{int(self.pipeline.interval * 1000)} milliseconds"}
        self._started = time.monotonic()
        if self.relay is not None:
            self.relay.start(trigger)
        if self.answering is not None:
            self.answering.start(trigger)
            self.answering.hold(self.member.keeps)

    def _keeps(self, bears: float) -> tuple[float, ...]:
        assert self.relay is not None  # noqa: S101 - it asks
        return keeps_of(self.relay.gates, self.member.keeps, bears)

    def hear(self, messages: list[bytes]) -> None:
        """Takes note of what was said.

        Args:
            messages: as they arrived.
        """
        with self._lock:
            for data in messages:
                message = self.mailbox.read(data)
                if message is not None:
                    self._send(self._heard(message))

    def _remember(self, messages: list[bytes]) -> None:
        """Takes note of what was said before: of plans the last one, of tables nothing."""
        last: Message | None = None
        for data in messages:
            message = self.mailbox.read(data)
            if message is not None and message.kind == "dropped":
                self._heard(message)
            elif message is not None and message.kind == "plan":
                last = message
        if last is not None:
            self._send(self.member.hear(last))

    def _heard(self, message: Message) -> list[bytes]:
        if message.kind != "dropped":
            return self.member.hear(message)
        try:
            self.withheld.take(message.body)
        except RecordDamaged as error:
            # Not to know which windows are dropped would be to deliver them.
            raise StreamFailed(f"{message.sender!r} says what cannot be: {error}") from error
        return []

    def all_dropped(self) -> Mapping[str, Runs]:
        """The windows that others have dropped, all that was said until now included."""
        self.hear(self.bus.catch_up())
        return self._dropped()

    def _dropped(self) -> Mapping[str, Runs]:
        with self._lock:
            boxes = self.pipeline.windows(self.node)
            return {box.name: self.withheld.runs(box.name) for box in boxes}

    def turn(self) -> None:
        """Hears, plans and speaks, once; a stream that has failed is started again, or raised."""
        self.hear(self.bus.poll())
        # To ask Spark takes time of the streams.
        if time.monotonic() - self._looked >= _LOOK:
            self._looked, self.seen = time.monotonic(), self.snapshot()
        with self._lock:
            said = self.member.tick(self.seen)
        self._send(said)
        if self.answering is not None:
            self.answering.hold(self.member.keeps)
        if isinstance(self.member, Follower | Neighbour):
            self._plans.keep(self.member.plan)
        self._supervise()

    def snapshot(self) -> Snapshot | None:
        """What the node has measured."""
        seen = [self.relay.bearing.now] if self.relay is not None else []
        if self.answering is not None and (of := self.answering.now()) is not None:
            seen.append(of)
        if not seen:
            return None
        first, *more = seen
        for one in more:
            costs = replace(first.costs, fixed=first.costs.fixed + one.costs.fixed)
            first = replace(
                first,
                costs=costs,
                operators={**first.operators, **one.operators},
                streams={**first.streams, **one.streams},
            )
        return first

    def _send(self, messages: list[bytes]) -> None:
        if messages:
            self.bus.send(messages)

    def _supervise(self) -> None:
        failure = self.failure()
        if failure is None:
            return
        self.stop_streams()
        lasted = time.monotonic() - self._started
        self._failures = self._failures + 1 if lasted < _SHORT else 1
        self.log(f"failed: {failure}")
        if self._failures >= _TRIES and self._reachable():
            raise failure
        time.sleep(_PAUSE)
        try:
            self._begin()
        except PenstockError as error:
            self.log(f"failed: {error}")

    def _reachable(self) -> bool:
        try:
            self.hear(self.bus.catch_up())
        except BusDown:
            return False
        return True

    def failure(self) -> StreamFailed | None:
        """Why a stream has ended, if one has."""
        queries = [] if self.relay is None or self.relay.query is None else [self.relay.query]
        if self.answering is not None and self.answering.run is not None:
            queries += self.answering.run.streams
        for query in queries:
            if not query.isActive:
                error = query.exception()
                words = str(error).strip().splitlines()[0] if error is not None else "it has ended"
                return StreamFailed(f"node {self.node}: {words}", trace=str(error))
        return None if queries else StreamFailed(f"node {self.node} has no stream")

    def stop_streams(self) -> None:
        """Ends all streams; they can be started again."""
        if self.relay is not None and self.relay.query is not None:
            self.relay.query.stop()
        if self.answering is not None and self.answering.run is not None:
            self.answering.run.stop()

    def stop(self) -> None:
        """Ends all."""
        self.stop_streams()
        self.bus.close()
