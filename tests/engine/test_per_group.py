"""Windows that each group drops by itself: what comes is exact, and no group has too long a gap."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import penstock as ps
from penstock.engine.toml_network import toml_network
from penstock.errors import PenstockError
from penstock.network.config import parse_config
from tests.engine.streams import Files
from tests.engine.test_shedding import (
    PACKETS,
    ROWS,
    balanced,
    delivered,
    packets,
    start,
)

HOSTS = 12


def made() -> list[dict]:
    """The packets, of more hosts, one of which has no name."""
    names = [None, *(f"h{i}" for i in range(1, HOSTS))]
    return [{**row, "host": names[row["number"] * 7 % HOSTS]} for row in packets()]


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    files, rows = Files(spark, folder, PACKETS), made()
    for i in range(0, len(rows), ROWS):
        files.add(rows[i : i + ROWS])
    return files.stream()


def queries(rows: DataFrame) -> dict[str, ps.WindowQuery]:
    """Some that drop windows, and the same with exact answers, which have the same late rows."""
    packet = ps.stream(rows, event_time="ts", slack="2 s", identity="number", name="packets")
    big = packet.where("size > 40").with_columns(kind="IF(size > 1000, 1, 0)")
    each = packet.window("10 s", every="5 s").by("host")
    both, together = big.window("5 s").by("host", "kind"), packet.window("5 s")
    n, top = ps.count(), ps.max("size")
    return {
        "each": each.agg(n=n, b=ps.sum("size")).subset(3, per="group"),
        "both": both.agg(n=n).subset(2, per="group"),
        "together": together.agg(n=n).subset(2),
        "each_exact": each.agg(n=n, b=ps.sum("size"), top=top),
        "both_exact": both.agg(n=n, top=top),
        "together_exact": together.agg(n=n, top=top),
    }


def is_subset(found: dict[str, dict[int, list[Row]]], name: str) -> bool:
    got, wanted = delivered(found[name]), delivered(found[f"{name}_exact"])
    return {tuple(row) for row in got} < {tuple(row)[:-1] for row in wanted}


def by_group(rows: list[Row], name: str) -> dict[tuple, list[Row]]:
    keys = ("host", "kind") if name == "both" else ("host",)
    found: dict[tuple, list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def longest_gap(got: list[Row], wanted: list[Row]) -> int:
    """The most windows in a row that a group misses, each 5 seconds after the one before it."""
    missing = sorted({r["window_end"] for r in wanted} - {r["window_end"] for r in got})
    longest = now = 0
    for i, end in enumerate(missing):
        follows = i > 0 and (end - missing[i - 1]).total_seconds() == 5
        now = now + 1 if follows else 1
        longest = max(longest, now)
    return longest


def test_what_comes_is_exact_and_every_group_has_its_own_gaps(
    spark: SparkSession, tmp_path: Path
) -> None:
    asked = queries(stream(spark, tmp_path))
    found: dict[str, dict[int, list[Row]]] = {}
    run = start(asked, tmp_path / "run", found, drop={"each": 0.5, "both": 0.4, "together": 0.5})
    run.wait()
    for name, gap in (("each", 3), ("both", 2)):
        assert is_subset(found, name), name
        mine = by_group(delivered(found[name]), name)
        wanted = by_group(delivered(found[f"{name}_exact"]), name)
        gaps = [longest_gap(mine.get(group, []), rows) for group, rows in wanted.items()]
        assert 0 < max(gaps) <= gap, name
        assert len({frozenset(r["window_end"] for r in rows) for rows in mine.values()}) > 1
    assert is_subset(found, "together")
    balanced(run, {name: asked[name] for name in ("each", "both", "together")})
    assert run.accounts["each"]["shed_on_the_way"] > 100
    # The ledger knows windows of which some groups are missing; the record does not grow with them.
    fates = {(r["query"], r["fate"]) for r in run.ledger().collect()}
    assert {("each", "partly"), ("both", "partly"), ("together", "dropped")} <= fates
    assert ("together", "partly") not in fates
    records = (tmp_path / "run" / "penstock" / "plans").iterdir()
    groups = [json.loads(one.read_text())["values"]["orders"]["groups"] for one in records]
    assert {order[0] for record in groups for order in record} == {"each", "both"}
    assert max(len(json.dumps(record)) for record in groups) < 20_000


def test_it_goes_on_after_a_restart_and_suppresses_what_was_dropped(
    spark: SparkSession, tmp_path: Path
) -> None:
    files, rows = Files(spark, tmp_path / "in", PACKETS), made()
    found: dict[str, dict[int, list[Row]]] = {}

    def asked() -> dict[str, ps.WindowQuery]:
        both = queries(files.stream())
        return {name: both[name] for name in ("each", "each_exact")}

    for part, (drop, mode) in enumerate([(0.6, "on"), (0.3, "monitor"), (0.6, "on")]):
        for i in range(part * 800, (part + 1) * 800, 400):
            files.add(rows[i : i + 400])
        both = asked()
        run = start(both, tmp_path / "run", found, drop=drop, mode=mode)
        run.wait()
        balanced(run, both, sheds=None)
    assert is_subset(found, "each")
    mine = by_group(delivered(found["each"]), "each")
    wanted = by_group(delivered(found["each_exact"]), "each")
    assert 0 < max(longest_gap(mine[group], rows) for group, rows in wanted.items()) <= 3
    changed = asked()
    changed["each"] = changed["each"].subset(4, per="group")
    with pytest.raises(PenstockError, match=r"max_gap of each must stay 3"):
        start(changed, tmp_path / "run", {}, drop=0.3)
    changed["each"] = changed["each"].subset(3)
    with pytest.raises(PenstockError, match="must belong to the same network"):
        start(changed, tmp_path / "run", {}, drop=0.3)


TOML = """
[stream.packets]
source = "files"
event_time = "ts"
[query.n]
answers = "subset"
max_gap = 3
per = "group"
cql = "SELECT host, count(*) AS n FROM packets [RANGE 10 s SLIDE 10 s WATTR ts] GROUP BY host"
"""


def test_what_cannot_be_dropped_per_group_is_refused(spark: SparkSession) -> None:
    rows = spark.createDataFrame([], "ts timestamp, host string, name string COLLATE UTF8_LCASE")
    packet = ps.stream(rows, event_time="ts")
    window = packet.window("10 s")
    with pytest.raises(PenstockError, match="needs groups"):
        window.agg(n=ps.count()).subset(3, per="group")
    with pytest.raises(PenstockError, match="byte by byte"):
        window.by("name").agg(n=ps.count()).subset(3, per="group")
    by_host = window.by("host").agg(n=ps.count())
    with pytest.raises(PenstockError, match="must be 'window' or 'group'"):
        by_host.subset(3, per="host")  # type: ignore[arg-type]
    above = by_host.results().window("1 minute").by("host").agg(n=ps.sum("n"))
    with pytest.raises(PenstockError, match="must be over a stream, with nothing above it"):
        ps.Network(above=above.subset(3, per="group"))
    with pytest.raises(PenstockError, match="must be over a stream, with nothing above it"):
        ps.Network(above=above, each=by_host.subset(3, per="group"))
    config = parse_config(TOML, "a.toml")
    answers = toml_network(config, spark, lambda *_: rows).network.kinds["n"]
    assert answers == ps.Network(n=by_host.subset(3, per="group")).kinds["n"]
