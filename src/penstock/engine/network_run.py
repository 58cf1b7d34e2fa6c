"""A network that runs: each of its parts is a Spark stream, whose batches go to the sinks."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from py4j.protocol import Py4JError
from pyspark import inheritable_thread_target
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from penstock.drops.plan import Plan
from penstock.engine.failures import cause
from penstock.engine.ledger import Ledger, as_dataframe
from penstock.engine.measure import Measure, Write
from penstock.engine.network import Network
from penstock.engine.part import Part
from penstock.engine.reading import Reading
from penstock.engine.rehearsal import Rehearsal
from penstock.engine.run import ACCOUNTS, Run, accounts_of
from penstock.engine.shed_accounts import SHED_ACCOUNTS, ShedAccounts
from penstock.engine.shedder import Mode, Shed, Shedder
from penstock.engine.together import check_types, united
from penstock.engine.window_query import WindowQuery
from penstock.errors import PenstockError, UsageError
from penstock.network.operators import Aggregate, base, feeds

_TURN = 0.2
"""Seconds that each of several streams is waited for in turn."""


class Writer(Protocol):
    """A sink as an object."""

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Takes the answers of a batch; the same number again replaces them."""


Sink = Write | Writer


@dataclass(frozen=True)
class RunningPart:
    """A Spark stream of a network, and the part that it computes."""

    run: Run
    part: Part | None
    queries: tuple[str, ...]
    measure: Measure | None = None
    shedder: Shedder | None = None
    ledger: Ledger | None = None
    rehearsal: Rehearsal | None = None

    def shed_accounts(self, reports: list[dict[str, Any]] | None = None) -> ShedAccounts | None:
        """What became of rows that may be dropped; None where none may be.

        Args:
            reports: Spark's, of batches; None for the last ones.
        """
        if self.part is None or self.shedder is None:
            return None
        told = self.run.progress if reports is None else reports
        return ShedAccounts(self.part, told, self.shedder.dropping)


