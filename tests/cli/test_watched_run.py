"""`penstock run --dashboard` as a process: what its page and its metrics say, and what never."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.quick import AS_TOML
from tests.view.test_metrics import read

SECRET = "swordfish-7f3a9c"  # noqa: S105 - that is what is looked for
NETWORK = """
latency = "5 s"
[stream.packets]
source = "packets"
event_time = "ts"
slack = "1 s"
options = { rate = 500 }
[relation.hosts]
path = "hosts.csv"
format = "csv"
schema = "host string, owner string"
options = { password = "${SECRET}" }
[query.traffic]
cql = '''
SELECT protocol, count(*) AS n
FROM packets [RANGE 4 seconds SLIDE 2 seconds WATTR ts]
GROUP BY protocol'''
[query.owners]
cql = '''
SELECT owner, count(*) AS n
FROM packets [RANGE 4 seconds SLIDE 2 seconds WATTR ts]
JOIN hosts ON packets.dst_host = hosts.host
GROUP BY owner'''
[run]
checkpoint = "checkpoint"
sink = { format = "parquet", path = "answers" }
[run.spark]
"spark.hadoop.fs.s3a.secret.key" = "${SECRET}"
"spark.hadoop.penstock.plain" = "${SECRET}"
"""


def get(address: str) -> bytes:
    with urlopen(address, timeout=60) as reply:  # noqa: S310 - on this machine
        return bytes(reply.read())


def live(address: str) -> dict[str, Any]:
    """The scene as soon as there is a demand, and accounts."""
    until = time.monotonic() + 200
    while time.monotonic() < until:
        scene: dict[str, Any] = json.loads(get(f"{address}scene.json"))
        now = scene["now"]
        if now and now["demand"] and any(of.get("taken") for of in scene["accounts"].values()):
            return scene
        time.sleep(1)
    raise AssertionError(f"the page does not say how the run does: {scene}")


def command_lines() -> bytes:
    """Those of all processes that can be seen."""
    found = b""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += path.read_bytes()
        except OSError:  # it has ended
            continue
    return found


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "small.toml").write_text(NETWORK + AS_TOML)
    (tmp_path / "hosts.csv").write_text("10.0.0.1,ada\n10.0.0.2,bob\n")
    return tmp_path


@pytest.mark.soak
def test_the_page_and_the_metrics_of_a_run_and_a_secret_that_is_nowhere(folder):
    out, err = folder / "out.txt", folder / "err.txt"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        run = subprocess.Popen(
            [
                *(Path(sys.executable).with_name("penstock"), "run", "small.toml"),
                *("--dashboard", "0", "--report", "report", "--json", "--verbose"),
            ],
            cwd=folder,
            env={**os.environ, "TMPDIR": str(folder), "SECRET": SECRET},
            stdout=stdout,
            stderr=stderr,
        )
        try:
            address = None
            until = time.monotonic() + 200
            while address is None and run.poll() is None and time.monotonic() < until:
                time.sleep(0.5)
                address = re.search(r"live page: (http://\S+)", err.read_text())
            assert address is not None, err.read_text()
            scene = live(address[1])
            page, metrics = get(address[1]), get(f"{address[1]}metrics")
            lines = command_lines()
        finally:
            run.send_signal(signal.SIGINT)
            run.wait(timeout=120)
    assert run.returncode == 0, err.read_text()

    assert scene["title"] == "small.toml"
    assert [query["name"] for query in scene["now"]["queries"]] == ["traffic", "owners"]
    assert scene["balanced"] == {"traffic": True, "owners": True}
    shown = read(metrics)
    assert shown["penstock_demand_ratio",] > 0
    for query in ("traffic", "owners"):
        of = ("query", query)
        assert shown["penstock_accounts_balanced", *of] == 1
        assert shown["penstock_query_rows_total", *of] >= scene["accounts"][query]["rows_in"]
    found = json.loads(out.read_text())
    assert (found["ended"], found["balanced"]) == ("interrupted", True)

    told = {"page": page, "metrics": metrics, "scene": json.dumps(scene).encode(), "ps": lines}
    written = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert {"report.html", "statuses.jsonl", "network.txt"} < {Path(one).name for one in written}
    assert [name for name, text in (told | written).items() if SECRET.encode() in text] == []
