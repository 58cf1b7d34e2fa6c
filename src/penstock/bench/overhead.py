"""What drops cost: in place with nothing to drop, and for each row that they drop.

With and without drops take turns over the same files, so that a machine that is busy for a while is
so for both; the medians of their batches are compared. Each has run once before, for Java has to
get warm with what is generated for it. What a row costs is the difference between large and small
batches, so what a batch costs by itself is left out.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock import sources
from penstock.bench import overhead_kafka
from penstock.bench.data import source
from penstock.bench.overhead_kafka import Start, batch_seconds
from penstock.bench.packets import SCHEMA, WORKLOAD, ours, write
from penstock.engine.network_run import NetworkRun

MILLION = 1_000_000
SIZES, SELECTIVITIES = (25, 50, 75, 100), (1.0, 0.5)
"""Table 4 of the paper: lengths of windows in seconds, and shares of rows that a filter passes."""
WANTED = {"overhead": 0.97, "dropped_row": 0.15}
NOTHING = 0.001
"""The share of rows that is kept where all but none are dropped."""


def run(spark: SparkSession, *, quick: bool, say: Callable[[str], None]) -> dict[str, object]:
    """Runs all of it.

    Args:
        spark: a session with two cores.
        quick: fewer rows, and two of the eight cases.
        say: where progress goes.
    """
    rows, files = (MILLION, 16) if not quick else (MILLION // 10, 4)
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as name:
        folder = Path(name)
        (folder / "data").mkdir()
        say("writing packets")
        case = _Case(spark, folder, write(spark, folder / "data", files, rows))
        overhead, apart = {}, []
        listed = [(size, share) for share in SELECTIVITIES for size in SIZES]
        for size, share in listed if not quick else listed[::7]:
            say(f"windows of {size} s, {share:g} of the rows")
            without, within = [], []
            for _ in range(3):
                without.append(case.seconds(case.window(size, share, sheds=False), case.many))
                within.append(case.seconds(case.window(size, share, sheds=True), case.many))
            without, within = without[1:], within[1:]
            overhead[f"{size}/{share}"] = round(_median(without) / _median(within), 3)
            apart.append(_median(without[:1]) / _median(without[1:]))
        return {
            "overhead": overhead,
            "a_a": round(statistics.median(apart), 3),
            "a_a_range": [round(min(apart), 3), round(max(apart), 3)],
            "dropped_row": round(_dropped_row(case, say), 3),
            "dropped_row_kafka": _dropped_row_kafka(case, say),
            "wanted": WANTED,
            "rows": rows,
        }


def _dropped_row(case: _Case, say: Callable[[str], None]) -> float:
    """What a row costs that is dropped, over one that is kept, reading left out."""
    few, many = 1, case.many
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
    some = map(str, case.files[: len(case.files) // 4])
    packets = case.spark.read.schema(SCHEMA).parquet(*some)
    kinds = {"dropped": case.seven(NOTHING), "kept": case.seven(1.0)}
    ratio = overhead_kafka.dropped_row(packets, case.folder, kinds, say)
    return None if ratio is None else round(ratio, 3)


@dataclass
class _Case:
    spark: SparkSession
    folder: Path
    files: list[Path]
    runs: int = 0

    def seconds(self, start: Start, files: int) -> list[float]:
        """The seconds of each batch but the first, which is start-up."""
        self.runs += 1
        rows = source(self.spark, self.folder / f"source-{self.runs}", self.files, files, SCHEMA)
        return batch_seconds(start(rows, str(self.folder / f"checkpoint-{self.runs}")))

    @property
    def many(self) -> int:
        """Files of a large batch."""
        return max(2, len(self.files) // 4)

    def window(self, size: int, share: float, *, sheds: bool) -> Start:
        """One query over windows, whose drops have nothing to drop."""

        def start(rows: DataFrame | sources.Source, checkpoint: str) -> NetworkRun:
            packets = ps.stream(rows, event_time="ts", name="packets", identity="number")
            if share < 1:
                packets = packets.where(f"size % 100 < {round(share * 100)}")
            asked = packets.window(f"{size} s", every="5 s").agg(n=ps.count(), b=ps.sum("size"))
            query = asked.subset(max_gap=100) if sheds else asked
            return _start(ps.Network(windows=query), checkpoint, 1.0)

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


def _start(network: ps.Network, checkpoint: str, keep: float | None) -> NetworkRun:
    def sink(batch: DataFrame, _: int) -> None:
        batch.write.format("noop").mode("overwrite").save()

    return network.start(
        checkpoint, sink=sink, trigger={"availableNow": True}, keep=1.0 if keep is None else keep
    )


def _median(runs: list[list[float]]) -> float:
    return statistics.median(second for one in runs for second in one)
