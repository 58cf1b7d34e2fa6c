"""What Spark is given to do: how many operators keep state, and that Python sees no row."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import penstock as ps
from penstock.engine.record import recorded
from penstock.engine.window_query import WindowQuery
from penstock.windows import Evaluation
from tests.engine.answers import on_panes, shaped
from tests.engine.streams import SECOND, START, Files

ASKED = {
    "n": ps.count(),
    "d": ps.stddev_samp("v"),
    "u": ps.approx_count_distinct("v"),
    "p": ps.approx_percentile("v", 0.5),
}
WAYS: dict[str, tuple[int, ...] | Evaluation] = {
    "direct": (),
    "panes": (1,),
    "three rungs": (1, 2, 4),
    "tall": on_panes(1, 2, 4),
}
STATEFUL = {"direct": 1, "panes": 2, "three rungs": 2, "tall": 3}


@pytest.fixture(scope="module")
def files(spark, tmp_path_factory) -> Files:
    made = Files(spark, tmp_path_factory.mktemp("plans"))
    made.add([{"ts": START + n * SECOND, "k": "a", "v": n} for n in range(4)])
    return made


def asked(rows: DataFrame, time: str = "ts") -> WindowQuery:
    return ps.stream(rows, time).window("12 s", every="2 s").by("k").agg(**ASKED)


def plan(windows: DataFrame, capsys) -> tuple[str, str]:
    """The physical plan, and the subqueries in it."""
    windows.explain("formatted")
    text = capsys.readouterr().out
    assert "== Physical Plan ==" in text
    rows, _, subqueries = text.partition("===== Subqueries =====")
    return rows, subqueries


@pytest.mark.parametrize("way", WAYS)
def test_a_stream_has_one_operator_with_state_or_two_or_three(
    files, tmp_path, monkeypatch, capsys, way
):
    query = shaped(asked(files.stream()), monkeypatch, WAYS[way])
    rows, subqueries = plan(query.dataframe(str(tmp_path / "c")), capsys)
    tree = rows.split("\n(1) ")[0]
    assert tree.count("StateStoreSave") == STATEFUL[way]
    assert "Python" not in rows
    assert "InPandas" not in rows
    assert "InArrow" not in rows
    # One row a batch tells the watermark.
    assert subqueries.split("\n\n\n")[0].count("BatchEvalPython") == 1
    assert "Range (0, 1, step=1" in subqueries


@pytest.mark.parametrize("way", WAYS)
def test_a_batch_has_nothing_of_python(files, monkeypatch, capsys, way):
    rows = files.spark.read.parquet(str(files.folder / "source"))
    text = "".join(plan(shaped(asked(rows), monkeypatch, WAYS[way]).dataframe(), capsys))
    for word in ("Python", "InPandas", "InArrow", "StateStore"):
        assert word not in text


def test_the_watermark_stands_below_every_drop(files, tmp_path, capsys):
    """A drop below it would hold it back."""
    rows, _ = plan(asked(files.stream()).dataframe(str(tmp_path / "c")), capsys)
    tree = rows.split("\n(1) ")[0].splitlines()
    (at,) = (i for i, line in enumerate(tree) if "EventTimeWatermark" in line)
    assert "StreamingRelation" in tree[at + 1]


def test_a_watermark_of_the_users_own_is_the_only_one(files, tmp_path, capsys):
    rows = files.stream().withWatermark("ts", "7 seconds")
    text, _ = plan(asked(rows).dataframe(str(tmp_path / "c")), capsys)
    assert text.split("\n(1) ")[0].count("EventTimeWatermark") == 1
    assert "7 seconds" in text


def test_a_watermark_of_the_users_own_is_the_slack_that_is_told(files):
    assert "slack 7 s" in asked(files.stream().withWatermark("ts", "7 seconds")).explain()


@pytest.mark.parametrize("name", ["event.time", "event time", "ba`ck", "TS"])
def test_an_event_time_of_any_name(files, tmp_path, capsys, name):
    rows = files.stream()
    rows = rows if name == "TS" else rows.withColumnRenamed("ts", name)
    text, _ = plan(asked(rows, name).dataframe(str(tmp_path / "c")), capsys)
    assert "EventTimeWatermark" in text


def test_a_note_in_the_schema_is_no_watermark(files, tmp_path, capsys):
    """Spark writes its mark of a watermark into files; who reads them has none yet."""
    marked = F.col("ts").alias("ts", metadata={"spark.watermarkDelayMs": 1000})
    schema = files.stream().select(marked, "k", "v").schema
    rows = files.spark.readStream.schema(schema).parquet(str(files.folder / "source"))
    text, _ = plan(asked(rows).dataframe(str(tmp_path / "c")), capsys)
    assert "EventTimeWatermark" in text


def test_the_way_is_recorded_and_kept_whatever_the_stream_is_like_later(files, tmp_path, capsys):
    checkpoint = str(tmp_path / "c")
    dense = replace(asked(files.stream()), density=ps.Density(1e6))
    sparse = replace(asked(files.stream()), density=ps.Density(0.01, panes=1e5))
    assert (dense.evaluation.name, sparse.evaluation.name) == ("panes", "direct")
    dense.dataframe(checkpoint)
    assert recorded(checkpoint) == dense.evaluation
    rows, _ = plan(sparse.dataframe(checkpoint), capsys)
    assert rows.split("\n(1) ")[0].count("StateStoreSave") == 2
    assert recorded(checkpoint) == dense.evaluation
    assert "computed  panes" in sparse.explain(checkpoint)