@dataclass(frozen=True)
class NetworkRun:
    """A running network.

    Args:
        network: what runs.
        parts: its Spark streams.
    """

    network: Network
    parts: tuple[RunningPart, ...]

    @property
    def streams(self) -> list[StreamingQuery]:
        """Spark's own handles."""
        return [part.run.query for part in self.parts]

    def wait(self, seconds: float | None = None) -> bool:
        """Waits until all streams end; True if they have. A failure is raised as `StreamFailed`.

        Args:
            seconds: how long to wait at most; None for as long as it takes.
        """
        try:
            return self._wait(seconds)
        finally:
            self._catch_up()

    def _wait(self, seconds: float | None) -> bool:
        if len(self.parts) == 1:
            return self.parts[0].run.wait(seconds)
        until = None if seconds is None else time.monotonic() + seconds
        while True:  # one after the other, so that the failure of any is seen
            if all([part.run.wait(_TURN) for part in self.parts]):  # noqa: C419 - each is asked
                return True
            if until is not None and time.monotonic() >= until:
                return False

    def stop(self) -> None:
        """Stops all streams; they can be started again from their checkpoint."""
        for part in self.parts:
            if part.rehearsal is not None:
                part.rehearsal.cancel()
            part.run.stop()
        self._catch_up()

    def _catch_up(self) -> None:
        """Learns from the last batches too, and keeps their malformed records."""
        for part in self.parts:
            if part.measure is not None:
                part.measure.take(part.run.progress)
            if part.ledger is not None:
                part.ledger.take(part.run.progress)

    def statistics(self) -> Reading:
        """What has been learnt of operators, streams and queries, up to the last batch."""
        self._catch_up()
        measures = (part.measure for part in self.parts)
        return Reading(tuple(one.statistics.now for one in measures if one is not None))

    def shed(
        self,
        keep: float | Mapping[str, float] = 1.0,
        drop: float | Mapping[str, float] = 0.0,
        *,
        mode: Mode | None = None,
    ) -> None:
        """Drops so much, from the next batch on that is not decided yet.

        Args:
            keep: the share of rows to keep, of all queries with approximate answers or of each by
                name.
            drop: the share of windows to drop, of all queries with subset answers or of each by
                name.
            mode: "on", "monitor" or "off"; None leaves it as it is.
        """
        for part in self.parts:
            if part.shedder is not None:
                mine = _mine(keep, part.queries), _mine(drop, part.queries)
                part.shedder.ask(part.shedder.by_hand(*mine))
                part.shedder.mode = mode or part.shedder.mode

    def ledger(self) -> DataFrame:
        """What became of every window of the queries with subset answers.

        Its fate is "delivered", "dropped", "revoked" (dropped when it was open already), "empty",
        or "lost" if it is not delivered because a record of the plan could not be read; `decision`
        is the batch for which it was dropped, `batch` the one that closed it.
        """
        self._catch_up()
        books = [part.ledger for part in self.parts if part.ledger is not None]
        query = next(iter(self.network.queries.values()))
        stream = query.stream if isinstance(query, WindowQuery) else query
        spark = stream.rows.sparkSession
        return as_dataframe(spark, [row for book in books for row in book.rows()])

    @property
    def plan(self) -> Plan:
        """What is asked to be dropped now."""
        plans = [part.shedder.plan for part in self.parts if part.shedder is not None]
        return Plan(
            tuple(drop for plan in plans for drop in plan.random),
            tuple(drop for plan in plans for drop in plan.windows),
            tuple(name for plan in plans for name in plan.closed),
        )

    @property
    def accounts(self) -> dict[str, dict[str, int]]:
        """Query → its rows, and those of them that count in no window or not in all of theirs.

        They are reported when the watermark has passed them.
        """
        found: dict[str, dict[str, int]] = {}
        for running in self.parts:
            progress = running.run.progress
            if running.part is None:
                found[running.queries[0]] = {
                    name: sum(accounts_of(batch)[name] for batch in progress) for name in ACCOUNTS
                }
                continue
            shed = running.shed_accounts(progress)
            for name in running.queries:
                found[name] = _accounts(running.part, name, progress)
                if shed is not None:
                    batches = shed.of(name).values()
                    found[name] |= {what: sum(b[what] for b in batches) for what in SHED_ACCOUNTS}
        return found


def launch(
    network: Network,
    checkpoint: str,
    sink: Sink | None,
    sinks: Mapping[str, Sink],
    *,
    trigger: dict[str, Any] | None,
    shed: Shed,
) -> NetworkRun:
    """Starts the Spark streams of a network, all or none."""
    several = len(network.split.parts) + len(network.split.alone) > 1
    started: list[RunningPart] = []
    try:
        for number, graph in enumerate(network.split.parts):
            where = f"{checkpoint}/part-{number}" if several else checkpoint
            part = network.part(graph, where)
            frame = part.frame()
            names, measure = tuple(graph.queries), Measure(part)
            if sink is not None:
                each = part.answers(frame)
                check_types({name: each[name] for name in names if name not in sinks})
            shedder, ledger = None, None
            if part.shared_sheds:
                shedder = Shedder(part, where, mode=shed.mode)
                shedder.ask(shedder.by_hand(_mine(shed.keep, names), _mine(shed.drop, names)))
                shedder.begin()
                ledger = Ledger(shedder, part.metric or "")
            control = _Control(measure, shedder, ledger)
            deliver = _delivery(part, names, sink, sinks, control)
            run = _start(frame, where, deliver, trigger, ", ".join(names))
            measure.stream = run.query
            rehearsal = Rehearsal(part, measure)
            if not _ends(trigger):
                rehearsal.start()
            started.append(RunningPart(run, part, names, measure, shedder, ledger, rehearsal))
        for name in network.split.alone:
            query = network.queries[name]
            assert isinstance(query, WindowQuery)  # noqa: S101 - the split has looked
            where = f"{checkpoint}/{name}" if several else checkpoint
            write = _write_one(name, sink, sinks)
            run = query.start(where, foreach_batch=write, trigger=trigger)
            started.append(RunningPart(run, None, (name,)))
    except (PySparkException, Py4JError, ValueError, TypeError, PenstockError) as error:
        NetworkRun(network, tuple(started)).stop()
        if isinstance(error, PenstockError):
            raise
        raise UsageError(f"the network cannot start: {cause(str(error))}") from error
    return NetworkRun(network, tuple(started))


