"""A stream that is stopped in the middle of a batch ends quietly."""

from __future__ import annotations

import re
import threading
import traceback
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.engine.interrupted import Interrupted, told_briefly
from tests.engine.test_network_answers import stream

# As Spark has it: the recursion is one call deeper with each character.
PATTERN = re.compile(
    r"py4j.protocol.Py4JJavaError: An error occurred while calling(.|\r\n|\r|\n)*"
    r"(java.lang.InterruptedException|java.io.InterruptedIOException)"
)


class Failed(Py4JJavaError):  # type: ignore[misc]  # Any, as Spark comes without types for it
    """An error of Java's without a Java."""

    def __init__(self, trace: str) -> None:
        Exception.__init__(self, trace)
        self.trace = trace

    def __str__(self) -> str:
        return self.trace


def failing(trace: str) -> Any:
    def take(batch: DataFrame, number: int) -> None:
        raise Failed(trace)

    return told_briefly(take)


@pytest.mark.parametrize(
    "cause",
    [
        "java.lang.InterruptedException",
        "x.SparkException: [SPARK_JOB_CANCELLED] Job 61 cancelled Query [id = 0] was stopped X",
    ],
)
def test_an_interruption_is_told_in_few_words(cause: str) -> None:
    lines = "\n\tat org.apache.kafka.clients.producer.KafkaProducer.waitOnMetadata" * 200
    try:
        failing(f"o1.save.\n: {cause}{lines}")(None, 0)
    except Interrupted:
        told = traceback.format_exc()
    assert PATTERN.search(told)
    assert len(told) < 2_000


def test_other_errors_stay_as_they_are() -> None:
    with pytest.raises(Failed, match="no such topic"):
        failing("o1.save.\n: org.apache.kafka.KafkaException: no such topic")(None, 0)
    with pytest.raises(Failed, match="by the user"):
        failing("o1.save.\n: x: [SPARK_JOB_CANCELLED] Job 61 cancelled by the user")(None, 0)


def test_a_stream_that_is_stopped_in_a_batch_has_not_failed(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    printed = request.config.pluginmanager.getplugin("capturemanager")
    assert printed is not None
    begun = threading.Event()
    jvm: Any = spark._jvm

    def sink(batch: DataFrame, number: int) -> None:
        begun.set()
        jvm.java.lang.Thread.sleep(60_000)

    rows = ps.stream(stream(spark, tmp_path, batches=1), event_time="ts")
    query = rows.window("5 s").agg(n=ps.count())
    run = ps.Network(query=query).start(str(tmp_path / "run"), sink=sink)
    assert begun.wait(60)
    run.stop()
    assert run.streams[0].exception() is None
    # Java has the streams that pytest began with.
    assert "StackOverflowError" not in printed.read_global_capture().err
