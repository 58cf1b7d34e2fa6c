"""The page about clusters, word for word: an archive of the environment, and spark-submit."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pyspark
import pytest

from penstock.bench.kafka.jars import jars
from tests.pages import Block, blocks
from tests.soak.conftest import CONF, HOME, Daemon
from tests.soak.drivers import LIMIT, environment, settings
from tests.test_wheel import installed, wheel  # noqa: F401 - fixtures

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "cluster.md"
CONNECTOR = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
NETWORK = """
[stream.packets]
source = "files"
event_time = "ts"
slack = "2 seconds"
options = { path = "in/*", format = "parquet", schema = "ts timestamp, size bigint" }
[query.bytes]
cql = "SELECT sum(size) AS bytes FROM packets [RANGE 10 s SLIDE 10 s WATTR ts]"
[run]
checkpoint = "of-command"
trigger = "available now"
"""


def shown(what: str) -> Block:
    """The block of the page with these words."""
    return next(block for block in blocks(PAGE.read_text()) if what in block.text)


def put(text: str, instead: dict[str, str]) -> str:
    for theirs, ours in instead.items():
        assert theirs in text, theirs
        text = text.replace(theirs, ours)
    return text


def shell(text: str, where: Path) -> str:
    """Runs lines of the page; Python finds only what they say."""
    known = {k: v for k, v in environment().items() if not k.startswith(("PYTHON", "PYSPARK"))}
    path = {"PATH": f"{HOME / 'bin'}:{known['PATH']}", "SPARK_HOME": str(HOME)}
    done = subprocess.run(
        ["sh", "-ec", text],
        cwd=where,
        env=known | path,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_script_and_a_command_run_on_a_cluster(
    cluster: tuple[str, list[Daemon]],
    installed: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    address, workers = cluster
    connector = jars("connector")
    assert not isinstance(connector, str), connector
    (tmp_path / "job").symlink_to(installed.parent)
    archive = shown("tar -czf").text.splitlines()
    assert archive[0] == "python3 -m venv job && job/bin/pip install penstock"  # as the fixture has
    shell(archive[1], tmp_path)
    (tmp_path / "job.py").write_text(shown("# job.py").text)
    (tmp_path / "command.py").write_text(shown("# command.py").text)
    more = {**settings(tmp_path), **CONF}
    given = "".join(f"    --conf '{name}={value}' \\\n" for name, value in more.items())
    submit = put(
        shown("spark-submit").text,
        {
            "spark://master:7077": address,
            f"--packages {CONNECTOR}": f"--jars {','.join(map(str, connector))}",
            "shuffle.partitions=64": "shuffle.partitions=2",
            "    job.py": f"{given}    job.py",
        },
    )
    shell(submit, tmp_path)
    # The workers had their Python from the archive.
    assert all(list(one.folder.glob("work/app-*/*/env/bin/python")) for one in workers)

    (tmp_path / "packets.toml").write_text(NETWORK)
    command = "command.py run packets.toml --json"
    assert command in PAGE.read_text()
    said = shell(put(submit, {"job.py": command}), tmp_path)
    done = json.loads(said[said.index("\n{\n") :])  # spark-submit prints what goes to stderr, too
    assert (done["rows"], done["balanced"]) == (60, True)
    assert len({app.name for one in workers for app in one.folder.glob("work/app-*")}) == 2