def _ends(trigger: Mapping[str, Any] | None) -> bool:
    """Whether a stream ends by itself: then it is not worth a calibration."""
    return bool({"availableNow", "once"} & (trigger or {}).keys())


def _start(
    frame: DataFrame, checkpoint: str, deliver: Write, trigger: dict[str, Any] | None, name: str
) -> Run:
    writer = frame.writeStream.outputMode("append").option("checkpointLocation", checkpoint)
    writer = writer.trigger(**trigger) if trigger is not None else writer
    return Run(writer.foreachBatch(deliver).start(), name, name)


@dataclass(frozen=True)
class _Control:
    """What is done at the end of a batch, when its answers are delivered and it is not committed.

    What Spark says of a batch comes with its commit: so this learns from the one before.
    """

    measure: Measure
    shedder: Shedder | None
    ledger: Ledger | None

    def end(self, batch: int) -> None:
        """Learns, says what the next batch shall drop, and keeps the books."""
        self.measure.catch_up()
        if self.shedder is not None:
            self.shedder.follow(batch, self.measure.newest)
        if self.ledger is not None and self.measure.last is not None:
            self.ledger.take([self.measure.last])


def _delivery(
    part: Part,
    names: tuple[str, ...],
    sink: Sink | None,
    sinks: Mapping[str, Sink],
    control: _Control,
) -> Write:
    """What is done with each batch: one action where all answers go to one place."""
    common = [name for name in names if name not in sinks]
    own = any(name in sinks for name in names)
    several = own or not part.in_one_pass

    def deliver(batch: DataFrame, number: int) -> None:
        if not own and sink is not None:
            writes(sink)(part.together(batch), number)
            return
        answers = part.answers(batch)
        todo = [(writes(sinks[name]), answers[name]) for name in names if name in sinks]
        if common and sink is not None:
            todo.append((writes(sink), united({name: answers[name] for name in common})))
        with ThreadPoolExecutor(len(todo)) as pool:
            # A thread of ours has to belong to the stream, for its jobs to end with it.
            belonging = inheritable_thread_target(batch.sparkSession)
            jobs = [pool.submit(belonging(write), rows, number) for write, rows in todo]
            for job in jobs:
                job.result()

    def kept_and_delivered(batch: DataFrame, number: int) -> None:
        # Each sink, and each look, is an action of its own, and must not run the stream again.
        look = control.measure.due
        batch = batch.persist() if several or look else batch
        try:
            deliver(batch, number)
            if look:
                control.measure.look(batch)
        finally:
            if several or look:
                batch.unpersist()
        control.end(number)

    return kept_and_delivered


def _mine(
    given: float | Mapping[str, float], names: tuple[str, ...]
) -> float | Mapping[str, float]:
    if not isinstance(given, Mapping):
        return given
    return {name: share for name, share in given.items() if name in names}


def _write_one(name: str, sink: Sink | None, sinks: Mapping[str, Sink]) -> Write:
    if name in sinks:
        return writes(sinks[name])
    assert sink is not None  # noqa: S101 - every query has a sink
    write = writes(sink)
    return lambda batch, number: write(united({name: batch}), number)


def writes(sink: Sink) -> Write:
    """A sink as a function."""
    return sink.write if hasattr(sink, "write") else sink


def _accounts(part: Part, name: str, progress: list[dict[str, Any]]) -> dict[str, int]:
    total = dict.fromkeys(("rows", *ACCOUNTS[:-1]), 0)
    node = part.graph.queries[name]
    of = {one for feed in feeds(node) if isinstance(one := base(feed), Aggregate)}
    for batch in progress:
        seen = batch.get("observedMetrics", {}).get(part.metric or "", {})
        for aggregate in of:
            number = part.shared.number[aggregate]
            for what in total:
                total[what] += seen.get(f"a{number}_{what}", 0)
    return total
