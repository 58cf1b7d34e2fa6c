"""Where results go, and what happens when a batch comes again."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

import penstock as ps
from penstock.errors import PenstockError


def batch(spark, *values):
    return spark.createDataFrame([(v, f"k{v % 2}") for v in values], "v long, k string")


def test_parquet_replaces_the_folder_of_a_batch_that_comes_again(spark, tmp_path):
    sink = ps.sinks.parquet(str(tmp_path / "out"))
    sink.write(batch(spark, 1, 2), 0)
    sink.write(batch(spark, 3, 4), 1)
    sink.write(batch(spark, 5), 1)
    found = spark.read.parquet(str(tmp_path / "out")).select("v", "batch").collect()
    assert sorted(map(tuple, found)) == [(1, 0), (2, 0), (5, 1)]


def test_parquet_replaces_partitions_also_where_the_session_would_keep_them(spark, tmp_path):
    sink = ps.sinks.parquet(str(tmp_path / "out"), partition_by="k")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        sink.write(batch(spark, 1, 2), 0)
        sink.write(batch(spark, 2), 0)
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    found = spark.read.parquet(str(tmp_path / "out")).select("v", "k").collect()
    assert found == [(2, "k0")]
    assert sink.describe() == f"parquet files in {tmp_path / 'out'}"


def test_an_empty_batch_can_be_read(spark, tmp_path):
    ps.sinks.parquet(str(tmp_path / "out")).write(batch(spark, 1).where("v > 1"), 0)
    assert spark.read.parquet(str(tmp_path / "out")).count() == 0


def test_memory_replaces_a_batch_that_comes_again(spark):
    sink = ps.sinks.memory("answers")
    with pytest.raises(PenstockError, match="must have had a batch"):
        sink.table(spark)
    for values, number in [((1, 2), 0), ((3, 4), 1), ((5,), 1)]:
        sink.write(batch(spark, *values), number)
    assert sorted(map(tuple, sink.table(spark).select("v", "batch").collect())) == [
        (1, 0),
        (2, 0),
        (5, 1),
    ]
    assert spark.sql("SELECT sum(v) FROM answers WHERE batch = 1").collect() == [(5,)]
    assert (sink.written, sink.rows) == (2, 3)


def test_memory_keeps_the_types(spark):
    sink = ps.sinks.memory()
    rows = spark.range(1).select(
        F.timestamp_seconds("id").alias("t"),
        F.col("id").cast("decimal(10, 2)").alias("d"),
        F.array("id").alias("a"),
        F.lit(None).cast("string").alias("nothing"),
    )
    sink.write(rows, 0)
    sink.write(rows.where("d > 1"), 1)
    assert sink.table(spark).drop("batch").dtypes == rows.dtypes
    assert sink.table(spark).drop("batch").collect() == rows.collect()


def test_the_console_shows_a_few_rows_but_computes_them_all(spark, capsys):
    seen = spark.sparkContext.accumulator(0)

    def note(rows):
        for table in rows:
            seen.add(table.num_rows)
            yield table

    rows = spark.range(0, 40, 1, 8).mapInArrow(note, "id long")
    sink = ps.sinks.console(rows=2)
    sink.write(rows, 3)
    shown = capsys.readouterr().out
    assert shown.startswith("batch 3: 40 rows, 2 shown\n")
    assert "|0  |" in shown
    assert seen.value == 40
    sink.write(rows.where("id < 0"), 4)
    assert capsys.readouterr().out == ""


def test_a_function_gets_the_batch_and_its_number(spark):
    got = []

    def keep(rows, number):
        got.append((rows.count(), number))

    sink = ps.sinks.function(keep)
    sink.write(batch(spark, 1, 2), 9)
    assert got == [(2, 9)]
    assert sink.describe() == "the function keep"
    with pytest.raises(PenstockError, match="must be a function of a DataFrame"):
        ps.sinks.function("keep")  # type: ignore[arg-type]


def test_a_stateful_stream_through_every_sink(spark, tmp_path, capsys):
    # A sink that left some of a batch uncomputed would end the stream with the next batch.
    memory, parquet = ps.sinks.memory("m"), ps.sinks.parquet(str(tmp_path / "out"))
    sinks: dict[str, ps.sinks.Sink] = {
        "console": ps.sinks.console(rows=1),
        "parquet": parquet,
        "memory": memory,
    }
    folder = str(tmp_path / "in")
    spark.range(0, 30, 1, 3).write.parquet(folder)
    for name, sink in sinks.items():
        rows = ps.sources.files(folder, most=1).dataframe(spark)
        counts = rows.groupBy((rows["id"] % 5).alias("k")).count()
        writer = counts.writeStream.outputMode("update").foreachBatch(sink.write)
        writer = writer.option("checkpointLocation", str(tmp_path / name))
        writer.trigger(availableNow=True).start().awaitTermination()
    found = spark.read.parquet(str(tmp_path / "out")).orderBy("batch", "k").collect()
    assert [row["count"] for row in found] == [2] * 5 + [4] * 5 + [6] * 5
    table = memory.table(spark).orderBy("batch", "k").select("k", "count").collect()
    assert table == [(row["k"], row["count"]) for row in found]
    assert capsys.readouterr().out.count("5 rows, 1 shown") == 3


@pytest.mark.parametrize(
    "sink",
    [
        ps.sinks.parquet("out"),
        ps.sinks.kafka("h:1", "t"),
        ps.sinks.console(),
        ps.sinks.memory(),
        ps.sinks.function(print),
    ],
    ids=lambda sink: type(sink).__name__,
)
def test_every_sink_is_a_sink(sink):
    assert isinstance(sink, ps.sinks.Sink)
    assert "\n" not in sink.describe()


def test_memory_has_all_rows_though_some_batches_have_none(spark):
    kept = ps.sinks.memory("with_holes")
    for number, rows in enumerate((3, 0, 2, 0)):
        kept.write(spark.range(rows), number)
    kept.write(spark.range(1).selectExpr("id", "1 AS revision"), -1)
    found = kept.table(spark)
    assert sorted(row["batch"] for row in found.collect()) == [-1, 0, 0, 0, 2, 2]
    assert found.where("revision IS NULL").count() == 5
