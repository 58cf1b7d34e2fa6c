"""What a dropped row costs if it comes from Kafka, its reading included.

Records are packets as JSON, on a broker of our own. A record that is dropped is fetched and hashed,
but not parsed. What a row costs is again the difference between large and small batches.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock import sources
from penstock.bench.kafka.jars import jars
from penstock.bench.packets import SCHEMA
from penstock.engine.network_run import NetworkRun

PARTITIONS = 2

Start = Callable[[DataFrame | sources.Source, str], NetworkRun]
"""Starts the queries over a topic, with a checkpoint."""


def batch_seconds(run: NetworkRun) -> list[float]:
    """The seconds of each batch but the first, which is start-up, once the run is over."""
    run.wait()
    batches = [p for p in run.streams[0].recentProgress if p.numInputRows]
    return [p.durationMs["triggerExecution"] / 1000 for p in batches[1:]]


def dropped_row(
    packets: DataFrame, folder: Path, kinds: Mapping[str, Start], say: Callable[[str], None]
) -> float | None:
    """The cost of a row that is dropped over that of one that is kept; None without Kafka.

    Args:
        packets: of a session with Spark's connector.
        folder: for the broker, and for checkpoints.
        kinds: "dropped" and "kept" → what is started.
        say: where progress goes.
    """
    there, how = jars("broker"), None
    try:
        from penstock.bench.kafka.broker import Broker  # noqa: PLC0415 - an extra is needed
    except ImportError as error:
        how = str(error)
    if isinstance(there, str) or how is not None:
        say(f"no figure for Kafka: {how or there}")
        return None
    (folder / "kafka").mkdir()
    broker = Broker(there, folder / "kafka")
    broker.start()
    try:
        topic = broker.topic(PARTITIONS)
        rows = packets.count()
        say(f"sending {rows:,} packets to Kafka")
        packets.select(F.to_json(F.struct("*")).alias("value")).write.format("kafka").options(
            **{"kafka.bootstrap.servers": broker.servers, "topic": topic}
        ).save()
        few, many = rows // 16, rows // 4
        costs = {}
        for what, start in kinds.items():
            seconds = []
            for most in (few, many):
                say(f"seven queries from Kafka, rows that are {what}: {most:,} a batch")
                parse = sources.json(SCHEMA)
                source = sources.kafka(
                    broker.servers, topic, parse=parse, starting="earliest", most=most
                )
                run = start(source, str(folder / f"checkpoint-kafka-{what}-{most}"))
                seconds.append(statistics.median(batch_seconds(run)))
            costs[what] = (seconds[1] - seconds[0]) / (many - few)
        return costs["dropped"] / costs["kept"]
    finally:
        broker.kill()
