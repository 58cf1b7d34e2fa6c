"""What all tests of a process share: one Spark session, UTC everywhere, the Hypothesis profiles."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

from penstock.bench.kafka.jars import jars
from penstock.cli.session import PLAIN_FILES

# Rows with timestamps arrive in Python as naive datetimes in the local time zone.
os.environ["TZ"] = "UTC"
time.tzset()

# An example may be slow because Spark is: no deadline.
# `make test` tries the same examples each time, so that a change is judged by what it changed;
# `HYPOTHESIS_PROFILE=thorough make test` looks for new ones, and tries more of them.
settings.register_profile("ci", deadline=None, print_blob=True, max_examples=100, derandomize=True)
settings.register_profile(
    "thorough",
    settings.get_profile("ci"),
    derandomize=False,
    max_examples=1000,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


JAVA = (
    # A collector with threads of its own would take from the two cores what the tests need. The
    # slow compiler has nearly paid back what it took after 270 s of one core, and by then tests of
    # networks take up to a third less. Compiled code has room: the quick compiler alone would have
    # 48 MB, of which five tests used 46, and Java began to throw some away.
    "-XX:+UseSerialGC -XX:ReservedCodeCacheSize=400m",
    # What a batch leaves behind is gone before it is copied; that classes are many is no reason
    # to collect.
    "-Xms2g -Xmn800m -XX:MetaspaceSize=512m",
    # A process is started directly, not by a helper.
    "-Djdk.lang.Process.launchMechanism=VFORK",
)
"""Options of the tests' Java."""


@pytest.hookimpl(tryfirst=True)  # before they are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share the session are marked: `make test` runs the others in another process."""
    for item in items:
        if "spark_folder" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where Spark runs, and so where it looks for relative paths."""
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="session")
def spark(spark_folder: Path) -> Iterator[SparkSession]:
    """A small local session; every test that needs Spark shares it."""
    # Another Spark on this machine, or its settings, must not take part.
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_REMOTE", "PYSPARK_SUBMIT_ARGS"):
        os.environ.pop(name, None)
    # Without it Spark looks up the name of this machine, which need not resolve.
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    # Python workers run in this environment, not in whatever `python3` is.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable

    scratch = spark_folder
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("penstock-tests")
        .config("spark.driver.memory", "2g")  # handed to the JVM when it is launched, just below
        .config("spark.driver.extraJavaOptions", " ".join(JAVA))
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.local.dir", str(scratch / "local"))
        # Spark would note for every column where in Python it was made, at a third of the time that
        # it takes to build a network; it is for the later lines of its messages.
        .config("spark.python.sql.dataFrameDebugging.enabled", "false")
        .config("spark.sql.dataFrameQueryContext.enabled", "false")
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.streaming.pollingDelay", "10ms")
        # Spark keeps the code of its last hundred generated classes: a network has sixty, and the
        # tests after it ask the same queries.
        .config("spark.sql.codegen.cache.maxEntries", "2000")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config(map=dict[str, bool | float | int | str | None](PLAIN_FILES))
    )
    # A running session cannot be given them any more.
    connector = jars("connector")
    if not isinstance(connector, str):
        builder = builder.config("spark.jars", ",".join(map(str, connector)))
    with contextlib.chdir(scratch):
        session = builder.getOrCreate()
    yield session
    for query in session.streams.active:
        query.stop()
    session.stop()
