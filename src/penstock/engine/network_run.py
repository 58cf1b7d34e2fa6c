"""A network that runs: each of its parts is a Spark stream, whose batches go to the sinks."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from penstock.engine.failures import cause
from penstock.engine.measure import Measure, Reading, Write
from penstock.engine.network import Network
from penstock.engine.part import Part, check_types
from penstock.engine.run import ACCOUNTS, Run, accounts_of
from penstock.engine.window_query import WindowQuery
from penstock.errors import PenstockError, UsageError
from penstock.network.operators import Aggregate, base, feeds


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
            seconds: how long to wait at most for each; None for as long as it takes.
        """
        ended = [part.run.wait(seconds) for part in self.parts]
        return all(ended)

    def stop(self) -> None:
        """Stops all streams; they can be started again from their checkpoint."""
        for part in self.parts:
            part.run.stop()

    def statistics(self) -> Reading:
        """What has been learnt of operators, streams and queries, up to the last batch."""
        known = [part for part in self.parts if part.measure is not None]
        for part in known:
            assert part.measure is not None  # noqa: S101 - they were chosen for it
            part.measure.take(part.run.progress)
        return Reading(tuple(p.measure.statistics.now for p in known if p.measure is not None))

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
            for name in running.queries:
                found[name] = _accounts(running.part, name, progress)
        return found


def launch(
    network: Network,
    checkpoint: str,
    sink: Sink | None,
    sinks: Mapping[str, Sink],
    trigger: dict[str, Any] | None,
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
            deliver = _delivery(part, names, sink, sinks)
            run = _start(frame, where, measure.around(deliver), trigger, ", ".join(names))
            measure.stream = run.query
            started.append(RunningPart(run, part, names, measure))
        for name in network.split.alone:
            query = network.queries[name]
            assert isinstance(query, WindowQuery)  # noqa: S101 - the split has looked
            where = f"{checkpoint}/{name}" if several else checkpoint
            write = _write_one(name, sink, sinks)
            run = query.start(where, foreach_batch=write, trigger=trigger)
            started.append(RunningPart(run, None, (name,)))
    except (PySparkException, Py4JError, ValueError, TypeError, PenstockError) as error:
        for running in started:
            running.run.stop()
        if isinstance(error, PenstockError):
            raise
        raise UsageError(f"the network cannot start: {cause(str(error))}") from error
    return NetworkRun(network, tuple(started))


def _start(
    frame: DataFrame, checkpoint: str, deliver: Write, trigger: dict[str, Any] | None, name: str
) -> Run:
    writer = frame.writeStream.outputMode("append").option("checkpointLocation", checkpoint)
    writer = writer.trigger(**trigger) if trigger is not None else writer
    return Run(writer.foreachBatch(deliver).start(), name, name)


def _delivery(
    part: Part, names: tuple[str, ...], sink: Sink | None, sinks: Mapping[str, Sink]
) -> Write:
    """What is done with each batch: one action where all answers go to one place."""
    common = [name for name in names if name not in sinks]
    if not sinks and sink is not None:
        write = writes(sink)
        return lambda batch, number: write(part.together(batch), number)

    def deliver(batch: DataFrame, number: int) -> None:
        # Each sink is an action of its own, and must not run the stream again.
        batch = batch.persist()
        try:
            answers = part.answers(batch)
            todo = [(writes(sinks[name]), answers[name]) for name in names if name in sinks]
            if common and sink is not None:
                rest = {name: answers[name] for name in common}
                todo.append((writes(sink), united(rest)))
            with ThreadPoolExecutor(len(todo)) as pool:
                for done in [pool.submit(write, rows, number) for write, rows in todo]:
                    done.result()
        finally:
            batch.unpersist()

    return deliver


def united(answers: Mapping[str, DataFrame]) -> DataFrame:
    """The answers of several queries, with the name of the query in `query`."""
    check_types(answers)
    labelled = [rows.select(F.lit(name).alias("query"), "*") for name, rows in answers.items()]
    first, *others = labelled
    for other in others:
        first = first.unionByName(other, allowMissingColumns=True)
    return first


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
