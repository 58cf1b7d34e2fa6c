"""What cannot be is refused before anything starts, and what fails is told: always in one line."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.engine.failures import cause
from penstock.engine.record import recorded
from penstock.engine.run import Run
from penstock.errors import (
    PenstockError,
    SchemaError,
    SpecificationError,
    StreamFailed,
    UsageError,
)
from tests.engine.streams import SECOND, START, Files

KIND: dict[str, Any] = {"late": "kind"}


def one_line(error: BaseException) -> str:
    """The message, which is for people."""
    message = str(error)
    assert message
    assert "\n" not in message
    for word in ("Py4J", "java.", "org.apache", "Traceback", "\tat "):
        assert word not in message
    return message


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.sql(
        """SELECT timestamp_seconds(1700000000) AS ts, 'a' AS host, 1L AS size,
               '2024-01-01' AS text, date'2024-01-01' AS day,
               cast('2024-01-01 00:00:00' AS timestamp_ntz) AS local,
               map('x', 1) AS tags, array(1) AS list, struct(1 AS x) AS pair,
               parse_json('1') AS variant, true AS yes, x'00' AS bytes,
               make_interval(0, 1) AS months, interval '1' day AS days"""
    )


def asked(rows: DataFrame, **aggregates) -> ps.WindowQuery:
    return ps.stream(rows, "ts").window("10 s", every="2 s").by("host").agg(**aggregates)


# --- windows, columns, types ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda s: s.window("0 s"), ["range", "greater than 0", "0"]),
        (lambda s: s.window("10 s", every="-2 s"), ["slide", "greater than 0"]),
        (lambda s: s.window("10 parsecs"), ["range", "unit of time", "'10 parsecs'"]),
        (lambda s: s.window("1 month"), ["range", "fixed length", "days"]),
        (lambda s: s.window(10.5), ["range", "must be a duration", "10.5"]),
        (lambda s: s.window("10 s", every="2 m"), ["slide", "'m' may be", "'min'"]),
        (lambda s: s.window("10 s", origin="noon"), ["origin", "must be a duration", "noon"]),
        (lambda s: s.cumulative("1 day", every="7 h"), ["slide", "divide the period"]),
        (lambda s: s.cumulative("1 day", every="0 s"), ["slide", "greater than 0"]),
    ],
)
def test_bad_windows(rows, make, said):
    with pytest.raises(SpecificationError) as caught:
        make(ps.stream(rows, "ts"))
    message = one_line(caught.value)
    for word in said:
        assert word in message


@pytest.mark.parametrize(
    ("column", "type_"), [("text", "string"), ("day", "date"), ("local", "timestamp_ntz")]
)
def test_an_event_time_of_another_type(rows, column, type_):
    with pytest.raises(SchemaError) as caught:
        ps.stream(rows, column)
    message = one_line(caught.value)
    assert message.startswith("event_time must be of type timestamp")
    assert f"{column}: {type_}" in message
    assert f"cast({column} AS timestamp)" in message


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda r: ps.stream(r, "tss"), ["event_time", "'tss'", "did you mean 'ts'?"]),
        (
            lambda r: ps.stream(r, "ts").window("10 s").by("hosts"),
            ["by()", "'hosts'", "did you mean 'host'?"],
        ),
        (lambda r: asked(r, s=ps.sum("sizes")), ["s = 'sizes'", "did you mean 'size'?"]),
        (
            lambda r: asked(r, s=ps.sum("size * sizes")),
            ["s = 'size * sizes'", "'sizes'", "did you mean 'size'?"],
        ),
        (lambda r: asked(r, s=ps.sum("zzz")), ["s = 'zzz'", "known: ts, host, size"]),
        (lambda r: asked(r, s=ps.sum("pair.z")), ["s = 'pair.z'", "z"]),
    ],
)
def test_unknown_columns(rows, make, said):
    with pytest.raises(SchemaError) as caught:
        make(rows)
    message = one_line(caught.value)
    for word in said:
        assert word in message


@pytest.mark.parametrize(
    ("aggregate", "said"),
    [
        (ps.sum("text"), ["sum(text)", "numeric", "'string'", "cast(text AS double)"]),
        (ps.avg("ts"), ["avg(ts)", "numeric", "'timestamp'"]),
        (ps.avg("yes"), ["avg(yes)", "numeric", "'boolean'"]),
        (ps.var_samp("days"), ["var_samp(days)", "numeric", "interval day"]),
        (ps.sum("months"), ["sum(months)", "numeric", "interval"]),
        (ps.min("tags"), ["a = min(tags)", "map<string,int>"]),
        (ps.max("variant"), ["a = max(variant)", "variant"]),
        (ps.approx_count_distinct("list"), ["approx_count_distinct(list)", "string", "array<int>"]),
        (ps.approx_percentile("text", 0.5), ["approx_percentile(text, 0.5)", "numeric"]),
        (ps.sum("size + list"), ["a = 'size + list'", "does not fit"]),
        (ps.sum("nosuch(size)"), ["a = 'nosuch(size)'", "nosuch"]),
        (ps.sum("sum(size)"), ["a = sum(sum(size))"]),
        (ps.sum("rand()"), ["a = sum(rand())"]),
        (ps.sum("size +"), ["a = 'size +'", "SQL expression", "PARSE_SYNTAX_ERROR"]),
        (ps.sum("(size"), ["a = '(size'", "SQL expression", "PARSE_SYNTAX_ERROR"]),
    ],
    ids=str,
)
def test_aggregates_that_do_not_fit(rows, aggregate, said):
    with pytest.raises(SchemaError) as caught:
        asked(rows, a=aggregate)
    message = one_line(caught.value)
    for word in said:
        assert word in message


@pytest.mark.parametrize(
    ("key", "within"),
    [("tags", "{}"), ("variant", "{}"), ("variant", "array({})"), ("variant", "struct({})")],
)
def test_keys_that_cannot_be_grouped_by(rows, key, within):
    made = rows.withColumn(key, F.expr(within.format(key)))
    with pytest.raises(SchemaError) as caught:
        ps.stream(made, "ts").window("10 s").by(key).agg(n=ps.count()).dataframe()
    message = one_line(caught.value)
    assert message.startswith("by()")
    assert key in message


@pytest.mark.parametrize(
    "make",
    [
        lambda r: ps.stream(r, "ts").window("10 s").by(["host"]),  # type: ignore[arg-type]
        lambda r: ps.stream(r, "ts").window("10 s").by(F.col("host")),  # type: ignore[arg-type]
        lambda r: ps.stream(r, F.col("ts")),  # type: ignore[arg-type]
        lambda r: ps.stream("packets", "ts"),  # type: ignore[arg-type]
        lambda r: asked(r, n="count"),
        lambda r: asked(r, n=F.count("*")),
        lambda r: asked(r, n=ps.sum(F.col("size"))),  # type: ignore[arg-type]
        lambda r: ps.stream(r, "ts", slack=None),  # type: ignore[arg-type]
    ],
    ids=[
        "a list of keys",
        "a Column as key",
        "a Column as event time",
        "no DataFrame",
        "a text as aggregate",
        "an aggregate of Spark",
        "a Column in an aggregate",
        "no slack",
    ],
)
def test_things_of_another_kind(rows, make):
    """What a user of Spark would try first."""
    with pytest.raises(PenstockError) as caught:
        make(rows)
    one_line(caught.value)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda r: asked(r, host=ps.count()), ["agg()", "'host'", "once"]),
        (lambda r: asked(r, n=ps.count(), N=ps.count()), ["agg()", "'N'", "once"]),
        (lambda r: asked(r, window_end=ps.count()), ["agg()", "'window_end'", "once"]),
        (asked, ["agg()", "needs an aggregate"]),
        (lambda r: ps.stream(r, "ts", slack="1 us"), ["slack", "whole milliseconds", "'1 us'"]),
        (lambda r: ps.stream(r, "ts", slack="-1 s"), ["slack", "negative"]),
        (
            lambda r: replace(ps.stream(r, "ts"), **KIND).window("1 s").agg(n=ps.count()),
            ["late", "'generous' or 'consistent'", "'kind'"],
        ),
    ],
)
def test_bad_queries(rows, make, said):
    with pytest.raises(SpecificationError) as caught:
        make(rows)
    message = one_line(caught.value)
    for word in said:
        assert word in message


def test_a_column_that_is_there_twice(rows):
    twice = rows.select("ts", "host", "size", F.lit(2).alias("host"))
    with pytest.raises(SchemaError) as caught:
        asked(twice, n=ps.count()).dataframe()
    assert "host" in one_line(caught.value)


# --- batches, streams and their checkpoints -------------------------------------------------------


def test_a_batch_cannot_be_started(rows, tmp_path):
    with pytest.raises(UsageError) as caught:
        asked(rows, n=ps.count()).start(str(tmp_path / "c"), format="console")
    message = one_line(caught.value)
    assert message.startswith("start() needs a streaming DataFrame")
    assert "dataframe()" in message
    assert not (tmp_path / "c").exists()


def test_accounts_of_a_stream_are_those_of_its_run(spark):
    rate = spark.readStream.format("rate").load()
    with pytest.raises(UsageError) as caught:
        _ = ps.stream(rate, "timestamp").window("1 s").agg(n=ps.count()).accounts
    assert "Run" in one_line(caught.value)


@pytest.fixture
def files(spark, tmp_path) -> Files:
    made = Files(spark, tmp_path)
    made.add([{"ts": START + n * SECOND, "k": "a", "v": n} for n in range(4)])
    return made


def streaming(files: Files, **aggregates) -> ps.WindowQuery:
    windowed = ps.stream(files.stream(), "ts").window("4 s", every="1 s").by("k")
    return replace(windowed.agg(**(aggregates or {"n": ps.count()})), density=ps.Density(100))


@pytest.mark.parametrize("given", [None, ""])
def test_a_stream_without_a_checkpoint(files, monkeypatch, given):
    written: list = []
    monkeypatch.setattr("penstock.engine.files.Folder.write", lambda *a: written.append(a))
    query = streaming(files)
    for call in (query.dataframe, lambda c: query.start(c, format="console")):
        with pytest.raises(UsageError) as caught:
            call(given)
        assert "checkpointLocation" in one_line(caught.value)
    assert not written  # nor anywhere else, such as in the root of the file system


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"format": "console", "foreach_batch": repr},
        {"format": "nosuch"},
        {"format": "parquet"},
        {"format": "memory"},
        {"format": "console", "trigger": {"processingTime": "soon"}},
        {"format": "console", "trigger": {"processingTime": "1 second", "once": True}},
    ],
    ids=str,
)
def test_streams_that_cannot_start(files, tmp_path, options):
    with pytest.raises(PenstockError) as caught:
        streaming(files).start(str(tmp_path / "c"), **options).stop()
    one_line(caught.value)


def test_a_stream_that_could_not_start_binds_nobody(files, tmp_path):
    """Whoever corrects the call may correct the query too."""
    with pytest.raises(PenstockError):
        streaming(files).start(str(tmp_path / "c"), format="parquet")
    assert recorded(str(tmp_path / "c")) is None


def test_a_checkpoint_where_nothing_can_be_written(files):
    query = streaming(files)
    for place in ("/proc/nothing/here", "nosuch://host/path"):
        with pytest.raises(PenstockError) as caught:
            query.start(place, format="console").stop()
        assert place in one_line(caught.value)


def test_a_checkpoint_of_another_query(files, tmp_path):
    checkpoint = str(tmp_path / "c")
    streaming(files).dataframe(checkpoint)
    others = [streaming(files, n=ps.sum("v")), replaced_late(files), filtered(files)]
    for other in others:
        with pytest.raises(UsageError) as caught:
            other.start(checkpoint, format="console")
        message = one_line(caught.value)
        assert message.startswith("checkpoint must belong to the same query")
        assert checkpoint in message
        assert "count(*) AS n" in message


def test_a_checkpoint_of_an_older_version(files, tmp_path):
    checkpoint = tmp_path / "c"
    streaming(files).dataframe(str(checkpoint))
    record = checkpoint / "penstock" / "evaluation.json"
    kept = json.loads(record.read_text())
    del kept["tall"]
    record.write_text(json.dumps(kept))
    with pytest.raises(UsageError) as caught:
        streaming(files).start(str(checkpoint), format="console")
    message = one_line(caught.value)
    assert message.startswith("checkpoint must be of this version of penstock")
    assert str(checkpoint) in message


def filtered(files: Files) -> ps.WindowQuery:
    query = streaming(files)
    stream = query.stream.where("v > 0")
    return stream.window(query.query.window).by(*query.query.keys).agg(**query.query.aggregates)


def replaced_late(files: Files) -> ps.WindowQuery:
    strict = ps.stream(files.stream(), "ts", late="consistent").window("4 s", every="1 s").by("k")
    return strict.agg(n=ps.count())


def started(windows: DataFrame, checkpoint: Path) -> str:
    """Runs a stream by Spark alone; what it says when it fails."""
    writer = windows.writeStream.format("noop").outputMode("append")
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    with pytest.raises(PySparkException) as caught:
        writer.start().awaitTermination()
    return str(caught.value)


def test_a_stream_written_to_another_checkpoint_says_so(files, tmp_path):
    windows = streaming(files).dataframe(str(tmp_path / "given"))
    said = cause(started(windows, tmp_path / "used"))
    assert "checkpoint must be the stream's checkpointLocation" in said
    assert str(tmp_path / "given") in said


def test_a_stream_written_beside_its_old_checkpoint_does_not_go_on(files, tmp_path):
    """The old one has offsets, but they are not those of this stream: every L would be wrong."""
    old = tmp_path / "old" / "offsets"
    old.mkdir(parents=True)
    for number in range(3):
        mark = {"batchWatermarkMs": (START + SECOND) // 1000 * number, "batchTimestampMs": 0}
        (old / str(number)).write_text("\n".join(["v1", json.dumps(mark), '{"logOffset":0}']))
    windows = streaming(files).dataframe(str(tmp_path / "old"))
    said = cause(started(windows, tmp_path / "new"))
    assert str(tmp_path / "old") in said


def test_a_checkpoint_among_the_options_of_the_sink(files, tmp_path):
    """It would win over the one that was given."""
    options: dict[str, Any] = {"format": "noop", "checkpointLocation": str(tmp_path / "b")}
    query = streaming(files)
    with pytest.raises(PenstockError) as caught:
        query.start(str(tmp_path / "a"), trigger={"availableNow": True}, **options).wait()
    assert "checkpoint" in one_line(caught.value)


# --- streams that fail ----------------------------------------------------------------------------


@pytest.mark.parametrize("sink", ["foreach_batch", "noop"])
def test_an_overflow_ends_the_stream_with_its_cause(spark, tmp_path, sink):
    files = Files(spark, tmp_path)
    files.add([{"ts": START, "k": "a", "v": 2**63 - 1}, {"ts": START + 1, "k": "a", "v": 1}])
    options = {"format": "noop"} if sink == "noop" else {sink: lambda batch, _: batch.collect()}
    run = streaming(files, s=ps.sum("v")).start(
        str(tmp_path / "c"), name="bytes", trigger={"availableNow": True}, **options
    )
    with pytest.raises(StreamFailed) as caught:
        run.wait()
    message = one_line(caught.value)
    assert message.startswith("stream 'bytes' failed: ")
    assert "[ARITHMETIC_OVERFLOW]" in message
    assert "ARITHMETIC_OVERFLOW" in caught.value.trace
    assert "\n" in caught.value.trace


def test_what_goes_wrong_in_the_users_sink_is_named(files, tmp_path):
    def broken(batch: DataFrame, number: int) -> None:
        raise ConnectionError(f"no route to the warehouse in batch {number}")

    run = streaming(files).start(
        str(tmp_path / "c"), foreach_batch=broken, name="n", trigger={"availableNow": True}
    )
    with pytest.raises(StreamFailed) as caught:
        run.wait()
    assert one_line(caught.value).endswith("ConnectionError: no route to the warehouse in batch 0")


class Endless:
    """A handle on a stream that never ends."""

    def awaitTermination(self, timeout: float | None = None) -> bool | None:  # noqa: N802
        if timeout is None:
            threading.Event().wait(20)
            return None
        return False


def test_to_wait_no_time_is_to_ask(spark):
    answers: list = []
    run = Run(Endless(), "endless", "")  # type: ignore[arg-type]
    asking = threading.Thread(target=lambda: answers.append(run.wait(0)), daemon=True)
    asking.start()
    asking.join(2)
    assert answers == [False]
