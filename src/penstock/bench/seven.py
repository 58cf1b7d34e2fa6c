"""The seven queries over packets: their exact answers, and those of a stream that sheds."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.bench.data import source
from penstock.bench.deviations import Windows
from penstock.bench.packets import RATE, SCHEMA, START, WORKLOAD, ours, write
from penstock.control.moments import Answers, Moments
from penstock.drops.plan import Plan
from penstock.engine.deliver import Sink
from penstock.engine.network_run import NetworkRun
from penstock.windows.durations import SECOND

Exact = tuple[Windows, list[Moments]]
"""The answers of a query, and the moments of the values of each of its groups."""


@dataclass(frozen=True)
class Packets:
    """Packets in files.

    Args:
        spark: a session.
        files: in order; a batch of a stream takes one.
        begin: the time of the first one, in microseconds since the epoch.
        end: the time after the last one.
        rate: per second of event time.
    """

    spark: SparkSession
    files: list[Path]
    begin: int
    end: int
    rate: int

    @classmethod
    def written(
        cls,
        spark: SparkSession,
        folder: Path,
        files: int,
        rows: int,
        *,
        rate: int = RATE,
        first: int = 0,
    ) -> Packets:
        """Writes packets; see `penstock.bench.packets.write`."""
        folder.mkdir()
        made = write(spark, folder, files, rows, rate=rate, first=first)
        apart = SECOND // rate
        begin = START + first * apart
        return cls(spark, made, begin, begin + files * rows * apart, rate)

    def whole(self, windows: DataFrame) -> DataFrame:
        """The windows that are full, and that a stream over these packets closes."""
        begins, ends = "unix_micros(window_start)", "unix_micros(window_end)"
        return windows.where(f"{begins} >= {self.begin} AND {ends} < {self.end}")


def exact(of: Packets) -> dict[str, Exact]:
    """What the queries answer if nothing is dropped."""
    rows = of.spark.read.schema(SCHEMA).parquet(*map(str, of.files))
    found: dict[str, Exact] = {}
    queries = {name: _with_squares(query) for name, query in _queries(rows).items()}
    for name, windows in ps.Network(**queries).batch().items():
        _, keys, *_, summed = WORKLOAD[name]
        sums = ("bytes", "squares") if summed else ("n", "n")
        seen = of.whole(windows).select("window_end", *keys, "n", *sums).collect()
        each = [(r[0], tuple(r[1:-3]), r[-3], float(r[-2]), float(r[-1])) for r in seen]
        values: dict[Hashable, dict[Hashable, float]] = defaultdict(dict)
        for window, group, _, total, _ in each:
            values[window][group] = total
        found[name] = values, list(Answers.of(each).groups.values())
    return found


def shed(
    of: Packets, folder: Path, keep: Mapping[str, float], plan: Plan
) -> tuple[dict[str, Windows], float]:
    """What the queries answer on a stream that drops as planned, and the seconds of a batch.

    Args:
        of: the packets.
        folder: for the stream.
        keep: query → the share of its rows that the first batch keeps, as the plan has it.
        plan: what is dropped from then on.
    """
    found: dict[str, dict[Hashable, dict[Hashable, float]]]
    found = {name: defaultdict(dict) for name in WORKLOAD}

    def sink(batch: DataFrame, number: int) -> None:  # noqa: ARG001 - sinks are called with both
        for row in of.whole(batch).collect():
            _, keys, *_, summed = WORKLOAD[row["query"]]
            group = tuple(row[key] for key in keys)
            value = row["bytes"] if summed else row["n"]
            found[row["query"]][row["window_end"]][group] = float(value)

    run = started(of, folder, keep, sink)
    for part in run.parts:
        assert part.shedder is not None  # noqa: S101 - all answers are approximate
        part.shedder.ask(plan)
    run.wait()
    told = [one for part in run.parts for one in part.run.progress if one["numInputRows"]]
    seconds = [one["durationMs"]["triggerExecution"] / 1000 for one in told[1:]]
    return dict(found), statistics.median(seconds)  # the first is start-up


def _look(batch: DataFrame, _: int) -> None:
    batch.write.format("noop").mode("overwrite").save()


def started(of: Packets, folder: Path, keep: Mapping[str, float], sink: Sink = _look) -> NetworkRun:
    """The queries as a stream with approximate answers, one file a batch.

    Args:
        of: the packets.
        folder: for the stream.
        keep: query → the share of its rows that is kept.
        sink: where answers go.
    """
    rows = source(of.spark, folder / "source", of.files, 1, SCHEMA)
    network = ps.Network(**{n: query.approximate() for n, query in _queries(rows).items()})
    checkpoint = str(folder / "checkpoint")
    return network.start(checkpoint, sink=sink, trigger={"availableNow": True}, keep=keep)


def _queries(rows: DataFrame) -> dict[str, ps.WindowQuery]:
    queries = ours(rows, list(WORKLOAD)).queries
    return {name: query for name, query in queries.items() if isinstance(query, ps.WindowQuery)}


def _with_squares(query: ps.WindowQuery) -> ps.WindowQuery:
    asked = {**query.query.aggregates, "squares": ps.sum("size * size")}
    return ps.WindowQuery(query.stream, replace(query.query, aggregates=asked))
