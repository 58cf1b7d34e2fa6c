"""Of many groups of a window, of all sizes, the bounds that Spark gives hold as they are stated."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

import penstock as ps
from penstock.drops.bounds import unseen
from tests.engine.streams import SECOND, START, Files
from tests.engine.test_shedding import PACKETS, delivered, start

KEEP = 0.3
BANDS = [(0, 4), (5, 9), (10, 29), (30, 99), (100, math.inf)]
"""Rows of a group that stayed, from and to."""
GROUPS, WINDOWS = 200, 2
"""Groups of each band, in each window."""


def made() -> list[dict]:
    """Groups whose samples will be in the bands; many are small, and most sizes are too."""
    of, found = random.Random(11), list[dict]()
    for window in range(WINDOWS):
        for band, (low, high) in enumerate(BANDS):
            for group in range(GROUPS):
                rows = round(of.uniform(low + 1, min(high, 180)) / KEEP)
                for _ in range(max(rows, 1)):
                    at = START + window * 10 * SECOND + of.randrange(10 * SECOND)
                    size = round(of.lognormvariate(5, 1))
                    host = f"{band}-{group}"
                    found.append({"ts": at, "host": host, "size": size, "number": len(found)})
    return found


def test_bounds_hold_in_every_band_of_sample_size(spark: SparkSession, tmp_path: Path) -> None:
    files, rows = Files(spark, tmp_path / "in", PACKETS), made()
    files.add(rows)
    files.add([{**rows[0], "ts": START + 3600 * SECOND, "number": -1}])
    packet = ps.stream(files.stream(), event_time="ts", identity="number")
    functions = {"n": ps.count(), "b": ps.sum("size"), "mean": ps.avg("size")}
    query = packet.window("10 s").by("host").agg(**functions).approximate()
    found: dict[str, dict[int, list[Row]]] = {}
    start({"packets": query}, tmp_path / "run", found, keep=KEEP).wait()
    exact: dict[tuple[int, str], list[int]] = defaultdict(list)
    for one in rows:
        exact[one["ts"] // (10 * SECOND), one["host"]].append(one["size"])
    got = {
        (round(row["window_start"].timestamp() / 10), row["host"]): row
        for row in delivered(found["packets"])
    }
    assert set(got) < set(exact)
    (most,) = {row["unseen"] for row in got.values()}
    assert most == pytest.approx(unseen(KEEP, 0.01))
    held: dict[tuple[int, str], list[bool]] = defaultdict(list)
    for pair, sizes in exact.items():
        wanted = {"n": len(sizes), "b": sum(sizes), "mean": sum(sizes) / len(sizes)}
        row = got.get(pair)
        sample = 0 if row is None else row["sample"]
        band = next(i for i, (low, high) in enumerate(BANDS) if low <= sample <= high)
        for name, value in wanted.items():
            if row is None:
                held[band, name].append(len(sizes) <= most)
            else:
                held[band, name].append(row[f"{name}_low"] <= value <= row[f"{name}_high"])
    assert len(held) == len(BANDS) * len(functions)
    for which, ones in held.items():
        assert len(ones) >= 250, which
        assert sum(ones) >= 0.985 * len(ones), which
