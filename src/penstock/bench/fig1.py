"""The network of Fig. 1 as a file for two nodes, of which both have too much to do.

            node A              node B
left  ─► a1, 1 unit  ─►  b1, 3 units  ─► first         each input brings 1 row in a unit:
right ─► a2, 2 units ─►  b2, 1 unit   ─► second        Table 1 of the paper

A unit is a time that a row is waited for, as for a call of another service: a node has one thread,
so it has a second of it in a second, however many nodes share the cores of a machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.bench.kafka.jars import jars
from penstock.errors import PenstockError

INPUTS = ("left", "right")
OUTPUTS = ("first", "second")

_WAYS = (("left", "a1", 1, "b1", 3, "first"), ("right", "a2", 2, "b2", 1, "second"))

# Two small Javas start on one machine, and run for minutes: only the quick compiler is worth it.
# The quick compiler alone would have room for 48 MB of code, and throw some away when that is full.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"

# Hadoop would start seventy processes for the files of a checkpoint, in each batch.
_FILES = {
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}

_HEAD = """
latency = "{latency}"

[control]
servers = "{servers}"
topic = "{name}.control"
mode = "{mode}"
name = "{name}"

[run]
checkpoint = "{folder}/checkpoints"

[run.spark]
{spark}

[node.A]
cores = 1
capacity = {capacity}

[node.B]
cores = 1
capacity = {capacity}
"""
_INPUT = """
[input.{input}]
rate = {rate}
most = {most}
source = "kafka"
event_time = "ts"
slack = "500 ms"

[input.{input}.options]
servers = "{servers}"
topics = "{name}.{input}"
schema = "ts timestamp, n bigint"
starting = "earliest"
"""
_RELAY = """
[box.{box}]
node = "A"
from = "{input}"
cost = {cost}
cql = "SELECT ts, n FROM {input}{where}"
"""
_ANSWER = '''
[box.{box}]
node = "B"
from = "{relay}"
cost = {cost}
cql = """
SELECT count(*) AS rows, sum(n) AS total
FROM {relay} [RANGE 1 second SLIDE 1 second WATTR ts]{where}"""

[output.{output}]
from = "{box}"
answers = "{answers}"{gap}
sink = {{ format = "parquet", path = "{folder}/{output}" }}
'''


@dataclass(frozen=True)
class Fig1:
    """The file.

    Args:
        servers: of a broker.
        folder: for checkpoints and answers.
        name: of the pipeline.
        mode: who plans.
        unit: in milliseconds; 0 if rows are not waited for.
        rate: of each input, in rows per second; 0 for one row in a unit.
        latency: the target.
        answers: "approximate" or "subset".
        cost: seconds that a unit is said to take; None for what it takes.
        capacity: seconds of work that each node has in a second.
    """

    servers: str
    folder: Path
    name: str
    mode: str = "coordinator"
    unit: int = 4
    rate: float = 0.0
    latency: str = "12 seconds"
    answers: str = "approximate"
    cost: float | None = None
    capacity: float = 0.95

    @property
    def rows(self) -> float:
        """Of each input, in a second."""
        return self.rate or 1000 / self.unit

    @property
    def text(self) -> str:
        """The file's."""
        terms = {
            **vars(self),
            "spark": "\n".join(f'"{key}" = "{value}"' for key, value in settings().items()),
            "rate": self.rows,
            "most": 3 * self.rows,
            "gap": "\nmax_gap = 2" if self.answers == "subset" else "",
        }
        parts = [_HEAD.format(**terms)]
        cost = self.unit / 1000 if self.cost is None else self.cost
        for input_, relay, first, box, second, output in _WAYS:
            more = {**terms, "input": input_, "relay": relay, "output": output}
            parts.append(_INPUT.format(**more))
            a = {**more, "box": relay, "cost": first * cost, "where": waits(first * self.unit)}
            parts.append(_RELAY.format(**a))
            b = {**more, "box": box, "cost": second * cost, "where": waits(second * self.unit)}
            parts.append(_ANSWER.format(**b))
        return "".join(parts)


def waits(milliseconds: int) -> str:
    """A condition that always holds, and is found out after a while.

    Args:
        milliseconds: how long that takes; 0 for no condition.
    """
    if not milliseconds:
        return ""
    # What returns nothing, Spark takes for this text.
    return f" WHERE java_method('java.lang.Thread', 'sleep', bigint({milliseconds})) = 'null'"


def settings() -> Mapping[str, Any]:
    """Of a small Spark that starts quickly."""
    found = jars("connector")
    if isinstance(found, str):
        raise PenstockError(found)
    return {
        **_FILES,
        "spark.jars": ",".join(map(str, found)),
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": _JAVA,
        "spark.sql.shuffle.partitions": "1",
    }
