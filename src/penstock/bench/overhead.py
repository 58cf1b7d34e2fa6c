"""What drops cost: in place with nothing to drop, and for each row that they drop.

Two streams without drops and two with drops take turns over the same files, batch by batch
(`turns`), until Java is warm with what is generated for them, and then to be measured. So there is
an A/A run in each comparison: the two without drops against each other. Both kinds are there twice,
for Java gets warm with code that two streams share in half the time. What a row costs is the
difference between large and small batches, so what a batch costs by itself is left out.

Throughput is that of batches of the size that a stream at its capacity has: a second or two, as
half of a latency target is. In smaller ones what a batch costs by itself is most of it, with drops
and without: `seconds` has both.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock import sources
from penstock.bench import overhead_kafka, turns
from penstock.bench.data import source
from penstock.bench.overhead_kafka import Start, batch_seconds
from penstock.bench.packets import SCHEMA, WORKLOAD, ours, write
from penstock.bench.turns import Ratio, ratio
from penstock.engine.network_run import NetworkRun

MILLION = 1_000_000
SIZES, SELECTIVITIES = (25, 50, 75, 100), (1.0, 0.5)
"""Table 4 of the paper: lengths of windows in seconds, and shares of rows that a filter passes."""
WANTED = {"overhead": 0.97, "dropped_row": 0.15}
NOTHING = 0.001
"""The share of rows that is kept where all but none are dropped."""
WARM, MEASURED = 3, 5
"""Turns of each stream before it is measured, and those that are."""
PER_BATCH = 16
"""Files of a batch in which nothing is dropped."""
MANY, FEW = 16, 4
"""Files of a large and of a small batch, for what a dropped row costs."""
LARGE = 4
"""Large batches of each run for that; the first is start-up."""


def run(spark: SparkSession, *, quick: bool, say: Callable[[str], None]) -> dict[str, object]:
    """Runs all of it.

    Args:
        spark: a session with two cores.
        quick: fewer rows, and two of the eight cases.
        say: where progress goes.
    """
    rows, warm, measured = (MILLION, WARM, MEASURED) if not quick else (MILLION // 10, 2, 3)
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as name:
        folder = Path(name)
        (folder / "data").mkdir()
        say("writing packets")
        # One batch is start-up, and behind the last turn there has to be another one.
        files = write(spark, folder / "data", PER_BATCH * (warm + measured + 2), rows)
        some = _Some(FEW, MANY, files[: MANY * LARGE]) if not quick else _Some(1, 2, files[:4])
        case = _Case(spark, folder, some)
        found: dict[str, _Compared] = {}
        listed = [(size, share) for share in SELECTIVITIES for size in SIZES]
        for size, share in listed if not quick else listed[::7]:
            say(f"windows of {size} s, {share:g} of the rows")
            found[f"{size}/{share}"] = one = case.compared(size, share, files, warm, measured)
            say(f"   {one.drops.value:.3f} {one.drops.interval}, A/A {one.a_a.value:.3f}")
        apart = [one.a_a.value for one in found.values()]
        return {
            "overhead": {name: round(one.drops.value, 3) for name, one in found.items()},
            "a_a": round(statistics.median(apart), 3),
            "a_a_range": [round(min(apart), 3), round(max(apart), 3)],
            "dropped_row": round(_dropped_row(case, say), 3),
            "dropped_row_kafka": _dropped_row_kafka(case, say),
            "wanted": WANTED,
            "rows": rows,
            "rows_per_batch": rows * PER_BATCH,
            "interval": {name: one.drops.interval for name, one in found.items()},
            "a_a_interval": {name: one.a_a.interval for name, one in found.items()},
            "by_work": {
                name: [round(one.worked.value, 3), *one.worked.interval]
                for name, one in found.items()
                if one.worked is not None
            },
            "seconds": {name: one.seconds for name, one in found.items()},
            "batches": {"warm_up": 2 * warm, "measured": 2 * measured},
        }


@dataclass(frozen=True)
class _Compared:
    """Without drops over with drops, and the two without over each other.

    Args:
        drops: the first.
        a_a: the second.
        worked: the first, by the work of processors; None if that is unknown.
        seconds: of a batch without drops, and with them.
    """

    drops: Ratio
    a_a: Ratio
    worked: Ratio | None
    seconds: list[float]


def _dropped_row(case: _Case, say: Callable[[str], None]) -> float:
    """What a row costs that is dropped, over one that is kept, reading left out."""
    few, many = case.some.few, case.some.many
    costs = []
    for what, build in (
        ("read", case.reading),
        ("dropped", lambda: case.seven(NOTHING)),
        ("kept", lambda: case.seven(1.0)),
    ):
        seconds = []
        case.seconds(build(), many)
        for files in (few, many):
            say(f"seven queries, rows that are {what}: {files} files a batch")
            seconds.append(statistics.median(case.seconds(build(), files)))
        costs.append((seconds[1] - seconds[0]) / (many - few))
        say(f"   {seconds[0]:.2f} and {seconds[1]:.2f} s a batch")
    read, dropped, kept = costs
    return (dropped - read) / (kept - read)


def _dropped_row_kafka(case: _Case, say: Callable[[str], None]) -> float | None:
    """The same for rows from Kafka, reading included."""
    some = map(str, case.some.files[:FEW])
    packets = case.spark.read.schema(SCHEMA).parquet(*some)
    kinds = {"dropped": case.seven(NOTHING), "kept": case.seven(1.0)}
    ratio = overhead_kafka.dropped_row(packets, case.folder, kinds, say)
    return None if ratio is None else round(ratio, 3)


@dataclass(frozen=True)
class _Some:
    """Files for what a dropped row costs.

    Args:
        few: of a small batch.
        many: of a large one.
        files: all of them.
    """

    few: int
    many: int
    files: list[Path]


@dataclass
class _Case:
    spark: SparkSession
    folder: Path
    some: _Some
    runs: int = 0

    def seconds(self, start: Start, files: int) -> list[float]:
        """The seconds of each batch but the first, which is start-up."""
        self.runs += 1
        there = self.folder / f"source-{self.runs}"
        rows = source(self.spark, there, self.some.files, files, SCHEMA)
        return batch_seconds(start(rows, str(self.folder / f"checkpoint-{self.runs}")))

    def compared(
        self, size: int, share: float, files: list[Path], warm: int, measured: int
    ) -> _Compared:
        """Streams with and without drops, which take turns.

        Args:
            size: of their windows, in seconds.
            share: of the rows that their filter passes.
            files: `PER_BATCH` for each batch.
            warm: turns that do not count.
            measured: turns that do.
        """
        self.runs += 1
        where = self.folder / f"turns-{self.runs}"

        def starting(*, sheds: bool) -> turns.Start:
            def start(name: str, sink: turns.Sink) -> NetworkRun:
                there = where / f"source-{name}"
                rows = source(self.spark, there, files, PER_BATCH, SCHEMA)
                return self.window(size, share, sheds=sheds, sink=sink)(rows, str(where / name))

            return start

        without, within = starting(sheds=False), starting(sheds=True)
        kinds = {"without-1": without, "with-1": within, "without-2": without, "with-2": within}
        took = turns.taking_turns(kinds, warm + measured)
        of = {name: taken[warm:] for name, taken in took.items()}
        clock = {name: [turn.seconds for turn in taken] for name, taken in of.items()}
        worked = {name: [turn.worked for turn in taken] for name, taken in of.items()}

        def both(by: dict[str, list[float]], kind: str) -> list[list[float]]:
            return [by[f"{kind}-{number}"] for number in (1, 2)]

        exact, drops = both(clock, "without"), both(clock, "with")
        return _Compared(
            ratio(exact, drops),
            ratio(exact[:1], exact[1:]),
            ratio(both(worked, "without"), both(worked, "with")) if turns.worked() else None,
            [round(statistics.median(itertools.chain(*those)), 3) for those in (exact, drops)],
        )

    def window(
        self, size: int, share: float, *, sheds: bool, sink: turns.Sink = turns.look
    ) -> Start:
        """One query over windows, whose drops have nothing to drop."""

        def start(rows: DataFrame | sources.Source, checkpoint: str) -> NetworkRun:
            packets = ps.stream(rows, event_time="ts", name="packets", identity="number")
            if share < 1:
                packets = packets.where(passes(share))
            asked = packets.window(f"{size} s", every="5 s").agg(n=ps.count(), b=ps.sum("size"))
            query = asked.subset(max_gap=100) if sheds else asked
            return _start(ps.Network(windows=query), checkpoint, 1.0, sink)

        return start

    def seven(self, keep: float) -> Start:
        """The seven queries, of whose rows a share is kept."""

        def start(rows: DataFrame | sources.Source, checkpoint: str) -> NetworkRun:
            network = ours(rows, list(WORKLOAD))
            queries = {
                name: query.approximate()
                for name, query in network.queries.items()
                if isinstance(query, ps.WindowQuery)
            }
            return _start(ps.Network(**queries), checkpoint, keep)

        return start

    def reading(self) -> Start:
        """All columns of the packets, and no row is an answer."""

        def start(rows: DataFrame | sources.Source, checkpoint: str) -> NetworkRun:
            packets = ps.stream(rows, event_time="ts", name="packets", identity="number")
            columns = "ts, src_host, dst_host, protocol, dst_port, size"
            network = ps.Network(none=packets.where(f"hash({columns}, number) = 1"))
            return _start(network, checkpoint, None)

        return start


def passes(share: float) -> str:
    """A predicate that holds for a share of the packets, of any number of them.

    Their numbers follow each other; of their sizes a third is 1500.
    """
    return f"number % 100 < {round(share * 100)}"


def _start(
    network: ps.Network, checkpoint: str, keep: float | None, sink: turns.Sink = turns.look
) -> NetworkRun:
    return network.start(
        checkpoint, sink=sink, trigger={"availableNow": True}, keep=1.0 if keep is None else keep
    )
