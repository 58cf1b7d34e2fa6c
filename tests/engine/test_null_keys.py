"""A key that is null is a group of its own: neither that of 0 nor that of an empty text."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import penstock as ps
from tests.engine.streams import SECOND, START, Files

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", tz="UTC")),
        ("port", pa.int32()),
        ("host", pa.string()),
        ("open", pa.bool_()),
        ("day", pa.date32()),
        ("ratio", pa.float64()),
    ]
)
PORTS, HOSTS, OPEN, DAYS, RATIOS = (
    (None, 0, 80),
    (None, "", "a"),
    (None, False, True),
    (None, 0, 1),
    (None, 0.0, 0.5),
)


def row(i: int) -> dict:
    return {
        "ts": START + i * SECOND // 50,
        "port": PORTS[i % 3],
        "host": HOSTS[i // 3 % 3],
        "open": OPEN[i // 9 % 3],
        "day": DAYS[i // 27 % 3],
        "ratio": RATIOS[i // 81 % 3],
    }


def test_groups_of_null_keys_are_apart(spark: SparkSession, tmp_path: Path) -> None:
    files = Files(spark, tmp_path, SCHEMA)
    batches = [[row(i) for i in range(first, first + 250)] for first in (0, 250, 500, 750)]
    for batch in batches:
        files.add(batch)
    rows = ps.stream(files.stream(), event_time="ts")
    keys = {
        "ports": ("port",),
        "hosts": ("host", "open"),
        "days": ("day", "ratio", "port"),
    }
    found: dict[str, Counter] = {name: Counter() for name in keys}

    def keep(name: str):
        def add(batch, _: int) -> None:
            for one in batch.collect():
                found[name][tuple(one[key] for key in keys[name])] += one["n"]

        return add

    asked = {name: rows.window("5 s").by(*by).agg(n=ps.count()) for name, by in keys.items()}
    run = ps.Network(**asked).start(
        str(tmp_path / "run"),
        sinks={name: keep(name) for name in keys},
        trigger={"availableNow": True},
    )
    run.wait()
    table = pa.Table.from_pylist(
        [{k: v for k, v in one.items() if k != "ts"} for batch in batches for one in batch],
        schema=SCHEMA.remove(0),
    ).to_pylist()
    closed = 750  # rows of the windows that are over when the last batch ends
    for name, by in keys.items():
        exact = Counter(tuple(one[key] for key in by) for one in table[:closed])
        assert found[name] == exact
