"""A network is calibrated when it has run for a while: by short runs, which the stream outlives."""

from __future__ import annotations

from itertools import accumulate, chain, cycle
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.control.prior import default_prior
from penstock.engine import rehearsal
from penstock.engine.part import Part
from penstock.network.operators import kind
from tests.engine.streams import START, Files, instant

MADE: list[dict] = [{"ts": START + i * 10_000, "k": "ab"[i % 2], "v": i % 10} for i in range(1000)]


def network(spark: SparkSession, folder: Path) -> ps.Network:
    files = Files(spark, folder)
    files.add(MADE)
    rows = ps.stream(files.stream(), event_time="ts", name="rows")
    few = rows.where("v < 2")
    return ps.Network(
        counted=few.window("5 s").by("k").agg(n=ps.count()),
        highest=few.with_columns(w="v * 2").window("2 s").agg(w=ps.max("w")),
    )


@pytest.mark.parametrize(
    ("tried", "whole"),
    [
        ((0.1, 0.1, 0.1), rehearsal.ROWS),
        # What takes long takes fewer rows: the stream goes on beside it.
        ((0.1, 0.1, 0.4), rehearsal.TRIED),
    ],
)
def test_what_runs_differ_by_is_what_operators_cost(
    spark: SparkSession, tmp_path: Path, tried: tuple[float, ...], whole: int
) -> None:
    graph = network(spark, tmp_path).graph
    believed = default_prior({graph.names[one]: kind(one) for one in graph.operators})
    table = pa.Table.from_pylist([{**row, "ts": instant(row["ts"])} for row in MADE])
    # Nothing takes 0.1 s, filters and maps 0.2 s more, windows 1 s more.
    times = chain(2 * tried, cycle((0.1, 0.3, 1.3)))
    told = accumulate(x for took in times for x in (5.0, took))
    (source,) = graph.sources
    found = rehearsal.rehearsed(Part(graph), {source: table}, believed, lambda: next(told))
    rows = {"filter 1": whole, "map 1": whole / 5, "counted": whole / 5, "highest": whole / 5}
    seconds = {name: found.costs[name] * n for name, n in rows.items()}
    assert seconds["filter 1"] + seconds["map 1"] == pytest.approx(0.2, rel=0.05)
    assert seconds["counted"] + seconds["highest"] == pytest.approx(1.0, rel=0.05)
    assert found.fixed == believed.fixed
    assert found.spread < believed.spread


def test_a_stream_that_runs_on_is_calibrated_and_one_that_ends_is_not(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rehearsal, "ROWS", 5_000)
    asked = network(spark, tmp_path)

    def started(name: str, **trigger: object) -> tuple[ps.NetworkRun, rehearsal.Rehearsal]:
        run = asked.start(
            str(tmp_path / name), sink=lambda batch, _: batch.collect() and None, trigger=trigger
        )
        (part,) = run.parts
        assert part.rehearsal is not None
        return run, part.rehearsal

    ends, never = started("ends", availableNow=True)
    assert not never._timer.is_alive()
    ends.stop()

    run, due = started("runs", processingTime="1 second")
    try:
        assert due._timer.is_alive()
        before = due.measure.prior
        due.run()
        assert due.measure.prior.spread < before.spread
        assert run.statistics().parts[0].costs.per_row != before.costs
        assert all(query.isActive for query in run.streams)
    finally:
        run.stop()
    due._timer.join(5)
    assert not due._timer.is_alive()
    corrected = due.measure.prior
    due.run()  # the stream has ended: nothing is rehearsed any more
    assert due.measure.prior is corrected
