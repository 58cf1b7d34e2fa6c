"""A Spark of the command's own: local, quiet, and gone without a trace when the command ends."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.network.secrets import Secret
from penstock.sources.options import Options

GIB = 1 << 30
_OTHERS = (
    *("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_LOCAL_DIRS", "SPARK_MASTER"),
    *("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT"),
)
"""Variables by which another Spark on this machine, or its settings, would take part."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much of the machine a command takes.

    Args:
        share: of the memory.
        most: GiB of memory, however much there is.
        cores: at most; None for all.
        java: options of Java itself.
        durable: whether files outlive the command; if not, they are written as `PLAIN_FILES`.
    """

    share: float
    most: int
    cores: int | None = None
    java: str = ""
    durable: bool = True

    @property
    def threads(self) -> int:
        """Cores to use."""
        there = available_cores()
        return there if self.cores is None else min(there, self.cores)

    @property
    def memory(self) -> str:
        """Memory of Spark, as Java writes it; at least what Spark starts with."""
        return f"{max(1024, min(int(memory() * self.share), self.most * GIB) >> 20)}m"


# The quick compiler alone would have room for 48 MB of code, and throw some away when that is full.
_QUICK = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
# The demo is mostly start-up: Java's best compiler would take more time than it saves.
DEMO = Size(share=1 / 3, most=8, java=_QUICK, durable=False)
# With it, batches of seven queries stay at 8 s and more, and fall to 4 s in two minutes without.
OVERLOAD = Size(share=1 / 3, most=8, durable=False)
BENCH = Size(share=0.6, most=12, cores=2, durable=False)
RUN = Size(share=0.6, most=64)


PLAIN_FILES = {
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}
"""For each file of a checkpoint Hadoop starts `chmod`, and `readlink` to rename it: seventy
processes in a batch. So files have no checksums, which would be files, and Java renames them."""
_TO_START = ("spark.jars", "spark.driver.", "spark.submit.", "spark.master")
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
_SHORT = 56
"""Characters in the name of a folder that leave room for a socket in it, on every system."""


@dataclass(frozen=True, slots=True)
class Local:
    """A running session.

    Args:
        spark: the session.
        scratch: a folder that is removed with it.
    """

    spark: SparkSession
    scratch: Path


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # macOS has no such limit
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory() -> int:
    """Bytes of memory of the machine, or of the container that this is."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # no container, or one without a limit
        there = min(there, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return there


@contextmanager
def running_spark(size: Size, more: Mapping[str, str], *, verbose: bool) -> Iterator[Local]:
    """The Spark that `spark-submit` has started this command with, or a local one.

    Args:
        size: of a local session.
        more: settings of the session; of one that is there already, those that can be changed.
        verbose: whether what a local Spark logged is shown at the end.
    """
    if _SUBMITTED not in os.environ:
        with local_spark(size, verbose=verbose, more=more) as local:
            yield local
        return
    with tempfile.TemporaryDirectory(prefix="penstock-", ignore_cleanup_errors=True) as scratch:
        yield Local(SparkSession.builder.config(map=dict(more)).getOrCreate(), Path(scratch))


@contextmanager
def local_spark(
    size: Size, *, verbose: bool, more: Mapping[str, str] | None = None
) -> Iterator[Local]:
    """Starts Spark, and ends it with everything that it has left behind.

    Args:
        size: of the session.
        verbose: whether what Spark logged is shown at the end.
        more: settings of the session.
    """
    for name in _OTHERS:
        os.environ.pop(name, None)
    # Without it Spark looks up the name of this machine, which need not resolve.
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    # Python workers run in this environment, not in whatever `python3` is.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if not verbose:
        logging.disable()  # py4j logs each call that an interrupt or the end cuts off

    folder = tempfile.TemporaryDirectory(prefix="penstock-", ignore_cleanup_errors=True)
    with folder as name:
        scratch = Path(name)
        log = scratch / "spark.log"
        try:
            with _java({**_settings(size, scratch), **(more or {})}, log) as spark:
                yield Local(spark, scratch)
        finally:
            if verbose and log.exists():
                said = Options(more).hide(log.read_text(errors="replace").rstrip())
                print(said, file=sys.stderr)


@contextmanager
def _java(settings: dict[str, str], log: Path) -> Iterator[SparkSession]:
    """All that Java prints goes into the log, from its first line on."""
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    shown = SparkConf(loadDefaults=False).setAll(list(launched(settings).items()))
    with ExitStack() as at_end:
        with log.open("wb") as out, _interrupts_wait():
            # In a session of its own, for Ctrl-C in a terminal goes to all of its processes: the
            # stream is stopped by this one, and must not lose its workers before that.
            apart = {"stdout": out, "stderr": out, "start_new_session": True}
            gateway = _launch(shown, apart, log)
            at_end.callback(_end, gateway.proc)
        context = SparkContext(conf=conf, gateway=gateway)
        at_end.callback(_stop, context, gateway)
        # Spark's own handler talks to Java in the middle of whatever is being said to it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        yield SparkSession(context)


def launched(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that Java is started with, in a command line that all on the machine can read.

    The others are told to it later. Those that it needs to start are told at once in any case.

    Args:
        settings: of the session.

    >>> launched({"spark.a": "1", "spark.b": Secret("2"), "spark.jars": Secret("c.jar")})
    {'spark.a': '1', 'spark.jars': '***'}
    """
    return {
        name: value
        for name, value in settings.items()
        if not isinstance(value, Secret) or name.startswith(_TO_START)
    }


def _launch(conf: SparkConf, streams: dict[str, Any], log: Path) -> Any:  # noqa: ANN401 - py4j's own
    try:
        return launch_gateway(conf, popen_kwargs=streams)  # type: ignore[no-untyped-call]
    except PySparkRuntimeError:
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
        raise PenstockError(f"Spark did not start: {lines[-1] if lines else 'no reason'}") from None


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Lets Ctrl-C wait for the end of the body: a Java cut off at its start would stay."""
    came: list[int] = []
    usual = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if came:
        raise KeyboardInterrupt


def _stop(context: SparkContext, gateway: Any) -> None:  # noqa: ANN401 - as above
    """Stops Spark from a thread of its own, for this one's talk with Java may be cut off."""

    def stop() -> None:
        with suppress(Exception):  # Java may be gone already
            context.stop()
            gateway.shutdown()

    stopper = threading.Thread(target=stop, daemon=True)
    stopper.start()
    stopper.join(timeout=20)


def _end(java: Popen[bytes]) -> None:
    """Java ends by itself when its input ends."""
    assert java.stdin is not None  # noqa: S101 - it was opened for this
    java.stdin.close()
    try:
        java.wait(timeout=20)
    except TimeoutExpired:
        java.kill()
        java.wait()


def _settings(size: Size, scratch: Path) -> dict[str, str]:
    return {
        "spark.master": f"local[{size.threads}]",
        "spark.app.name": "penstock",
        "spark.driver.memory": size.memory,
        "spark.driver.extraJavaOptions": f'-Djava.io.tmpdir="{scratch}" {size.java}'.strip(),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        # Over TCP every call of Python waits 40 ms for an acknowledgement that is put off. The
        # name of a socket in the file system must be short.
        "spark.python.unix.domain.socket.enabled": str(len(str(scratch)) <= _SHORT).lower(),
        # With a limit in bytes Spark measures the batch anew with every row that goes to Python.
        "spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1),
        # Python's workers keep the memory of a batch for the next one. Where the system has to find
        # it anew, that may take longer than the windows do.
        "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(32 << 20),
        "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(1 << 30),
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.numRecentProgressUpdates": "1000",
        # Spark keeps the code of its last hundred generated classes; seven queries have sixty. What
        # has to be generated anew, Java has to warm up to anew.
        "spark.sql.codegen.cache.maxEntries": "2000",
        # What stands on a union would be written once for each of its streams, and Java would have
        # to get warm with each of these.
        "spark.sql.codegen.wholeStage.union.enabled": "false",
        # Where in Python each column was made takes a third of the time to build a network, and is
        # sent along with every batch.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.dataFrameQueryContext.enabled": "false",
        **({} if size.durable else PLAIN_FILES),
    }
