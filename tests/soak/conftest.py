"""A Spark cluster on loopback: a master and two workers, from the pip package."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyspark
import pytest

from tests.soak.drivers import LIMIT, environment

HOME = Path(pyspark.__file__).parent
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
CONF = {
    "spark.executor.memory": "600m",
    "spark.executor.cores": "1",
    "spark.cores.max": "2",
    "spark.executor.extraJavaOptions": JAVA,
    # The stream begins with both workers, or after that time with one.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{LIMIT}s",
}


class Daemon:
    """A master or a worker from the pip package, with folders of its own, on loopback.

    Args:
        folder: its own.
        name: of its class.
        terms: of its command line.
    """

    def __init__(self, folder: Path, name: str, *terms: str) -> None:
        self.folder = folder
        folder.mkdir()
        own = {
            "SPARK_HOME": str(HOME),
            "PYTHONPATH": "",  # its Python has what the job brings
            "SPARK_LOCAL_DIRS": str(folder / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
            # A worker that is slow is not dead; of one that is, its connections tell.
            "SPARK_DAEMON_JAVA_OPTS": f"{JAVA} -Dspark.worker.timeout={LIMIT}",
        }
        command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
        command += ["--host", "127.0.0.1", "--webui-port", "0", *terms]
        with (folder / "said.txt").open("w") as said:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment() | own,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Ends it, and the executors that it has started, as if the machine were gone."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(LIMIT)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[Daemon]]]:
    """The address of the master, and two workers."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address, daemons = f"spark://127.0.0.1:{port}", []
    try:
        daemons.append(Daemon(tmp_path / "master", "master.Master", "--port", str(port)))
        listens(port)
        for number in (1, 2):
            terms = ("--cores", "1", "--memory", "1g", "--work-dir", "work", address)
            daemons.append(Daemon(tmp_path / f"worker-{number}", "worker.Worker", *terms))
        yield address, daemons[1:]
    finally:
        for daemon in daemons:
            if daemon.process.poll() is None:
                daemon.kill()


def listens(port: int) -> None:
    """Waits until somebody does."""
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(port)
