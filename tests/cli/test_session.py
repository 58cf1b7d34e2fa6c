"""How much of the machine a command takes; Spark itself is started by the demo's test."""

import signal
import subprocess
import sys

import pytest

from penstock.cli import session
from penstock.cli.session import BENCH, DEMO, GIB


@pytest.mark.parametrize(
    ("there", "demo", "bench"),
    [
        (1, "1024m", "1024m"),
        (6, "2048m", "3686m"),
        (16, "5461m", "9830m"),
        (256, "8192m", "12288m"),
    ],
)
def test_memory_is_a_share_with_a_limit(monkeypatch, there, demo, bench):
    monkeypatch.setattr(session, "memory", lambda: there * GIB)
    assert (DEMO.memory, BENCH.memory) == (demo, bench)


@pytest.mark.parametrize(("there", "demo", "bench"), [(1, 1, 1), (2, 2, 2), (16, 16, 2)])
def test_the_demo_takes_all_cores_and_the_benchmark_two(monkeypatch, there, demo, bench):
    monkeypatch.setattr(session, "available_cores", lambda: there)
    assert (DEMO.threads, BENCH.threads) == (demo, bench)


def test_this_machine_has_cores_and_memory():
    assert session.available_cores() >= 1
    assert session.memory() > GIB // 4


def test_an_interrupt_waits_until_java_has_started():
    done = []

    def start() -> None:
        with session._interrupts_wait():
            signal.raise_signal(signal.SIGINT)
            done.append("started")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        start()
    assert done == ["started"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_secret_setting_is_told_to_spark_though_java_is_not_started_with_it(tmp_path):
    program = """
from penstock.cli.session import DEMO, local_spark
from penstock.network.secrets import Secret
with local_spark(DEMO, verbose=False, more={"spark.hadoop.mine": Secret("sword")}) as local:
    print(local.spark.sparkContext._jsc.hadoopConfiguration().get("mine"))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "sword\n"
