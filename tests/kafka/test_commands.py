"""From a topic to a run as a user goes there: init, doctor and run, each a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock.bench.kafka.jars import jars
from penstock.network.config import read_config
from tests.quick import AS_TOML

PENSTOCK = Path(sys.executable).with_name("penstock")
SOME = 3


def records(count: int) -> list[bytes]:
    now = datetime.now(UTC).isoformat()
    return [json.dumps({"ts": now, "host": f"h{i % 5}", "size": i}).encode() for i in range(count)]


@pytest.mark.soak
@pytest.mark.timeout(600)  # Spark is started three times
def test_init_doctor_and_run_on_a_topic(broker, tmp_path):
    topic, connector = broker.topic(), jars("connector")
    assert not isinstance(connector, str)
    broker.send(topic, records(200))
    environ = {**os.environ, "JARS": ",".join(map(str, connector)), "TMPDIR": str(tmp_path)}

    def penstock(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PENSTOCK, *words],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )

    spark = ("--spark", "spark.jars=${JARS}", "-o", "a.toml")
    made = penstock("init", f"kafka://{broker.servers}/{topic}", *spark)
    assert (made.returncode, made.stderr) == (0, "")
    config = read_config(tmp_path / "a.toml")
    assert config.run.spark == {"spark.jars": "${JARS}"}
    (stream,) = config.streams.values()
    assert (stream.source, stream.event_time) == ("kafka", "ts")

    checked = penstock("doctor", "a.toml", "--json")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    found = {one["check"]: one["state"] for one in json.loads(checked.stdout)["checks"]}
    assert found["connector"] == found[f"stream {stream.name}"] == "ok"

    head = re.compile(r"^\[run.spark\].*\n", re.MULTILINE)
    text, places = head.subn(lambda found: found[0] + AS_TOML, (tmp_path / "a.toml").read_text())
    assert places == 1
    (tmp_path / "a.toml").write_text(text)

    # Until there were batches with rows, or its time is over: the machine may be busy.
    arguments = [str(PENSTOCK), "run", "a.toml", "--for", "4 min", "--report", "report", "--json"]
    shown = tmp_path / "err"
    with (tmp_path / "out").open("wb") as out, shown.open("wb") as err:
        run = subprocess.Popen(arguments, cwd=tmp_path, env=environ, stdout=out, stderr=err)
        while run.poll() is None:
            broker.send(topic, records(100))
            time.sleep(1)
            if len(re.findall(r" batch \d+ ", shown.read_text())) >= SOME:
                run.send_signal(signal.SIGINT)
                run.wait(timeout=120)
    assert run.returncode == 0, shown.read_text()
    done = json.loads((tmp_path / "out").read_text())
    assert (done["ended"], done["balanced"]) == ("interrupted", True)
    assert done["rows"] > 0
    assert done["loss"] == 0  # it only monitors
    assert (tmp_path / "report" / "report.html").exists()
