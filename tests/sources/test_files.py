"""Files, DataFrames and Spark's rate source."""

from __future__ import annotations

import json

import pytest

import penstock as ps
from penstock.errors import PenstockError

SCHEMA = "ts timestamp, host string, size bigint"


def rows_of(frame, checkpoint):
    if not frame.isStreaming:
        return frame.collect()
    sink = ps.sinks.memory("rows")
    writer = frame.writeStream.foreachBatch(sink.write).option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()
    return sink.table(frame.sparkSession).collect()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, spark):
    """The same rows in three formats, in two files each."""
    path = tmp_path_factory.mktemp("files")
    for part in (0, 1):
        rows = [
            {"ts": f"2024-01-01T00:00:{i:02d}Z", "host": f"h{i % 2}", "size": i}
            for i in range(part * 5, part * 5 + 5)
        ]
        for kind in ("json", "csv", "parquet"):
            (path / kind).mkdir(exist_ok=True)
        text = "\n".join(map(json.dumps, rows))
        (path / "json" / f"{part}.json").write_text(text)
        text = "\n".join(",".join(map(str, row.values())) for row in rows)
        (path / "csv" / f"{part}.csv").write_text("ts,host,size\n" + text)
    table = spark.read.schema(SCHEMA).json(str(path / "json"))
    table.repartition(2).write.mode("overwrite").parquet(str(path / "parquet"))
    return path


@pytest.mark.parametrize("batch", [True, False], ids=["table", "stream"])
@pytest.mark.parametrize("kind", ["parquet", "json", "csv"])
def test_every_format_has_the_same_rows(spark, folder, tmp_path, kind, batch):
    options = {"header": True} if kind == "csv" else {}
    source = ps.sources.files(
        str(folder / kind), kind, SCHEMA, options=options, most=None if batch else 1, batch=batch
    )
    frame = source.dataframe(spark)
    assert frame.isStreaming is not batch
    found = rows_of(frame, str(tmp_path))
    assert sorted(row["size"] for row in found) == list(range(10))
    assert {row["ts"].second for row in found} == set(range(10))
    if not batch:
        assert {row["batch"] for row in found} == {0, 1}


def test_parquet_tells_its_schema_and_its_rows_apart(spark, folder, tmp_path):
    source = ps.sources.files(str(folder / "parquet"))
    assert source.identity == ("file_path", "file_row")
    found = rows_of(source.dataframe(spark), str(tmp_path))
    assert len({(row["file_path"], row["file_row"]) for row in found}) == 10
    assert source.describe() == f"parquet files in {folder / 'parquet'}"


@pytest.mark.parametrize("batch", [True, False], ids=["table", "stream"])
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("json", '{"ts": "2024-01-01T00:00:00Z", "size": 1}\n{"size": "x"}\nno json\n'),
        ("csv", "2024-01-01T00:00:00Z,a,1\n2024-01-01T00:00:00Z,a,many\nyesterday,a,1\n"),
    ],
)
def test_malformed_lines_are_marked_and_have_no_columns(spark, tmp_path, kind, text, batch):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text(text)
    frame = ps.sources.files(str(tmp_path / "in"), kind, SCHEMA, batch=batch).dataframe(spark)
    found = rows_of(frame, str(tmp_path / "checkpoint"))
    assert [row["size"] for row in found] == [1, None, None]
    assert [row["ts"] is None for row in found] == [False, True, True]
    assert [row["malformed"] is None for row in found] == [True, False, False]
    assert [row["malformed_text"] for row in found][1:] == text.splitlines()[1:]
    assert rows_of(ps.sources.good(frame), str(tmp_path / "good"))[0]["size"] == 1
    assert len(rows_of(ps.sources.bad(frame), str(tmp_path / "bad"))) == 2


def test_malformed_lines_can_be_counted_alone(spark, tmp_path):
    (tmp_path / "a").write_text("no json\n")
    frame = ps.sources.files(str(tmp_path), "json", SCHEMA, batch=True).dataframe(spark)
    assert ps.sources.bad(frame).count() == 1


@pytest.mark.parametrize(
    ("kind", "line"), [("json", '{"host": "a", "size": "x"}'), ("csv", ",a,x")]
)
def test_a_line_is_malformed_whatever_is_asked_of_it(spark, tmp_path, kind, line):
    (tmp_path / "a").write_text(line + "\n")
    frame = ps.sources.files(str(tmp_path), kind, SCHEMA, batch=True).dataframe(spark)
    assert frame.select("host").collect() == [(None,)]
    assert ps.sources.good(frame).select("host").count() == 0
    reason = "does not fit the schema, has no ts, size"
    assert frame.select("malformed").collect() == [(reason,)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("in", "json"), "schema must be given for json files"),
        (("in", "jsn", SCHEMA), "did you mean 'json'"),
        (("", "csv", SCHEMA), "path must be a text"),
    ],
)
def test_refusals_of_files(settings, message):
    with pytest.raises(PenstockError, match=message):
        ps.sources.files(*settings)


def test_refusals_of_a_schema_and_of_an_identity(spark, folder):
    path = str(folder / "csv")
    with pytest.raises(PenstockError, match="schema must be columns and types"):
        ps.sources.files(path, "csv", "ts nonsense").dataframe(spark)
    with pytest.raises(PenstockError, match="did you mean 'host'"):
        ps.sources.files(path, "csv", SCHEMA, identity="hots").dataframe(spark)
    with pytest.raises(PenstockError, match="most must be a whole number"):
        ps.sources.files(path, "csv", SCHEMA, most=0)


def test_a_folder_that_is_not_there_is_one_line(spark):
    with pytest.raises(PenstockError, match="parquet files in nowhere must be readable") as failure:
        ps.sources.files("nowhere").dataframe(spark)
    assert "\n" not in str(failure.value)


def test_any_dataframe(spark):
    table = spark.range(3).withColumnRenamed("id", "order_no")
    source = ps.sources.frame(table, identity="order_no")
    assert source.dataframe(spark) is table
    assert source.identity == ("order_no",)
    assert source.describe() == "a table with columns order_no"
    with pytest.raises(PenstockError, match="did you mean 'order_no'"):
        ps.sources.frame(table, identity="order_id")
    with pytest.raises(PenstockError, match="needs a DataFrame, got 'list'"):
        ps.sources.frame([1])  # type: ignore[arg-type]


def test_the_rate_source(spark, tmp_path):
    source = ps.sources.rate(5, per_batch=True, partitions=2)
    assert source.identity == ("value",)
    sink = ps.sinks.memory("rows")
    writer = source.dataframe(spark).writeStream.foreachBatch(sink.write)
    query = writer.option("checkpointLocation", str(tmp_path)).start()
    while sink.written < 3:
        assert query.isActive
    query.stop()
    found = [row["value"] for row in sink.table(spark).where("batch < 3").collect()]
    assert sorted(found) == list(range(15))
    assert ps.sources.rate(7).dataframe(spark).columns == ["timestamp", "value"]
    with pytest.raises(PenstockError, match="rows must be a whole number of at least 1"):
        ps.sources.rate(0)


@pytest.mark.parametrize(
    "source",
    [
        ps.sources.kafka("h:1", "t"),
        ps.sources.files("in"),
        ps.sources.rate(1),
        ps.sources.replay([{"ts": 1}]),
        ps.sources.packets(),
    ],
    ids=lambda source: type(source).__name__,
)
def test_every_source_is_a_source(source):
    assert isinstance(source, ps.sources.Source)
    assert "\n" not in source.describe()
