"""A calibration: short runs over a sample tell how the costs of operators stand to each other.

A thousand rows of each stream, many times over and in memory, go through the network three ways,
first a few of them, so that it is known how many take no longer than the stream can bear:

    nothing is done to them              the fixed cost of a run
    they pass filters, maps and joins    … and these operators
    windows are computed as well         … and the windows

It is done once, beside the running stream and when Java is warm: earlier it would delay the stream
and measure the compiler. What reading and parsing cost it cannot tell; the stream itself will.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.control.calibration import calibrate
from penstock.control.prior import Prior
from penstock.control.settings import Warmup
from penstock.engine.flow import Flow
from penstock.engine.measure import Measure
from penstock.engine.part import Part
from penstock.engine.probe import first_rows
from penstock.engine.progress import without_punctuation
from penstock.engine.results import rows_of
from penstock.engine.step import quoted
from penstock.network.graph import Graph
from penstock.network.operators import (
    Aggregate,
    Handle,
    Map,
    Operator,
    Source,
    Union,
    base,
    depth,
    feeds,
    inputs,
)

SAMPLE, ROWS, TIMES = 1_000, 200_000, 3
"""Rows that are read, that a run works on at most, and how often it is run: once to warm up."""
TRIED, LONGEST = 5_000, 0.3
"""Rows that it is tried with before, and seconds that a run may take: it slows the stream down."""

_log = logging.getLogger(__name__)


@dataclass
class Rehearsal:
    """The calibration of a part of a network that runs.

    Args:
        part: what runs.
        measure: whose belief it corrects.
        after: seconds until it begins.
    """

    part: Part
    measure: Measure
    after: float = Warmup().seconds
    _timer: threading.Timer = field(init=False)

    def __post_init__(self) -> None:
        self._timer = threading.Timer(self.after, self.run)
        self._timer.daemon = True

    def start(self) -> None:
        """Waits, and runs in the background."""
        self._timer.start()

    def cancel(self) -> None:
        """Does not begin any more."""
        self._timer.cancel()

    def run(self) -> None:
        """Corrects the belief; where a stream has no rows, or anything fails, it stays as it is."""
        if self.measure.stream is None or not self.measure.stream.isActive:
            return
        try:
            samples = {s: first_rows(rows_of(s), SAMPLE) for s in self.part.graph.sources}
            known = {source: table for source, table in samples.items() if table is not None}
            if known.keys() == samples.keys():
                self.measure.believe(rehearsed(self.part, known, self.measure.prior))
        except Exception:  # noqa: BLE001 - the stream needs no calibration, and must not notice
            _log.debug("no calibration", exc_info=True)


def rehearsed(
    part: Part,
    samples: Mapping[Source, pa.Table],
    prior: Prior,
    clock: Callable[[], float] = time.perf_counter,
) -> Prior:
    """What operators are believed to cost, after runs over a sample.

    Args:
        part: of a network.
        samples: rows of each stream.
        prior: what is believed before.
        clock: seconds.
    """
    tried = _runs(part, samples, min(TRIED, ROWS), 2, clock)
    idle, *others = (seconds for _, seconds in tried[-1])
    each = max(others, default=0.0) - idle
    rows = min(ROWS, int(TRIED * LONGEST / each)) if each > 0 else ROWS
    runs = _runs(part, samples, max(rows, min(SAMPLE, ROWS)), TIMES, clock)
    found = calibrate(prior, [run for some in runs[1:] for run in some])
    # A run has no logs and no state to keep: what a batch costs in any case stays as believed.
    return replace(found, fixed=prior.fixed)


def _runs(
    part: Part,
    samples: Mapping[Source, pa.Table],
    many: int,
    times: int,
    clock: Callable[[], float],
) -> list[list[tuple[Mapping[str, float], float]]]:
    """Of each time, of each way: the rows that operators took in, and the seconds it took.

    Args:
        part: of a network.
        samples: rows of each stream.
        many: rows that a run works on.
        times: how often it is run.
        clock: seconds.
    """
    graph = part.graph
    rows = {source: _many(source, table, many) for source, table in samples.items()}
    try:
        idle = [frame.groupBy().count() for frame in rows.values()]
        flows = _flows(graph, rows)
        passing = {source: _counts(flow) for source, flow in flows.items()}
        there = {source: replace(source, rows=Handle(frame)) for source, frame in rows.items()}
        windowed = {name: _over(o, there) for name, o in graph.queries.items() if depth(o)}
        whole = Part(Graph(windowed), folding=part.folding).frame() if windowed else None
        rows_in = _rows_in(graph, flows, passing)
        windows = {graph.names[one] for one in graph.operators if isinstance(one, Aggregate)}
        below = {name: rows for name, rows in rows_in.items() if name not in windows}
        ways: list[tuple[Mapping[str, float], list[DataFrame]]] = [
            ({}, idle),
            (below, list(passing.values())),
            *([(rows_in, [whole])] if whole is not None else []),
        ]
        return [[(took_in, _timed(clock, way)) for took_in, way in ways] for _ in range(times)]
    finally:
        for frame in rows.values():
            frame.unpersist()


def _many(source: Source, table: pa.Table, many: int) -> DataFrame:
    spark = rows_of(source).sparkSession
    few = without_punctuation(spark.createDataFrame(table), source.progress)
    times = spark.range(-(-many // max(1, table.num_rows))).select(F.lit(1).alias("penstock_times"))
    found = few.crossJoin(F.broadcast(times)).drop("penstock_times").persist()
    found.count()
    return found


def _flows(graph: Graph, rows: Mapping[Source, DataFrame]) -> dict[Source, Flow]:
    flows = {source: Flow.over(source, frame) for source, frame in rows.items()}
    for one in graph.operators:
        for feed in feeds(one) if not depth(one) else ():
            of = base(feed)
            assert isinstance(of, Source)  # noqa: S101 - it stands on no windows
            flows[of].add(feed)
    return flows


def _counts(flow: Flow) -> DataFrame:
    """The rows that pass each operator; what a map computes is computed."""
    numbered = list(enumerate(flow.named))
    passed = [F.count_if(flow.passes(one)).alias(f"n{i}") for i, one in numbered]
    made = [
        F.bit_xor(F.xxhash64(*(F.col(quoted(c)) for c in flow.named[one].values()))).alias(f"x{i}")
        for i, one in numbered
        if isinstance(one, Map)
    ]
    return flow.frame.agg(*passed, *made)


def _rows_in(
    graph: Graph, flows: Mapping[Source, Flow], passing: Mapping[Source, DataFrame]
) -> dict[str, float]:
    """Of each operator on rows the rows that it takes in; that of streams is not worked on."""
    out: dict[Operator, float] = {}
    for source, flow in flows.items():
        row = passing[source].collect()[0]
        out |= {one: float(row[f"n{i}"]) for i, one in enumerate(flow.named)}
    found = {}
    for one in graph.operators:
        if not isinstance(one, Source) and not any(map(depth, inputs(one))):
            found[graph.names[one]] = sum(out[f] for i in inputs(one) for f in feeds(i))
    return found


def _over(operator: Operator, there: Mapping[Source, Source]) -> Operator:
    """The same operator over other rows."""
    match operator:
        case Source():
            return there[operator]
        case Union(inputs=several):
            return replace(operator, inputs=tuple(_over(one, there) for one in several))
    return replace(operator, input=_over(operator.input, there))


def _timed(clock: Callable[[], float], frames: Iterable[DataFrame]) -> float:
    began = clock()
    for frame in frames:
        frame.write.format("noop").mode("overwrite").save()
    return clock() - began
