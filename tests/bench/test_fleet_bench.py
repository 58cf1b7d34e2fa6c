"""What is counted of two nodes on Spark, without running them."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.bench import fleet
from penstock.bench.fig1 import Fig1, waits
from penstock.bench.kafka.jars import jars
from penstock.fleet.pipeline import parse_pipeline
from penstock.nodes import optimal_plan
from tests.nodes.networks import FIG1


def test_the_file_is_fig_1(tmp_path):
    if isinstance(found := jars("connector"), str):
        pytest.skip(found)
    pipeline = parse_pipeline(Fig1("localhost:1", tmp_path, "fig1", capacity=1.0).text)
    plan = optimal_plan(pipeline.network)
    assert plan.score == pytest.approx(0.6 * 250)
    assert sorted(plan.keeps.values()) == pytest.approx([0.2, 0.4])
    assert waits(8) in pipeline.query_table("a2")["cql"]
    assert not waits(0)


def test_the_optimum_is_that_of_the_time_that_batches_leave():
    shares = {"A": {"fixed_share": 0.5}, "B": {"fixed_share": 0.5}}
    best = optimal_plan(fleet.as_measured(FIG1, shares))
    assert best.score == pytest.approx(0.5 * optimal_plan(FIG1).score)


def test_response_times_are_those_of_the_span_and_of_the_worse_node():
    reports = {
        "A": {"target": 10.0, "responses": [[5.0, 90.0], [11.0, 9.0], [12.0, 8.0]]},
        "B": {"target": 10.0, "responses": [[11.0, 7.0], [12.0, 11.0], [30.0, 90.0]]},
    }
    assert fleet.p95_over_target(reports, 10.0, 20.0) == 1.1
    assert fleet.p95_over_target(reports, 40.0, 50.0) is None


def test_rows_are_those_that_windows_of_the_span_were_computed_from(tmp_path):
    ends = [datetime.fromtimestamp(second, UTC) for second in (10, 11, 12, 13)]
    table = pa.table({"window_end": ends, "rows": [9.0] * 4, "sample": [1, 2, 4, 8]})
    (tmp_path / "first").mkdir()
    assert fleet.newest(tmp_path / "first") == 0
    pq.write_table(table, tmp_path / "first" / "some.parquet")
    assert fleet.newest(tmp_path / "first") == 13
    assert fleet._counted(tmp_path / "first", 10.0, 12.0) == 3.0


def test_modes_are_compared_with_nodes_that_shed_for_themselves():
    def of(throughput: float, p95: float | None) -> dict[str, float | None]:
        return {"throughput": throughput, "of_optimum": throughput / 120, "p95_over_target": p95}

    found = fleet.summary(
        {"uncoordinated": of(80.0, 2.0), "coordinator": of(100.0, 1.0), "peer": of(96.0, None)}, 250
    )
    assert found["times_uncoordinated"] == {"coordinator": 1.25, "peer": 1.2}
    assert found["p95_over_target"] == 1.0
    assert found["uncoordinated"] == 80.0
