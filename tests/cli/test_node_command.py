"""`penstock node`: what Spark and the node are given; a pipeline itself is run in tests/kafka."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

from typer.testing import CliRunner

from penstock.cli.asked import KAFKA
from penstock.cli.main import app
from penstock.cli.session import Local

PIPELINE = Path(__file__).parents[2] / "examples" / "nodes" / "pipeline.toml"


def test_variables_stand_in_settings_of_spark_and_in_the_checkpoint(tmp_path, monkeypatch):
    file = tmp_path / "pipeline.toml"
    run = "checkpoint = '${BASE}/c'\n[run.spark]\n'spark.hadoop.key' = '${KEY}'\n"
    text, settings = re.subn(r"\[run\]\ncheckpoint = .*\n", "", PIPELINE.read_text())
    assert settings == 1
    file.write_text(f"{text}\n[run]\n{run}")
    given = {}

    def running_spark(size, more, *, verbose):
        given["spark"] = dict(more)
        return nullcontext(Local(None, tmp_path))  # type: ignore[arg-type]

    def node_run(pipeline, name, checkpoint, *_):
        given["checkpoint"] = checkpoint

    monkeypatch.setattr("penstock.cli.node.running_spark", running_spark)
    monkeypatch.setattr("penstock.cli.node.NodeRun", node_run)
    monkeypatch.setattr("penstock.cli.node._watched", lambda *_: None)
    monkeypatch.setenv("BASE", "/data")
    monkeypatch.setenv("KEY", "hunter2")
    result = CliRunner().invoke(app, ["node", str(file), "--node", "A"])
    assert result.exit_code == 0, result.output
    spark = {"spark.jars.packages": KAFKA, "spark.hadoop.key": "hunter2"}
    assert given == {"spark": spark, "checkpoint": "/data/c/A"}
    monkeypatch.delenv("KEY")
    result = CliRunner().invoke(app, ["node", str(file), "--node", "A"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "[run.spark] spark.hadoop.key needs a variable of the environment" in result.stderr
