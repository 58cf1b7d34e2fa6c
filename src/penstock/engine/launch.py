"""The Spark streams of a network are started, each with all that measures and decides in it.

batch ─► answers ─► sinks ─► control point ─► commit
                             │ learn from the batch before
                             │ decide what the next one drops
                             └ keep the books
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from penstock.engine.chronicle import Chronicle
from penstock.engine.closing import Closing
from penstock.engine.control_point import Control
from penstock.engine.deliver import Sink, delivery, write_one
from penstock.engine.failures import cause, hiding
from penstock.engine.floors import floored, rows_by_bucket
from penstock.engine.interrupted import told_briefly
from penstock.engine.latest import Latest
from penstock.engine.ledger import Ledger
from penstock.engine.ledger_beside import Beside
from penstock.engine.measure import Measure, Write
from penstock.engine.network_run import NetworkRun, RunningPart, mine
from penstock.engine.part import Part
from penstock.engine.pulse import Pulse
from penstock.engine.regulation import Regulation
from penstock.engine.rehearsal import Rehearsal
from penstock.engine.run import Run
from penstock.engine.shedder import Shedder
from penstock.engine.together import check_types
from penstock.engine.totals import Totals
from penstock.engine.wanted import Wanted, settings_of
from penstock.engine.watermark import watermark_of
from penstock.engine.window_query import WindowQuery
from penstock.errors import PenstockError, UsageError
from penstock.network.graph import Graph
from penstock.planning.regulator import Regulator
from penstock.windows import parse_duration

if TYPE_CHECKING:
    from penstock.engine.network import Network

_SECOND = 1e6


def launch(
    network: Network,
    checkpoint: str,
    sink: Sink | None,
    sinks: Mapping[str, Sink],
    *,
    trigger: dict[str, Any] | None,
    wanted: Wanted,
) -> NetworkRun:
    """Starts the Spark streams of a network, all or none."""
    several = len(network.split.parts) + len(network.split.alone) > 1
    started: list[RunningPart] = []
    try:
        for number, graph in enumerate(network.split.parts):
            where = f"{checkpoint}/part-{number}" if several else checkpoint
            started.append(
                _launched(network, graph, where, sink, sinks, trigger=trigger, wanted=wanted)
            )
        for name in network.split.alone:
            query = network.queries[name]
            assert isinstance(query, WindowQuery)  # noqa: S101 - the split has looked
            where = f"{checkpoint}/{name}" if several else checkpoint
            write = write_one(name, sink, sinks)
            run = query.start(where, foreach_batch=write, trigger=trigger)
            started.append(RunningPart(run, None, (name,)))
    except (PySparkException, Py4JError, ValueError, TypeError, PenstockError) as error:
        NetworkRun(network, tuple(started)).stop()
        if isinstance(error, PenstockError):
            raise
        said = hiding(network.graph.sources)(str(error))
        raise UsageError(f"the network cannot start: {cause(said)}") from None
    return NetworkRun(network, tuple(started))


def _launched(
    network: Network,
    graph: Graph,
    where: str,
    sink: Sink | None,
    sinks: Mapping[str, Sink],
    *,
    trigger: dict[str, Any] | None,
    wanted: Wanted,
) -> RunningPart:
    part = network.part(graph, where)
    frame = part.frame()
    names, measure = tuple(graph.queries), Measure(part)
    if sink is not None:
        each = part.answers(frame)
        check_types({name: each[name] for name in names if name not in sinks})
    pulse = Pulse(_interval(trigger))
    shedder, ledger, regulation = None, None, None
    if part.shared_sheds:
        shedder = Shedder(part, where, mode=wanted.mode)
        measure.dropping, measure.kept = shedder.dropping, shedder.kept
        shedder.ask(shedder.ordering.by_hand(mine(wanted.keep, names), mine(wanted.drop, names)))
        shedder.begin()
        beside = Beside.of(network.split.parts.index(graph), names, sink, sinks)
        ledger = Ledger(shedder, part.metric or "", beside)
        if wanted.latency is not None:
            wants = settings_of(part.kinds)
            folds = [[graph.names[a] for a in fold.aggregates] for fold in part.shared.folds]
            regulator = Regulator(
                graph,
                wants,
                wanted.latency,
                pulse.interval,
                wanted.limits,
                folds,
                filters=_filters(part, timed=True),
                sampled=_filters(part, timed=False),
            )
            regulation = Regulation(regulator, shedder, measure, pulse)
    chronicle = Chronicle(part, pulse, shedder, regulation, ledger, Totals(where))
    control = Control(measure, pulse, shedder, ledger, regulation, chronicle, Latest(part))
    specs = [aggregate.query.spec for aggregate in part.aggregates]
    closing = Closing(specs, partial(watermark_of, where))
    deliver = _controlled(part, delivery(part, names, sink, sinks), sinks, control, closing)
    run = _start(frame, where, deliver, trigger, ", ".join(names))
    measure.stream = run.query
    rehearsal = Rehearsal(part, measure)
    if not _ends(trigger):
        rehearsal.start()
    return RunningPart(run, part, names, control, rehearsal)


def _filters(part: Part, *, timed: bool) -> dict[str, tuple[str, ...]]:
    """Aggregate → what its rows are asked, of streams whose rows are asked their time too, or not.

    Args:
        part: the part of the network.
        timed: which of them.
    """
    return {
        part.graph.names[a]: question.predicates
        for source in part.shared.rows
        if part.asks(source) and part.asks_times(source) == timed
        for question in part.asked[source]
        for a in question.aggregates
        if a in part.asking
    }


def _controlled(
    part: Part, deliver: Write, sinks: Mapping[str, Sink], control: Control, closing: Closing
) -> Write:
    several = any(name in sinks for name in part.graph.queries) or not part.in_one_pass

    def kept_and_delivered(batch: DataFrame, number: int) -> None:
        control.pulse.enter()
        # Each sink, and each look, is an action of its own, and must not run the stream again.
        look, shown = control.measure.due, control.latest.due
        # Where no window is over a look would find nothing, and cost as much as if it did.
        if (look or shown) and not (part.set_valued.queries or closing.may_have_answers(number)):
            look = shown = False
        sized = control.shedder if part.shared_sheds and floored(part.shared) else None
        keep = several or look or shown or sized is not None
        batch = batch.persist() if keep else batch
        try:
            deliver(batch, number)
            if sized is not None:
                sized.see(rows_by_bucket(part, batch))
            if look:
                control.measure.look(batch)
            if shown:
                control.latest.take(batch)
        finally:
            if keep:
                batch.unpersist()
        control.end(number)

    return kept_and_delivered


def _ends(trigger: Mapping[str, Any] | None) -> bool:
    """Whether a stream ends by itself: then it is not worth a calibration."""
    return bool({"availableNow", "once"} & (trigger or {}).keys())


def _interval(trigger: Mapping[str, Any] | None) -> float:
    """Of the trigger, in seconds; 0 if batches follow each other at once."""
    given = (trigger or {}).get("processingTime")
    return parse_duration(given, "processingTime") / _SECOND if given is not None else 0.0


def _start(
    frame: DataFrame, checkpoint: str, deliver: Write, trigger: dict[str, Any] | None, name: str
) -> Run:
    writer = frame.writeStream.outputMode("append").option("checkpointLocation", checkpoint)
    writer = writer.trigger(**trigger) if trigger is not None else writer
    return Run(writer.foreachBatch(told_briefly(deliver)).start(), name, name)
